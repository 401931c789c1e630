// [types]
#define TW_LANES @LANES@
#define TW_INLINE static inline __attribute__((always_inline, unused))
#ifdef __clang__
#define TW_SHUFFLE(v, ...) __builtin_shufflevector(v, v, __VA_ARGS__)
#define TW_SHUFFLE_TWO(v, w, ...) __builtin_shufflevector(v, w, __VA_ARGS__)
#define TW_HAS_FMA_OF_VECTORS __has_builtin(__builtin_elementwise_fma) /* since Clang 16; what stands for it may go */
#else
#define TW_SHUFFLE(v, ...) __builtin_shuffle(v, (tw_int){__VA_ARGS__})
#define TW_SHUFFLE_TWO(v, w, ...) __builtin_shuffle(v, w, (tw_int){__VA_ARGS__})
#endif
#define TW_OPAQUE(pointer) __asm__("" : "+r"(pointer))
typedef float tw_vec __attribute__((vector_size(@BYTES@)));
typedef int tw_int __attribute__((vector_size(@BYTES@)));
typedef float tw_vec_unaligned __attribute__((vector_size(@BYTES@), aligned(4), may_alias));
typedef int tw_int_unaligned __attribute__((vector_size(@BYTES@), aligned(4), may_alias));
TW_INLINE float tw_read(const float *p) { return *p; }
TW_INLINE void tw_prefetch(const float *p) { __builtin_prefetch(p); }
TW_INLINE tw_vec tw_load(const float *p) { return *(const tw_vec_unaligned *)p; }
TW_INLINE void tw_store(float *p, tw_vec v) { *(tw_vec_unaligned *)p = v; }
TW_INLINE long tw_whole_lines(const float *p, long stride) {
  return (((unsigned long)p | (unsigned long)stride * sizeof(float)) & 63) == 0;
}
TW_INLINE tw_vec tw_splat(float x) { return x - (tw_vec){0}; }
TW_INLINE tw_int tw_splat_int(int x) { return x - (tw_int){0}; }

// [memory]
TW_INLINE tw_vec tw_load_strided(const float *p, long stride, long n) {
  if (n == TW_LANES)
    return (tw_vec){@STRIDED@};
  float lanes[TW_LANES];
  tw_store(lanes, (tw_vec){0});
  for (long i = 0; i < n; i++)
    lanes[i] = p[i * stride];
  return tw_load(lanes);
}
TW_INLINE void tw_store_strided(float *p, long stride, tw_vec v, long n) {
  float lanes[TW_LANES];
  tw_store(lanes, v);
  for (long i = 0; i < n; i++)
    p[i * stride] = lanes[i];
}

// [values]
TW_INLINE tw_vec tw_iota(void) { return (tw_vec){@IOTA@}; }
TW_INLINE tw_vec tw_first(tw_vec a, tw_vec b, long n) { return tw_where(tw_prefix(n), a, b); }
TW_INLINE tw_vec tw_maximum(tw_vec a, tw_vec b) { return tw_where(tw_not_equal(a, a), a, tw_larger(a, b)); }
TW_INLINE tw_vec tw_minimum(tw_vec a, tw_vec b) { return tw_where(tw_not_equal(a, a), a, tw_smaller(a, b)); }
TW_INLINE tw_vec tw_abs(tw_vec v) { return (tw_vec)((tw_int)v & 0x7fffffff); }

// [comparisons]
TW_INLINE tw_mask tw_equal(tw_vec a, tw_vec b) { return a == b; }
TW_INLINE tw_mask tw_not_equal(tw_vec a, tw_vec b) { return a != b; }
TW_INLINE tw_mask tw_less(tw_vec a, tw_vec b) { return a < b; }
TW_INLINE tw_mask tw_less_equal(tw_vec a, tw_vec b) { return a <= b; }
TW_INLINE tw_mask tw_greater(tw_vec a, tw_vec b) { return a > b; }
TW_INLINE tw_mask tw_greater_equal(tw_vec a, tw_vec b) { return a >= b; }
