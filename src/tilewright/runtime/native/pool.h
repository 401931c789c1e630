/* What the launcher needs of the pool. The functions of libc are declared, not included: the process has them loaded. */
#ifndef TILEWRIGHT_POOL_H
#define TILEWRIGHT_POOL_H

#define TW_EXPORT __attribute__((visibility("default")))

struct tw_blocks { /* what one thread has of a region; the ABI of generated code */
  long (*next)(struct tw_blocks *blocks); /* the number of its next block; negative: there are no more */
};

typedef void (*tw_task)(void *argument, struct tw_blocks *blocks, char *scratch);

struct tw_context { /* the ABI of generated code */
  void *pool;
  void (*parallel_for)(void *pool, tw_task task, void *argument, long count, long scratch_bytes, long expected_ns);
  const char *const *constants;
  void (*chain_done)(void *pool, long chain); /* null: nobody asks */
  void (*out_of_range)(void *pool, long lookup, long place, long position, long extent);
  void (*not_finite)(void *pool);
};

struct tw_pool;

struct tw_block { /* a header of one cache line in front of 64-byte aligned memory */
  struct tw_block *next;
  long bytes;
} __attribute__((aligned(64)));

struct tw_call { /* one call of an entry point; generated code knows it as `pool` */
  struct tw_pool *pool;
  long missing_bytes; /* of scratch that a thread could not get */
};

TW_EXPORT struct tw_pool *tw_pool_create(long threads);
TW_EXPORT void tw_pool_destroy(struct tw_pool *pool);
TW_EXPORT void tw_pool_stop(struct tw_pool *pool);
TW_EXPORT void tw_pool_trim(struct tw_pool *pool);
TW_EXPORT void tw_pool_stats(struct tw_pool *pool, long *current_bytes, long *peak_bytes);
TW_EXPORT void tw_pool_reset_peak(struct tw_pool *pool);
TW_EXPORT void tw_pool_enter(struct tw_pool *pool);
TW_EXPORT void tw_parallel_for(void *call, tw_task task, void *argument, long count, long scratch_bytes, long expected_ns);

long tw_now_ns(void);
struct tw_block *tw_pool_take(struct tw_pool *pool, long bytes);
void tw_pool_give(struct tw_pool *pool, struct tw_block *block);

#endif
