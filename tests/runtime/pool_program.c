/* Drives pool.c under the sanitizers: regions of many sizes, two callers at once, nested regions, threads that are held up or get
   no CPU, stop, trim, and fork. */
#define _GNU_SOURCE
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1000, ROUNDS = 300, FEW = 60, MANY = 300007, LONG_NS = 1000000000 };

struct sum {
  void *call;
  long nested;
  double values[COUNT];
};

struct meeting {
  pthread_t caller;
  long begun;
  cpu_set_t of_worker;
};

static void check(int holds, const char *what) {
  if (!holds) {
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
  }
}

static void add_one(void *argument, struct tw_blocks *blocks, char *scratch) {
  struct sum *sum = argument;
  check((unsigned long)scratch % 64 == 0, "scratch is aligned");
  for (int i = 0; i < 256; i++)
    scratch[i] = (char)i;
  for (long i; (i = blocks->next(blocks)) >= 0;)
    sum->values[i] += 1;
}

static void nest(void *argument, struct tw_blocks *blocks, char *scratch) {
  struct sum *sums = argument;
  for (long i; (i = blocks->next(blocks)) >= 0;)
    tw_parallel_for(sums[i].call, add_one, &sums[i], COUNT, 256, 0);
  scratch[0] = 1;
}

static void count_up(void *argument, struct tw_blocks *blocks, char *scratch) {
  long *counted = argument;
  scratch[0] = 1;
  for (long i; (i = blocks->next(blocks)) >= 0;) {
    __atomic_add_fetch(&counted[0], 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&counted[1], i, __ATOMIC_RELAXED);
  }
}

static void *many_rounds(void *pool) {
  struct tw_call call = {pool, 0};
  struct sum *sum = calloc(1, sizeof *sum);
  tw_pool_enter(pool);
  for (long round = 0; round < ROUNDS; round++) {
    tw_parallel_for(&call, add_one, sum, 1 + round % COUNT, 256 + 64 * round, round % 3 ? LONG_NS : 0);
    if (round % 100 == 50)
      usleep(2000); /* let the workers fall asleep */
    if (round % 100 == 70)
      tw_pool_trim(pool);
  }
  for (long i = 0; i < ROUNDS; i++)
    check(sum->values[i] == ROUNDS - i, "every index ran once per round");
  check(call.missing_bytes == 0, "there was memory");
  free(sum);
  return 0;
}

static void nested(struct tw_pool *pool) {
  struct tw_call call = {pool, 0};
  struct sum *sums = calloc(8, sizeof *sums);
  for (int i = 0; i < 8; i++)
    sums[i].call = &call;
  tw_parallel_for(&call, nest, sums, 8, 64, LONG_NS);
  for (int i = 0; i < 8; i++)
    check(sums[i].values[COUNT - 1] == 1, "nested regions ran");
  free(sums);
}

/* The first block ends when all others have: they must not be kept for the thread that runs it. */
static void wait_in_first(void *argument, struct tw_blocks *blocks, char *scratch) {
  long *done = argument;
  for (long i; (i = blocks->next(blocks)) >= 0;) {
    while (i == 0 && __atomic_load_n(done, __ATOMIC_SEQ_CST) < FEW - 1)
      usleep(100);
    __atomic_add_fetch(done, 1, __ATOMIC_SEQ_CST);
  }
  scratch[0] = 1;
}

static void held_up(struct tw_pool *pool) {
  struct tw_call call = {pool, 0};
  long done = 0;
  tw_parallel_for(&call, wait_in_first, &done, FEW, 64, LONG_NS);
  check(done == FEW, "the other threads took over");
}

static void many_blocks(struct tw_pool *pool) {
  struct tw_call call = {pool, 0};
  long counted[2] = {0, 0};
  tw_parallel_for(&call, count_up, counted, MANY, 64, LONG_NS);
  check(counted[0] == MANY && counted[1] == (MANY - 1L) * MANY / 2, "every block ran once");
}

/* Two blocks for two threads: each waits for the other one to begin; what CPUs the worker may use is noted. */
static void meet(void *argument, struct tw_blocks *blocks, char *scratch) {
  struct meeting *meeting = argument;
  long first = blocks->next(blocks);
  __atomic_add_fetch(&meeting->begun, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&meeting->begun, __ATOMIC_SEQ_CST) < 2)
    sched_yield();
  if (!pthread_equal(pthread_self(), meeting->caller))
    check(sched_getaffinity(0, sizeof meeting->of_worker, &meeting->of_worker) == 0, "the worker's CPUs are known");
  check(first >= 0 && blocks->next(blocks) < 0, "one block for each");
  scratch[0] = 1;
}

/* A worker that starts where it meets the caller on one CPU is sent away from it, unless the caller leaves first. */
static void one_cpu(void) {
  struct tw_pool *pool = tw_pool_create(2);
  struct tw_call call = {pool, 0};
  struct meeting meeting = {.caller = pthread_self()};
  cpu_set_t all, one;
  CPU_ZERO(&one);
  check(sched_getaffinity(0, sizeof all, &all) == 0, "the CPUs are known");
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  tw_pool_enter(pool);
  tw_parallel_for(&call, meet, &meeting, 2, 64, LONG_NS);
  check(CPU_EQUAL(&meeting.of_worker, &one), "the worker begins on the caller's CPU");
  sched_setaffinity(0, sizeof all, &all);
  for (int round = 0; round < 100 && CPU_EQUAL(&meeting.of_worker, &one) && CPU_ISSET(sched_getcpu(), &one); round++) {
    meeting.begun = 0;
    tw_parallel_for(&call, meet, &meeting, 2, 64, LONG_NS);
  }
  int together = CPU_EQUAL(&meeting.of_worker, &one) && CPU_ISSET(sched_getcpu(), &one);
  check(CPU_COUNT(&all) == 1 || !together, "they do not stay on one CPU");
  tw_pool_destroy(pool);
}

/* As `meet`, but the worker leaves its CPU in the midst of its block, as if another thread had taken it, until it may use one only;
   for a second at most. */
static void leave_cpu(void *argument, struct tw_blocks *blocks, char *scratch) {
  struct meeting *meeting = argument;
  long naps = 0;
  if (!pthread_equal(pthread_self(), meeting->caller)) {
    __atomic_add_fetch(&meeting->begun, 1, __ATOMIC_SEQ_CST);
    cpu_set_t cpus;
    do
      usleep(2000);
    while (!sched_getaffinity(0, sizeof cpus, &cpus) && CPU_COUNT(&cpus) > 1 && ++naps < 500);
  }
  meet(argument, blocks, scratch);
}

static void lent_cpu(void) {
  struct tw_pool *pool = tw_pool_create(2);
  struct tw_call call = {pool, 0};
  struct meeting meeting = {.caller = pthread_self()};
  cpu_set_t all;
  check(sched_getaffinity(0, sizeof all, &all) == 0, "the CPUs are known");
  tw_pool_enter(pool);
  tw_parallel_for(&call, leave_cpu, &meeting, 2, 64, LONG_NS);
  check(CPU_COUNT(&meeting.of_worker) == 1, "a worker without a CPU gets the caller's");
  meeting.begun = 0;
  tw_parallel_for(&call, meet, &meeting, 2, 64, LONG_NS);
  check(CPU_COUNT(&all) == 1 || CPU_COUNT(&meeting.of_worker) == CPU_COUNT(&all) - 1, "it gives the CPU back");
  tw_pool_destroy(pool);
}

static void no_memory(struct tw_pool *pool) {
  struct tw_call call = {pool, 0};
  struct sum *sum = calloc(1, sizeof *sum);
  tw_parallel_for(&call, add_one, sum, COUNT, 1L << 62, LONG_NS);
  check(call.missing_bytes > 0, "the lack of memory is reported");
  free(sum);
}

int main(void) {
  struct tw_pool *pool = tw_pool_create(3);
  pthread_t others[2];
  long current, peak;
  many_rounds(pool);
  for (int i = 0; i < 2; i++)
    pthread_create(&others[i], 0, many_rounds, pool);
  many_rounds(pool);
  for (int i = 0; i < 2; i++)
    pthread_join(others[i], 0);
  nested(pool);
  held_up(pool);
  one_cpu();
  lent_cpu();
  many_blocks(pool);
#ifdef WITHOUT_MEMORY
  no_memory(pool);
#else
  (void)no_memory;
#endif
  tw_pool_stop(pool);
  many_rounds(pool);
#ifdef WITH_FORK
  pid_t child = fork();
  if (child == 0) {
    many_rounds(pool);
    tw_pool_stop(pool);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  check(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ran");
#endif
  tw_pool_stats(pool, &current, &peak);
  check(current > 0 && peak >= current, "memory is accounted");
  tw_pool_trim(pool);
  tw_pool_stats(pool, &current, &peak);
  check(current == 0, "trimming gives all memory back");
  tw_pool_reset_peak(pool);
  tw_pool_destroy(pool);
  puts("passed");
  return 0;
}
