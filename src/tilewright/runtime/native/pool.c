/* Tilewright's thread pool: `parallel_for` over contiguous shares, one share per thread.

   - The thread that calls takes share 0; workers are started when first needed, and wait by a bounded spin, then a futex.
   - `busy` has one owner. Whoever finds it taken (a second Python thread, a nested call) runs its whole range itself.
   - A worker's own fields and `job` are written by the owner of `busy` before it raises the worker's `ticket`, and read by the
     worker after it has seen the ticket; `remaining` hands them back.
   - A forked child has none of the threads: `tw_pool_enter`, at the start of every call, notices and starts afresh. What the
     parent had allocated is abandoned there, because the fork may have met a list half changed. */

#include "pool.h"

typedef unsigned long size;

int pthread_create(unsigned long *thread, const void *attributes, void *(*start)(void *), void *argument);
int pthread_join(unsigned long thread, void **result);
int pthread_sigmask(int how, const void *set, void *old);
int posix_memalign(void **memory, size alignment, size bytes);
void free(void *memory);
void *memset(void *memory, int value, size bytes);
int getpid(void);
int sched_yield(void);
long syscall(long number, ...);

#if defined(__x86_64__)
#define FUTEX_CALL 202
#define PAUSE() __builtin_ia32_pause()
#elif defined(__powerpc64__)
#define FUTEX_CALL 221
#define PAUSE() __asm__ volatile("or 31,31,31")
#elif defined(__aarch64__)
#define FUTEX_CALL 98
#define PAUSE() __asm__ volatile("yield")
#else
#define FUTEX_CALL 98
#define PAUSE() __asm__ volatile("")
#endif
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

enum {
  SPINS = 2000,        /* 20-100 us: longer than the pause between two regions of a chain, shorter than a time slice */
  LINE_BYTES = 64,
  SIGNAL_SET_BYTES = 128,
  SIG_SETMASK_NUMBER = 2,
  RESETTING = -1
};

struct job {
  struct tw_call *call;
  tw_task task;
  void *argument;
  long count, scratch_bytes, shares;
};

struct worker {
  unsigned ticket; /* raised once per job; the futex the worker sleeps on */
  int asleep;
  long share;
  struct tw_pool *pool;
  struct tw_block *scratch;
  unsigned long thread;
} __attribute__((aligned(LINE_BYTES)));

struct tw_pool {
  int busy;
  int process; /* of the threads; RESETTING while a forked child starts afresh */
  long threads, started;
  int stopping;
  struct job job;
  unsigned remaining __attribute__((aligned(LINE_BYTES))); /* shares of workers not yet done; the futex of the caller */
  int caller_asleep;
  int list_lock __attribute__((aligned(LINE_BYTES)));
  struct tw_block *idle;
  long current_bytes, peak_bytes;
  struct worker workers[];
};

static unsigned load(const unsigned *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }

static void futex_wait(unsigned *word, unsigned expected) {
  syscall(FUTEX_CALL, word, FUTEX_WAIT_PRIVATE, expected, (void *)0, (void *)0, 0);
}

static void futex_wake(unsigned *word) { syscall(FUTEX_CALL, word, FUTEX_WAKE_PRIVATE, 1, (void *)0, (void *)0, 0); }

/* Memory: blocks of the callers in a list, one block per worker. */

static void lock_list(struct tw_pool *pool) {
  for (long tries = 1; __atomic_exchange_n(&pool->list_lock, 1, __ATOMIC_ACQUIRE); tries++)
    if (tries % 64)
      PAUSE();
    else
      sched_yield();
}

static void unlock_list(struct tw_pool *pool) { __atomic_store_n(&pool->list_lock, 0, __ATOMIC_RELEASE); }

static void account(struct tw_pool *pool, long bytes) {
  long current = __atomic_add_fetch(&pool->current_bytes, bytes, __ATOMIC_RELAXED);
  long peak = __atomic_load_n(&pool->peak_bytes, __ATOMIC_RELAXED);
  while (current > peak &&
         !__atomic_compare_exchange_n(&pool->peak_bytes, &peak, current, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

static struct tw_block *new_block(struct tw_pool *pool, long bytes) {
  void *memory;
  bytes = (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
  if (posix_memalign(&memory, LINE_BYTES, sizeof(struct tw_block) + bytes))
    return 0;
  struct tw_block *block = memory;
  block->next = 0;
  block->bytes = bytes;
  account(pool, bytes);
  return block;
}

static void free_block(struct tw_pool *pool, struct tw_block *block) {
  if (block) {
    account(pool, -block->bytes);
    free(block);
  }
}

/* Unlink the smallest idle block that is large enough, else the first one: it will be replaced by a larger one. */
static struct tw_block *unlink_block(struct tw_pool *pool, long bytes) {
  struct tw_block **best = &pool->idle;
  for (struct tw_block **link = &pool->idle; *link; link = &(*link)->next)
    if ((*link)->bytes >= bytes && ((*best)->bytes < bytes || (*link)->bytes < (*best)->bytes))
      best = link;
  struct tw_block *block = *best;
  if (block)
    *best = block->next;
  return block;
}

/* A block of at least that many bytes, or null when there is no memory. */
struct tw_block *tw_pool_take(struct tw_pool *pool, long bytes) {
  lock_list(pool);
  struct tw_block *block = unlink_block(pool, bytes);
  unlock_list(pool);
  if (block && block->bytes >= bytes)
    return block;
  free_block(pool, block);
  return new_block(pool, bytes);
}

void tw_pool_give(struct tw_pool *pool, struct tw_block *block) {
  lock_list(pool);
  block->next = pool->idle;
  pool->idle = block;
  unlock_list(pool);
}

/* Running shares. */

static void run(const struct job *job, long share, struct tw_block *block) {
  if (block)
    job->task(job->argument, job->count * share / job->shares, job->count * (share + 1) / job->shares, (char *)(block + 1));
  else
    __atomic_store_n(&job->call->out_of_memory, 1, __ATOMIC_RELAXED);
}

static void run_on_caller(const struct job *job) {
  struct tw_block *block = tw_pool_take(job->call->pool, job->scratch_bytes);
  run(job, 0, block);
  if (block)
    tw_pool_give(job->call->pool, block);
}

static void run_on_worker(struct worker *worker) {
  struct tw_pool *pool = worker->pool;
  if (!worker->scratch || worker->scratch->bytes < pool->job.scratch_bytes) {
    free_block(pool, worker->scratch);
    worker->scratch = new_block(pool, pool->job.scratch_bytes);
  }
  run(&pool->job, worker->share, worker->scratch);
}

static void wait_for_ticket(struct worker *worker, unsigned seen) {
  for (long spin = 0; spin < SPINS; spin++) {
    if (load(&worker->ticket) != seen)
      return;
    PAUSE();
  }
  __atomic_store_n(&worker->asleep, 1, __ATOMIC_SEQ_CST);
  while (load(&worker->ticket) == seen)
    futex_wait(&worker->ticket, seen);
  __atomic_store_n(&worker->asleep, 0, __ATOMIC_SEQ_CST);
}

static void *work(void *argument) {
  struct worker *worker = argument;
  struct tw_pool *pool = worker->pool;
  for (unsigned seen = 0;; seen++) {
    wait_for_ticket(worker, seen);
    if (pool->stopping)
      return 0;
    run_on_worker(worker);
    if (__atomic_sub_fetch(&pool->remaining, 1, __ATOMIC_SEQ_CST) == 0 &&
        __atomic_load_n(&pool->caller_asleep, __ATOMIC_SEQ_CST))
      futex_wake(&pool->remaining);
  }
}

static void raise_ticket(struct worker *worker) {
  __atomic_add_fetch(&worker->ticket, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&worker->asleep, __ATOMIC_SEQ_CST))
    futex_wake(&worker->ticket);
}

static void wait_for_workers(struct tw_pool *pool) {
  for (long spin = 0; spin < SPINS; spin++) {
    if (load(&pool->remaining) == 0)
      return;
    PAUSE();
  }
  __atomic_store_n(&pool->caller_asleep, 1, __ATOMIC_SEQ_CST);
  for (unsigned left; (left = load(&pool->remaining)) != 0;)
    futex_wait(&pool->remaining, left);
  __atomic_store_n(&pool->caller_asleep, 0, __ATOMIC_SEQ_CST);
}

/* Start workers until there are `wanted`; returns how many there are. They take no signals: those are Python's. */
static long start_workers(struct tw_pool *pool, long wanted) {
  if (pool->started >= wanted)
    return wanted;
  char all[SIGNAL_SET_BYTES], before[SIGNAL_SET_BYTES];
  memset(all, 0xff, sizeof all);
  pthread_sigmask(SIG_SETMASK_NUMBER, all, before);
  for (; pool->started < wanted; pool->started++) {
    struct worker *worker = &pool->workers[pool->started];
    worker->pool = pool;
    worker->share = pool->started + 1;
    worker->ticket = 0;
    worker->asleep = 0;
    if (pthread_create(&worker->thread, 0, work, worker))
      break;
  }
  pthread_sigmask(SIG_SETMASK_NUMBER, before, (void *)0);
  return pool->started;
}

static int acquire(struct tw_pool *pool) {
  return !__atomic_load_n(&pool->busy, __ATOMIC_RELAXED) && !__atomic_exchange_n(&pool->busy, 1, __ATOMIC_ACQUIRE);
}

static void release(struct tw_pool *pool) { __atomic_store_n(&pool->busy, 0, __ATOMIC_RELEASE); }

TW_EXPORT void tw_parallel_for(void *handle, tw_task task, void *argument, long count, long scratch_bytes) {
  struct tw_call *call = handle;
  struct tw_pool *pool = call->pool;
  struct job job = {call, task, argument, count, scratch_bytes, 1};
  if (count <= 0)
    return;
  long shares = count < pool->threads ? count : pool->threads;
  if (shares == 1 || !acquire(pool)) {
    run_on_caller(&job);
    return;
  }
  job.shares = 1 + start_workers(pool, shares - 1);
  pool->job = job;
  __atomic_store_n(&pool->remaining, (unsigned)(job.shares - 1), __ATOMIC_SEQ_CST);
  for (long i = 0; i < job.shares - 1; i++)
    raise_ticket(&pool->workers[i]);
  run_on_caller(&job);
  wait_for_workers(pool);
  release(pool);
}

/* Life of a pool. */

TW_EXPORT struct tw_pool *tw_pool_create(long threads) {
  void *memory;
  size bytes = sizeof(struct tw_pool) + (threads - 1) * sizeof(struct worker);
  if (posix_memalign(&memory, LINE_BYTES, bytes))
    return 0;
  memset(memory, 0, bytes);
  struct tw_pool *pool = memory;
  pool->threads = threads;
  pool->process = getpid();
  return pool;
}

/* In a forked child, forget threads, locks and memory of the parent. Of several threads that come here first, one does it. */
TW_EXPORT void tw_pool_enter(struct tw_pool *pool) {
  int process = getpid(), owner = __atomic_load_n(&pool->process, __ATOMIC_ACQUIRE);
  while (owner != process) {
    if (owner == RESETTING) {
      sched_yield();
      owner = __atomic_load_n(&pool->process, __ATOMIC_ACQUIRE);
    } else if (__atomic_compare_exchange_n(&pool->process, &owner, RESETTING, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
      pool->busy = pool->list_lock = pool->caller_asleep = pool->stopping = 0;
      pool->started = pool->current_bytes = pool->peak_bytes = 0;
      pool->idle = 0;
      memset(pool->workers, 0, (pool->threads - 1) * sizeof(struct worker));
      __atomic_store_n(&pool->process, process, __ATOMIC_RELEASE);
      return;
    }
  }
}

/* End the threads, unless a call is going on (a daemon thread at interpreter exit: then the process takes them down). */
TW_EXPORT void tw_pool_stop(struct tw_pool *pool) {
  tw_pool_enter(pool);
  if (!acquire(pool))
    return;
  pool->stopping = 1;
  for (long i = 0; i < pool->started; i++)
    raise_ticket(&pool->workers[i]);
  for (long i = 0; i < pool->started; i++)
    pthread_join(pool->workers[i].thread, (void **)0);
  pool->started = pool->stopping = 0;
  release(pool);
}

/* Give idle memory back to the system; that of the workers only when no call is going on. */
TW_EXPORT void tw_pool_trim(struct tw_pool *pool) {
  tw_pool_enter(pool);
  lock_list(pool);
  struct tw_block *block = pool->idle;
  pool->idle = 0;
  unlock_list(pool);
  while (block) {
    struct tw_block *next = block->next;
    free_block(pool, block);
    block = next;
  }
  if (!acquire(pool))
    return;
  for (long i = 0; i < pool->threads - 1; i++) {
    free_block(pool, pool->workers[i].scratch);
    pool->workers[i].scratch = 0;
  }
  release(pool);
}

/* No call may be going on. */
TW_EXPORT void tw_pool_destroy(struct tw_pool *pool) {
  tw_pool_stop(pool);
  tw_pool_trim(pool);
  free(pool);
}

TW_EXPORT void tw_pool_stats(struct tw_pool *pool, long *current_bytes, long *peak_bytes) {
  tw_pool_enter(pool);
  *current_bytes = __atomic_load_n(&pool->current_bytes, __ATOMIC_RELAXED);
  *peak_bytes = __atomic_load_n(&pool->peak_bytes, __ATOMIC_RELAXED);
}

TW_EXPORT void tw_pool_reset_peak(struct tw_pool *pool) {
  __atomic_store_n(&pool->peak_bytes, __atomic_load_n(&pool->current_bytes, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}
