// [instructions]
// Builtins where GCC and Clang agree on the name, one instruction of inline assembly where they do not.
typedef unsigned short tw_mask;
#define TW_KEEP(v) __asm__("" : "+v"(v))
TW_INLINE tw_vec tw_multiply_add(tw_vec a, tw_vec b, tw_vec c) {
#if TW_HAS_FMA_OF_VECTORS
  return __builtin_elementwise_fma(a, b, c);
#else
  return __builtin_ia32_vfmaddps512_mask(a, b, c, (tw_mask)-1, 4);
#endif
}
TW_INLINE double tw_multiply_add_float64(double a, double b, double c) { return __builtin_fma(a, b, c); }
TW_INLINE void tw_stream(float *p, tw_vec v) { __asm__ volatile("vmovntps %1, %0" : "=m"(*(tw_vec_unaligned *)p) : "v"(v)); }
TW_INLINE void tw_fence(void) { __asm__ volatile("sfence" ::: "memory"); }
TW_INLINE tw_mask tw_prefix(long n) { return (tw_mask)((1u << n) - 1u); }
TW_INLINE tw_vec tw_load_part(const float *p, long n) {
  return __builtin_ia32_loadups512_mask((const void *)p, (tw_vec){0}, tw_prefix(n));
}
TW_INLINE void tw_store_part(float *p, tw_vec v, long n) { __builtin_ia32_storeups512_mask((void *)p, v, tw_prefix(n)); }
#define TW_COMPARISON(name, predicate) \
  TW_INLINE tw_mask name(tw_vec a, tw_vec b) { return __builtin_ia32_cmpps512_mask(a, b, predicate, (tw_mask)-1, 4); }
TW_COMPARISON(tw_equal, 0)
TW_COMPARISON(tw_not_equal, 4)
TW_COMPARISON(tw_less, 17)
TW_COMPARISON(tw_less_equal, 18)
TW_COMPARISON(tw_greater_equal, 29)
TW_COMPARISON(tw_greater, 30)
#undef TW_COMPARISON
TW_INLINE int tw_any(tw_mask mask) { return mask != 0; }
TW_INLINE tw_vec tw_where(tw_mask mask, tw_vec a, tw_vec b) {
  tw_vec result;
  __asm__("vblendmps %1, %2, %0%{%3%}" : "=v"(result) : "v"(a), "v"(b), "Yk"(mask));
  return result;
}
tw_larger(a, b) = vmaxps
tw_smaller(a, b) = vminps
tw_sqrt(v) = vsqrtps
tw_floor(v) = vrndscaleps $9,
