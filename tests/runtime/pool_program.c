/* Drives pool.c under the sanitizers: regions of many sizes, two callers at once, nested regions, stop, trim, and fork. */
#include "pool.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1000, ROUNDS = 300 };

struct sum {
  void *call;
  long nested;
  double values[COUNT];
};

static void check(int holds, const char *what) {
  if (!holds) {
    fprintf(stderr, "failed: %s\n", what);
    exit(1);
  }
}

static void add_one(void *argument, long begin, long end, char *scratch) {
  struct sum *sum = argument;
  check((unsigned long)scratch % 64 == 0, "scratch is aligned");
  for (int i = 0; i < 256; i++)
    scratch[i] = (char)i;
  for (long i = begin; i < end; i++)
    sum->values[i] += 1;
}

static void nest(void *argument, long begin, long end, char *scratch) {
  struct sum *sums = argument;
  for (long i = begin; i < end; i++)
    tw_parallel_for(sums[i].call, add_one, &sums[i], COUNT, 256);
  scratch[0] = 1;
}

static void *many_rounds(void *pool) {
  struct tw_call call = {pool, 0};
  struct sum *sum = calloc(1, sizeof *sum);
  tw_pool_enter(pool);
  for (long round = 0; round < ROUNDS; round++) {
    tw_parallel_for(&call, add_one, sum, 1 + round % COUNT, 256 + 64 * round);
    if (round % 100 == 50)
      usleep(2000); /* let the workers fall asleep */
    if (round % 100 == 70)
      tw_pool_trim(pool);
  }
  for (long i = 0; i < ROUNDS; i++)
    check(sum->values[i] == ROUNDS - i, "every index ran once per round");
  check(!call.out_of_memory, "there was memory");
  free(sum);
  return 0;
}

static void nested(struct tw_pool *pool) {
  struct tw_call call = {pool, 0};
  struct sum *sums = calloc(8, sizeof *sums);
  for (int i = 0; i < 8; i++)
    sums[i].call = &call;
  tw_parallel_for(&call, nest, sums, 8, 64);
  for (int i = 0; i < 8; i++)
    check(sums[i].values[COUNT - 1] == 1, "nested regions ran");
  free(sums);
}

static void no_memory(struct tw_pool *pool) {
  struct tw_call call = {pool, 0};
  struct sum *sum = calloc(1, sizeof *sum);
  tw_parallel_for(&call, add_one, sum, COUNT, 1L << 62);
  check(call.out_of_memory, "the lack of memory is reported");
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
