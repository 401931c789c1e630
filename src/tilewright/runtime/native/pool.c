/* Tilewright's thread pool: `parallel_for` over contiguous shares of blocks, one share per thread.

   - A thread takes blocks from the front of its share; when it has no more, from the back of the fullest other one. So a thread
     that is held up holds up no more than the blocks that it has begun, and undisturbed threads keep to their shares.
   - The thread that calls takes share 0; workers are started when first needed, and wait by a bounded spin, then a futex.
   - `busy` has one owner. Whoever finds it taken (a second Python thread, a nested call) runs all blocks itself.
   - Schedulers wake a worker on the caller's CPU now and then, where neither gets ahead: it is told to keep off.
   - `job` and the shares are written by the owner of `busy` before it calls the workers, and read by those that answered: who
     has not when all blocks are taken is not waited for, but called off. `remaining` hands them back.
   - A forked child has none of the threads: `tw_pool_enter`, at the start of every call, notices and starts afresh. What the
     parent had allocated is abandoned there, because the fork may have met a list half changed. It notices by a page that the
     kernel wipes in a child; where there is none it asks for the process, which takes longer than 16 x 16 x 16. */

#include "pool.h"

typedef unsigned long size;

int pthread_create(unsigned long *thread, const void *attributes, void *(*start)(void *), void *argument);
int pthread_join(unsigned long thread, void **result);
int pthread_sigmask(int how, const void *set, void *old);
int posix_memalign(void **memory, size alignment, size bytes);
void free(void *memory);
void *memset(void *memory, int value, size bytes);
int getpid(void);
void *mmap(void *wanted, size bytes, int protection, int flags, int file, long offset);
int munmap(void *memory, size bytes);
int madvise(void *memory, size bytes, int advice);
int clock_gettime(int clock, void *time);
int pthread_getcpuclockid(unsigned long thread, int *clock);
int sched_getcpu(void);
int sched_getaffinity(int process, size bytes, void *cpus);
int pthread_setaffinity_np(unsigned long thread, size bytes, const void *cpus);
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
  RESETTING = -1,
  CPU_WORDS = 16,      /* 1024 CPUs; on larger machines threads run where the system puts them */
  WORD_BITS = 64,
  MOST_GRAINS = 256,   /* of a share: few enough that taking them costs nothing */
  WAKE_NS = 25000,     /* what the caller loses by a sleeping worker, from the futex to its first block */
  SOON_NS = 100000,    /* who calls again so soon will do so once more, and finds awake whom it wakes */
  MONOTONIC = 1,
  OWN_CPU_TIME = 3,    /* CLOCK_THREAD_CPUTIME_ID */
  LOOK_NS = 15000,     /* long enough to see whether a thread has a CPU, much shorter than a time slice */
  LOOKS = 4,           /* 60 us of spinning before the caller sleeps */
  NAP_NS = 200000      /* until the sleeping caller looks again */
};
#define FROM_FRONT 1UL
#define FROM_BACK (1UL << 32)

struct share { /* blocks first..last-1: its owner takes grains of them from the front, others from the back */
  long first, last, grain;
  unsigned long taken; /* grains from the front, and `FROM_BACK` times grains from the back */
} __attribute__((aligned(LINE_BYTES)));

struct job {
  struct tw_call *call;
  tw_task task;
  void *argument;
  long count, scratch_bytes, expected_ns, share_count;
  struct share *shares;
};

struct hand { /* what a thread has taken and not yet begun: blocks next..stop-1 */
  struct tw_blocks blocks;
  long next, stop, own;
  const struct job *job;
};

enum state { IDLE, CALLED, RUNNING };

struct worker {
  unsigned state; /* the futex the worker sleeps on while it is `IDLE` */
  int asleep;
  int cpu; /* that it ran its last share on; negative: unknown */
  int lent;  /* the CPU of a caller who waits for it, until the next call */
  int clock; /* of its CPU time */
  long used_ns; /* of CPU time, when the caller last looked */
  long share;
  struct tw_pool *pool;
  struct tw_block *scratch;
  unsigned long thread;
} __attribute__((aligned(LINE_BYTES)));

struct tw_pool {
  int busy;
  int process; /* of the threads; RESETTING while a forked child starts afresh */
  int *entered; /* on the page that is wiped: not 0 once this process has entered; null without such a page */
  long threads, started;
  int stopping;
  long slept_through_ns; /* when the last region ended that was not worth waking anybody for */
  struct job job;
  struct share *shares;
  unsigned remaining __attribute__((aligned(LINE_BYTES))); /* shares of workers not yet done; the futex of the caller */
  int caller_asleep;
  int list_lock __attribute__((aligned(LINE_BYTES)));
  struct tw_block *idle;
  long current_bytes, peak_bytes;
  struct worker workers[];
};

static long clock_ns(int clock) {
  long time[2] = {0, 0};
  clock_gettime(clock, time);
  return time[0] * 1000000000 + time[1];
}

long tw_now_ns(void) { return clock_ns(MONOTONIC); }

static unsigned load(const unsigned *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }

/* Until somebody wakes this thread, for `most_ns` at most; negative: without a limit. */
static void futex_wait(unsigned *word, unsigned expected, long most_ns) {
  long time[2] = {0, most_ns};
  syscall(FUTEX_CALL, word, FUTEX_WAIT_PRIVATE, expected, most_ns < 0 ? (void *)0 : time, (void *)0, 0);
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

/* Taking blocks. */

static void fill_share(struct share *share, long first, long last) {
  *share = (struct share){first, last, 1 + (last - first) / MOST_GRAINS, 0};
}

/* The first block of a share that nobody has taken; `stop` is the one behind the last. */
static long first_left(const struct share *share, unsigned long taken, long *stop) {
  *stop = share->last - (long)(taken / FROM_BACK) * share->grain;
  return share->first + (long)(taken % FROM_BACK) * share->grain;
}

static long blocks_left(const struct share *share) {
  long stop, next = first_left(share, __atomic_load_n(&share->taken, __ATOMIC_RELAXED), &stop);
  return stop - next;
}

/* Take a grain from that end, or what is left of one; whether there was any. */
static int take(struct hand *hand, struct share *share, unsigned long end) {
  unsigned long taken = __atomic_load_n(&share->taken, __ATOMIC_RELAXED);
  do {
    hand->next = first_left(share, taken, &hand->stop);
    if (hand->next >= hand->stop)
      return 0;
  } while (!__atomic_compare_exchange_n(&share->taken, &taken, taken + end, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  if (hand->stop - hand->next <= share->grain)
    return 1;
  if (end == FROM_BACK)
    hand->next = hand->stop - share->grain;
  else
    hand->stop = hand->next + share->grain;
  return 1;
}

static struct share *fullest(const struct job *job) {
  struct share *best = job->shares;
  for (long i = 1; i < job->share_count; i++)
    if (blocks_left(&job->shares[i]) > blocks_left(best))
      best = &job->shares[i];
  return best;
}

static int fill_hand(struct hand *hand) {
  if (take(hand, &hand->job->shares[hand->own], FROM_FRONT))
    return 1;
  for (struct share *other; blocks_left(other = fullest(hand->job)) > 0;)
    if (take(hand, other, FROM_BACK))
      return 1;
  return 0;
}

static long next_block(struct tw_blocks *blocks) {
  struct hand *hand = (struct hand *)blocks;
  return hand->next < hand->stop || fill_hand(hand) ? hand->next++ : -1;
}

/* Running shares. */

/* Whoever finds nothing left to do prepares nothing. */
static void run(const struct job *job, long share, struct tw_block *block) {
  struct hand hand = {{next_block}, 0, 0, share, job};
  if (!block)
    __atomic_store_n(&job->call->missing_bytes, job->scratch_bytes, __ATOMIC_RELAXED);
  else if (fill_hand(&hand))
    job->task(job->argument, &hand.blocks, (char *)(block + 1));
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

static void wait_for_call(struct worker *worker) {
  long spins = __atomic_load_n(&worker->lent, __ATOMIC_SEQ_CST) ? 0 : SPINS;
  for (long spin = 0; spin < spins; spin++) {
    if (load(&worker->state) != IDLE)
      return;
    PAUSE();
  }
  __atomic_store_n(&worker->asleep, 1, __ATOMIC_SEQ_CST);
  while (load(&worker->state) == IDLE)
    futex_wait(&worker->state, IDLE, -1);
  __atomic_store_n(&worker->asleep, 0, __ATOMIC_SEQ_CST);
}

static int change(struct worker *worker, unsigned from, unsigned to) {
  return __atomic_compare_exchange_n(&worker->state, &from, to, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static int used_before(unsigned long *used, int cpu) {
  if (cpu < 0 || cpu >= CPU_WORDS * WORD_BITS)
    return 0;
  unsigned long bit = 1UL << cpu % WORD_BITS, before = used[cpu / WORD_BITS];
  used[cpu / WORD_BITS] |= bit;
  return (before & bit) != 0;
}

/* Let a worker run on what the calling thread may use, apart from CPUs that others of the region run on; if there are any. */
static void move_worker(struct worker *worker, const unsigned long *used) {
  unsigned long cpus[CPU_WORDS] = {0}, any = 0;
  if (sched_getaffinity(0, sizeof cpus, cpus) < 0)
    return;
  for (long i = 0; i < CPU_WORDS; i++)
    any |= cpus[i] &= ~used[i];
  if (any && !pthread_setaffinity_np(worker->thread, sizeof cpus, cpus))
    worker->cpu = -1;
}

/* Before workers are called: no two threads of a region on one CPU, by where they ran last; lent CPUs are given back. */
static void spread_workers(struct tw_pool *pool, long count) {
  unsigned long used[CPU_WORDS] = {0};
  used_before(used, sched_getcpu());
  for (long i = 0; i < count; i++)
    if (used_before(used, pool->workers[i].cpu) | __atomic_exchange_n(&pool->workers[i].lent, 0, __ATOMIC_SEQ_CST))
      move_worker(&pool->workers[i], used);
}

static void *work(void *argument) {
  struct worker *worker = argument;
  struct tw_pool *pool = worker->pool;
  for (;;) {
    wait_for_call(worker);
    if (!change(worker, CALLED, RUNNING))
      continue;
    if (pool->stopping)
      return 0;
    worker->cpu = sched_getcpu();
    run_on_worker(worker);
    __atomic_store_n(&worker->state, IDLE, __ATOMIC_SEQ_CST); /* while the caller still waits: it calls no one before */
    if (__atomic_sub_fetch(&pool->remaining, 1, __ATOMIC_SEQ_CST) == 0 &&
        __atomic_load_n(&pool->caller_asleep, __ATOMIC_SEQ_CST))
      futex_wake(&pool->remaining);
  }
}

static int is_asleep(const struct worker *worker) { return __atomic_load_n(&worker->asleep, __ATOMIC_SEQ_CST); }

static void call_worker(struct worker *worker) {
  __atomic_store_n(&worker->state, CALLED, __ATOMIC_SEQ_CST);
  if (is_asleep(worker))
    futex_wake(&worker->state);
}

/* Those who have not answered yet: there is nothing left for them to do. They may have waited for the caller's CPU all the time:
   taken to be there, they are told to keep off before they are called again. */
static void call_off_workers(struct tw_pool *pool) {
  for (long i = 0; i < pool->job.share_count - 1; i++)
    if (change(&pool->workers[i], CALLED, IDLE)) {
      pool->workers[i].cpu = sched_getcpu();
      __atomic_sub_fetch(&pool->remaining, 1, __ATOMIC_SEQ_CST);
    }
}

static int is_running(const struct worker *worker) { return load(&worker->state) == RUNNING; }

static void note_cpu_times(struct tw_pool *pool) {
  for (long i = 0; i < pool->job.share_count - 1; i++)
    if (is_running(&pool->workers[i]))
      pool->workers[i].used_ns = clock_ns(pool->workers[i].clock);
}

/* Let a worker that has begun a block and gets no CPU have the caller's, who had one for `own_ns` and only waits; whether there
   is such a worker. Else all would wait for a time slice of the thread that keeps it from its CPU. */
static int lend_cpu(struct tw_pool *pool, long own_ns) {
  for (long i = 0; i < pool->job.share_count - 1; i++) {
    struct worker *worker = &pool->workers[i];
    if (is_running(worker) && 4 * (clock_ns(worker->clock) - worker->used_ns) < own_ns) {
      unsigned long cpus[CPU_WORDS] = {0};
      used_before(cpus, sched_getcpu());
      __atomic_store_n(&worker->lent, 1, __ATOMIC_SEQ_CST);
      return !pthread_setaffinity_np(worker->thread, sizeof cpus, cpus);
    }
  }
  return 0;
}

/* Spin for so long at most; whether the workers are done. */
static int are_done_within(struct tw_pool *pool, long ns) {
  for (long end = tw_now_ns() + ns; tw_now_ns() < end;)
    for (long spin = 0; spin < 16; spin++) {
      if (load(&pool->remaining) == 0)
        return 1;
      PAUSE();
    }
  return 0;
}

static void sleep_until_done(struct tw_pool *pool, long most_ns) {
  __atomic_store_n(&pool->caller_asleep, 1, __ATOMIC_SEQ_CST);
  unsigned left = load(&pool->remaining);
  if (left)
    futex_wait(&pool->remaining, left, most_ns);
  __atomic_store_n(&pool->caller_asleep, 0, __ATOMIC_SEQ_CST);
}

static void wait_for_workers(struct tw_pool *pool) {
  for (long looks = 1; load(&pool->remaining); looks++) {
    long own_ns = clock_ns(OWN_CPU_TIME);
    note_cpu_times(pool);
    if (are_done_within(pool, LOOK_NS))
      return;
    if (lend_cpu(pool, clock_ns(OWN_CPU_TIME) - own_ns) || looks >= LOOKS)
      sleep_until_done(pool, NAP_NS);
  }
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
    worker->state = IDLE;
    worker->asleep = 0;
    worker->cpu = -1;
    if (pthread_create(&worker->thread, 0, work, worker))
      break;
    pthread_getcpuclockid(worker->thread, &worker->clock);
  }
  pthread_sigmask(SIG_SETMASK_NUMBER, before, (void *)0);
  return pool->started;
}

static int acquire(struct tw_pool *pool) {
  return !__atomic_load_n(&pool->busy, __ATOMIC_RELAXED) && !__atomic_exchange_n(&pool->busy, 1, __ATOMIC_ACQUIRE);
}

static void release(struct tw_pool *pool) { __atomic_store_n(&pool->busy, 0, __ATOMIC_RELEASE); }

static void run_alone(struct job *job) {
  struct share all;
  fill_share(&all, 0, job->count);
  job->share_count = 1;
  job->shares = &all;
  run_on_caller(job);
}

/* The owner of `busy` divides the blocks among as many threads as there are. */
static void run_together(struct tw_pool *pool, struct job *job, long threads) {
  job->share_count = 1 + start_workers(pool, threads - 1);
  job->shares = pool->shares;
  for (long i = 0; i < job->share_count; i++)
    fill_share(&pool->shares[i], job->count * i / job->share_count, job->count * (i + 1) / job->share_count);
  pool->job = *job;
  spread_workers(pool, job->share_count - 1);
  __atomic_store_n(&pool->remaining, (unsigned)(job->share_count - 1), __ATOMIC_SEQ_CST);
  for (long i = 0; i < job->share_count - 1; i++)
    call_worker(&pool->workers[i]);
  run_on_caller(job);
  call_off_workers(pool);
  wait_for_workers(pool);
}

/* Whether a region is too short to wake workers for it, and all of them sleep: what each takes over must be worth it. */
static int is_better_alone(struct tw_pool *pool, const struct job *job, long threads) {
  if (job->expected_ns / threads >= WAKE_NS)
    return 0;
  for (long i = 0; i < threads - 1 && i < pool->started; i++)
    if (!is_asleep(&pool->workers[i]))
      return 0;
  return tw_now_ns() - pool->slept_through_ns > SOON_NS;
}

static void run_as_owner(struct tw_pool *pool, struct job *job, long threads) {
  if (!is_better_alone(pool, job, threads)) {
    run_together(pool, job, threads);
    return;
  }
  run_alone(job);
  pool->slept_through_ns = tw_now_ns();
}

TW_EXPORT void tw_parallel_for(void *handle, tw_task task, void *argument, long count, long scratch_bytes, long expected_ns) {
  struct tw_call *call = handle;
  struct tw_pool *pool = call->pool;
  struct job job = {call, task, argument, count, scratch_bytes, expected_ns, 0, 0};
  if (count <= 0)
    return;
  long threads = count < pool->threads ? count : pool->threads;
  if (threads == 1 || !acquire(pool)) {
    run_alone(&job);
    return;
  }
  run_as_owner(pool, &job, threads);
  release(pool);
}

/* Life of a pool. */

enum { PAGE_BYTES = 4096, READ_WRITE = 3, PRIVATE_ANONYMOUS = 0x22, WIPE_ON_FORK = 18 }; /* PROT_*, MAP_*, MADV_* of Linux */

/* Zeros, and zeros again in a forked child; null where the kernel cannot do that (before Linux 4.14). */
static void *wiped_page(void) {
  void *page = mmap((void *)0, PAGE_BYTES, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0);
  if (page == (void *)-1)
    return 0;
  if (!madvise(page, PAGE_BYTES, WIPE_ON_FORK))
    return page;
  munmap(page, PAGE_BYTES);
  return 0;
}

TW_EXPORT struct tw_pool *tw_pool_create(long threads) {
  void *memory;
  size bytes = sizeof(struct tw_pool) + (threads - 1) * sizeof(struct worker) + threads * sizeof(struct share);
  if (posix_memalign(&memory, LINE_BYTES, bytes))
    return 0;
  memset(memory, 0, bytes);
  struct tw_pool *pool = memory;
  pool->threads = threads;
  pool->shares = (struct share *)(pool->workers + threads - 1);
  pool->process = getpid();
  pool->entered = wiped_page();
  return pool;
}

/* In a forked child, forget threads, locks and memory of the parent. Of several threads that come here first, one does it. */
static void enter_process(struct tw_pool *pool) {
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

TW_EXPORT void tw_pool_enter(struct tw_pool *pool) {
  if (pool->entered && __atomic_load_n(pool->entered, __ATOMIC_ACQUIRE))
    return;
  enter_process(pool);
  if (pool->entered)
    __atomic_store_n(pool->entered, 1, __ATOMIC_RELEASE);
}

/* End the threads, unless a call is going on (a daemon thread at interpreter exit: then the process takes them down). */
TW_EXPORT void tw_pool_stop(struct tw_pool *pool) {
  tw_pool_enter(pool);
  if (!acquire(pool))
    return;
  pool->stopping = 1;
  for (long i = 0; i < pool->started; i++)
    call_worker(&pool->workers[i]);
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
  if (pool->entered)
    munmap(pool->entered, PAGE_BYTES);
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
