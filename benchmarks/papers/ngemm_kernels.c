/* Products of bytes as NGEMM's paper has them: conventional kernels of its section 2.1, and kernels without tree reduction.

   c (m, n) of 32 bits = a (m, k) of u8 times b of s8. The block of registers is 4 rows by 2 vectors of b everywhere; m is a multiple
   of 4, k of 32. Conventional kernels read b by columns, k bytes each, and keep a vector of partial sums for each of 4 x 2 elements,
   so that n is a multiple of 2; NGEMM reads b in its inner layout, 4 steps of 8 columns side by side, 4 x 16 elements at a time. */

#define EXPORT __attribute__((visibility("default")))
typedef int v8 __attribute__((vector_size(32)));
typedef v8 loose __attribute__((aligned(1), may_alias));
typedef int word __attribute__((aligned(1), may_alias));

static inline v8 products(v8 a, v8 b, v8 ones) {
  v8 pairs, fours;
  __asm__("vpmaddubsw %2, %1, %0" : "=x"(pairs) : "x"(a), "x"(b));
  __asm__("vpmaddwd %2, %1, %0" : "=x"(fours) : "x"(pairs), "x"(ones));
  return fours;
}

/* Phase 3 by VPHADD: neighbours in 128 bits, twice, then both halves. */
static inline int tree_by_horizontal_adds(v8 sums) {
  __asm__("vphaddd %0, %0, %0" : "+x"(sums));
  __asm__("vphaddd %0, %0, %0" : "+x"(sums));
  return sums[0] + sums[4];
}

/* Phase 3 by shuffles and additions of the upper half. */
static inline int tree_by_shuffles(v8 sums) {
  sums += __builtin_shuffle(sums, (v8){4, 5, 6, 7, 0, 1, 2, 3});
  sums += __builtin_shuffle(sums, (v8){2, 3, 0, 1, 6, 7, 4, 5});
  sums += __builtin_shuffle(sums, (v8){1, 0, 3, 2, 5, 4, 7, 6});
  return sums[0];
}

#define CONVENTIONAL(NAME, TREE)                                                                                       \
  EXPORT void NAME(long count, long m, long n, long k, const unsigned char *a, const signed char *b, int *c) {         \
    const v8 ones = (v8){0} + 0x00010001;                                                                              \
    for (long pass = 0; pass < count; pass++)                                                                          \
      for (long j = 0; j < n; j += 2)                                                                                  \
        for (long i = 0; i < m; i += 4) {                                                                              \
          v8 sums[4][2] = {{{0}}};                                                                                     \
          for (long p = 0; p < k; p += 32) {                                                                           \
            const v8 b_0 = *(const loose *)(b + j * k + p), b_1 = *(const loose *)(b + (j + 1) * k + p);               \
            _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {                                                      \
              const v8 row = *(const loose *)(a + (i + r) * k + p);                                                    \
              sums[r][0] += products(row, b_0, ones);                                                                  \
              sums[r][1] += products(row, b_1, ones);                                                                  \
            }                                                                                                          \
          }                                                                                                            \
          _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {                                                        \
            c[(i + r) * n + j] = TREE(sums[r][0]);                                                                     \
            c[(i + r) * n + j + 1] = TREE(sums[r][1]);                                                                 \
          }                                                                                                            \
        }                                                                                                              \
  }

CONVENTIONAL(horizontal_adds, tree_by_horizontal_adds)
CONVENTIONAL(shuffles, tree_by_shuffles)

EXPORT void ngemm(long count, long m, long n, long k, const unsigned char *a, const signed char *b, int *c) {
  const v8 ones = (v8){0} + 0x00010001;
  for (long pass = 0; pass < count; pass++)
    for (long j = 0; j < n; j += 16)
      for (long i = 0; i < m; i += 4) {
        v8 sums[4][2] = {{{0}}};
        const signed char *panel = b + j * k;
        for (long p = 0; p < k; p += 4, panel += 64) {
          const v8 b_0 = *(const loose *)panel, b_1 = *(const loose *)(panel + 32);
          _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
            const v8 group = (v8){0} + *(const word *)(a + (i + r) * k + p);
            sums[r][0] += products(group, b_0, ones);
            sums[r][1] += products(group, b_1, ones);
          }
        }
        _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) {
          *(loose *)(c + (i + r) * n + j) = sums[r][0];
          *(loose *)(c + (i + r) * n + j + 8) = sums[r][1];
        }
      }
}
