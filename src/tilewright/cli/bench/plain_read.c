/* Reading arrays and nothing else: what a computation that is bound by reading them takes at least. */

#define EXPORT __attribute__((visibility("default")))

typedef float vector __attribute__((vector_size(64)));

enum { STEP = 64, AHEAD = 2048 }; /* elements; what is asked for so far ahead comes faster than by the hardware's prefetching alone */

/* Adds up count times all whole steps of an array that begins at a multiple of 64 bytes; the sum keeps the reads alive. */
EXPORT float read_floats(const float *begin, long size, long count) {
  vector sum[4] = {{0}};
  for (long pass = 0; pass < count; pass++)
    for (const float *p = begin; p + STEP <= begin + size; p += STEP)
      for (long i = 0; i < 4; i++) {
        __builtin_prefetch(p + AHEAD + 16 * i, 0, 3);
        sum[i] += *(const vector *)(p + 16 * i);
      }
  return sum[0][0] + sum[1][0] + sum[2][0] + sum[3][0];
}
