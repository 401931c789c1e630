/* Reading arrays and nothing else: what a computation that is bound by reading them takes at least. */

#define EXPORT __attribute__((visibility("default")))

typedef float vector __attribute__((vector_size(64)));

enum { STEP = 64, AHEAD = 2048 }; /* elements; what is asked for so far ahead comes faster than by the hardware's prefetching alone */

/* The sum of some elements of an array that begins at a multiple of 64 bytes, all of whose whole steps are read for it. */
static float read_floats(const float *begin, long size) {
  vector a = {0}, b = {0}, c = {0}, d = {0};
  for (const float *p = begin; p + STEP <= begin + size; p += STEP) {
    __builtin_prefetch(p + AHEAD, 0, 3);
    __builtin_prefetch(p + AHEAD + 16, 0, 3);
    __builtin_prefetch(p + AHEAD + 32, 0, 3);
    __builtin_prefetch(p + AHEAD + 48, 0, 3);
    a += *(const vector *)p;
    b += *(const vector *)(p + 16);
    c += *(const vector *)(p + 32);
    d += *(const vector *)(p + 48);
  }
  return (a + b + c + d)[0];
}

/* Reads so many arrays behind each other, count times; the sum keeps the reads alive. */
EXPORT float read_arrays(const float *const *begins, const long *sizes, long arrays, long count) {
  float sum = 0;
  for (long pass = 0; pass < count; pass++)
    for (long i = 0; i < arrays; i++)
      sum += read_floats(begins[i], sizes[i]);
  return sum;
}
