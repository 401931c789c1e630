// [instructions]
// Builtins where GCC and Clang agree on the name, one instruction of inline assembly where they do not.
typedef tw_int tw_mask;
#define TW_KEEP(v) __asm__("" : "+x"(v))
TW_INLINE tw_vec tw_multiply_add(tw_vec a, tw_vec b, tw_vec c) {
#if TW_HAS_FMA_OF_VECTORS
  return __builtin_elementwise_fma(a, b, c);
#else
  return __builtin_ia32_vfmaddps256(a, b, c);
#endif
}
TW_INLINE double tw_multiply_add_float64(double a, double b, double c) { return __builtin_fma(a, b, c); }
TW_INLINE void tw_stream(float *p, tw_vec v) { __asm__ volatile("vmovntps %1, %0" : "=m"(*(tw_vec_unaligned *)p) : "x"(v)); }
TW_INLINE void tw_fence(void) { __asm__ volatile("sfence" ::: "memory"); }
TW_INLINE tw_mask tw_prefix(long n) { return (tw_int){0, 1, 2, 3, 4, 5, 6, 7} < tw_splat_int((int)n); }
TW_INLINE tw_vec tw_load_part(const float *p, long n) { return __builtin_ia32_maskloadps256((const void *)p, tw_prefix(n)); }
TW_INLINE void tw_store_part(float *p, tw_vec v, long n) { __builtin_ia32_maskstoreps256((void *)p, tw_prefix(n), v); }
@COMPARISONS@
TW_INLINE int tw_any(tw_mask mask) { return __builtin_ia32_movmskps256((tw_vec)mask) != 0; }
TW_INLINE tw_vec tw_where(tw_mask mask, tw_vec a, tw_vec b) { return __builtin_ia32_blendvps256(b, a, (tw_vec)mask); }
tw_larger(a, b) = vmaxps
tw_smaller(a, b) = vminps
tw_sqrt(v) = vsqrtps
TW_INLINE tw_vec tw_floor(tw_vec v) { return __builtin_ia32_roundps256(v, 9); }
