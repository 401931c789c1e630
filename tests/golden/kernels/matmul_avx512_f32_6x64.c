#ifndef TW_DIALECT_AVX512
#define TW_DIALECT_AVX512
#define TW_ROWS 4
#define TW_EACH_ROW(...) { { enum { way = 0 }; __VA_ARGS__ } { enum { way = 1 }; __VA_ARGS__ } { enum { way = 2 }; __VA_ARGS__ } { enum { way = 3 }; __VA_ARGS__ } }
#define TW_EACH_LANE(...) { { enum { lane = 0 }; __VA_ARGS__ } { enum { lane = 1 }; __VA_ARGS__ } { enum { lane = 2 }; __VA_ARGS__ } { enum { lane = 3 }; __VA_ARGS__ } { enum { lane = 4 }; __VA_ARGS__ } { enum { lane = 5 }; __VA_ARGS__ } { enum { lane = 6 }; __VA_ARGS__ } { enum { lane = 7 }; __VA_ARGS__ } { enum { lane = 8 }; __VA_ARGS__ } { enum { lane = 9 }; __VA_ARGS__ } { enum { lane = 10 }; __VA_ARGS__ } { enum { lane = 11 }; __VA_ARGS__ } { enum { lane = 12 }; __VA_ARGS__ } { enum { lane = 13 }; __VA_ARGS__ } { enum { lane = 14 }; __VA_ARGS__ } { enum { lane = 15 }; __VA_ARGS__ } }
#define TW_LANES 16
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
typedef float tw_vec __attribute__((vector_size(64)));
typedef int tw_int __attribute__((vector_size(64)));
typedef float tw_vec_unaligned __attribute__((vector_size(64), aligned(4), may_alias));
typedef int tw_int_unaligned __attribute__((vector_size(64), aligned(4), may_alias));
TW_INLINE float tw_read(const float *p) { return *p; }
TW_INLINE void tw_prefetch(const float *p) { __builtin_prefetch(p); }
TW_INLINE tw_vec tw_load(const float *p) { return *(const tw_vec_unaligned *)p; }
TW_INLINE void tw_store(float *p, tw_vec v) { *(tw_vec_unaligned *)p = v; }
TW_INLINE long tw_whole_lines(const float *p, long stride) {
  return (((unsigned long)p | (unsigned long)stride * sizeof(float)) & 63) == 0;
}
TW_INLINE tw_vec tw_splat(float x) { return x - (tw_vec){0}; }
TW_INLINE tw_int tw_splat_int(int x) { return x - (tw_int){0}; }
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
TW_INLINE tw_vec tw_larger(tw_vec a, tw_vec b) {
  tw_vec result;
  __asm__("vmaxps %2, %1, %0" : "=v"(result) : "v"(a), "v"(b));
  return result;
}
TW_INLINE tw_vec tw_smaller(tw_vec a, tw_vec b) {
  tw_vec result;
  __asm__("vminps %2, %1, %0" : "=v"(result) : "v"(a), "v"(b));
  return result;
}
TW_INLINE tw_vec tw_size_below(tw_vec limit, tw_vec v) {
  tw_vec result;
  __asm__("vrangeps $10, %2, %1, %0" : "=v"(result) : "v"(limit), "v"(v));
  return result;
}
TW_INLINE tw_vec tw_nan_below(tw_vec v, tw_vec x) {
  __asm__("vfixupimmps $0, %2, %1, %0" : "+v"(v) : "v"(x), "v"(tw_splat_int(0x30000)));
  return v;
}
TW_INLINE tw_vec tw_sqrt(tw_vec v) {
  tw_vec result;
  __asm__("vsqrtps %1, %0" : "=v"(result) : "v"(v));
  return result;
}
TW_INLINE tw_vec tw_floor(tw_vec v) {
  tw_vec result;
  __asm__("vrndscaleps $9, %1, %0" : "=v"(result) : "v"(v));
  return result;
}
TW_INLINE tw_vec tw_round(tw_vec v) {
  tw_vec result;
  __asm__("vrndscaleps $8, %1, %0" : "=v"(result) : "v"(v));
  return result;
}
TW_INLINE tw_vec tw_scale(tw_vec p, tw_vec n) {
  tw_vec result;
  __asm__("vscalefps %2, %1, %0" : "=v"(result) : "v"(p), "v"(n));
  return result;
}
TW_INLINE tw_vec tw_scale_add(tw_vec p, tw_vec n, tw_vec c) { return tw_scale(p, n) + c; }
TW_INLINE tw_vec tw_rest(tw_vec a, tw_vec b, tw_vec ab) {
  __asm__("vfmsub213ps %2, %1, %0" : "+v"(a) : "v"(b), "v"(ab));
  return a;
}
TW_INLINE tw_vec tw_inverse(tw_vec d) {
  tw_vec guess;
  __asm__("vrcp14ps %1, %0" : "=v"(guess) : "v"(d));
  return tw_multiply_add(guess, tw_multiply_add(-d, guess, tw_splat(1.0f)), guess);
}
TW_INLINE tw_vec tw_fraction(tw_vec v) {
  tw_vec result;
  __asm__("vreduceps $9, %1, %0" : "=v"(result) : "v"(v));
  return result;
}
TW_INLINE tw_vec tw_load_strided(const float *p, long stride, long n) {
  if (n == TW_LANES)
    return (tw_vec){p[0], p[1 * stride], p[2 * stride], p[3 * stride], p[4 * stride], p[5 * stride], p[6 * stride], p[7 * stride], p[8 * stride], p[9 * stride], p[10 * stride], p[11 * stride], p[12 * stride], p[13 * stride], p[14 * stride], p[15 * stride]};
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
TW_INLINE tw_vec tw_iota(void) { return (tw_vec){0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f, 8.0f, 9.0f, 10.0f, 11.0f, 12.0f, 13.0f, 14.0f, 15.0f}; }
TW_INLINE tw_vec tw_first(tw_vec a, tw_vec b, long n) { return tw_where(tw_prefix(n), a, b); }
TW_INLINE tw_vec tw_maximum(tw_vec a, tw_vec b) { return tw_where(tw_not_equal(a, a), a, tw_larger(a, b)); }
TW_INLINE tw_vec tw_minimum(tw_vec a, tw_vec b) { return tw_where(tw_not_equal(a, a), a, tw_smaller(a, b)); }
TW_INLINE tw_vec tw_abs(tw_vec v) { return (tw_vec)((tw_int)v & 0x7fffffff); }
TW_INLINE tw_vec tw_exp(tw_vec x) {
  tw_vec n;
  tw_vec e;
  x = tw_larger(tw_splat(-105.0f), x);
  x = tw_smaller(tw_splat(89.0f), x);
  n = tw_round(x * 1.44269504f);
  x = tw_multiply_add(n, tw_splat(-0.693145752f), x);
  x = tw_multiply_add(n, tw_splat(-1.42860677e-06f), x);
  e = tw_multiply_add(x, tw_splat(0.00828949921f), tw_splat(0.0418981761f));
  e = tw_multiply_add(e, x, tw_splat(0.166676506f));
  e = tw_multiply_add(e, x, tw_splat(0.499991477f));
  e = tw_multiply_add(e, x, tw_splat(0.999999702f));
  e = tw_multiply_add(e, x, tw_splat(1.0f));
  x = tw_scale(e, n);
  return x;
}
TW_INLINE void tw_exp_rows(tw_vec *x) {
  tw_vec n[TW_ROWS];
  tw_vec e[TW_ROWS];
  TW_EACH_ROW(x[way] = tw_larger(tw_splat(-105.0f), x[way]);)
  TW_EACH_ROW(x[way] = tw_smaller(tw_splat(89.0f), x[way]);)
  TW_EACH_ROW(n[way] = tw_round(x[way] * 1.44269504f);)
  TW_EACH_ROW(x[way] = tw_multiply_add(n[way], tw_splat(-0.693145752f), x[way]);)
  TW_EACH_ROW(x[way] = tw_multiply_add(n[way], tw_splat(-1.42860677e-06f), x[way]);)
  TW_EACH_ROW(e[way] = tw_multiply_add(x[way], tw_splat(0.00828949921f), tw_splat(0.0418981761f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], x[way], tw_splat(0.166676506f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], x[way], tw_splat(0.499991477f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], x[way], tw_splat(0.999999702f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], x[way], tw_splat(1.0f));)
  TW_EACH_ROW(x[way] = tw_scale(e[way], n[way]);)
}
TW_INLINE tw_vec tw_log(tw_vec x) {
  tw_vec n;
  tw_vec f;
  tw_vec e;
  n = tw_where(tw_less(x, tw_splat(0x1p-126f)), tw_splat(-25.0f), tw_splat(0.0f));
  f = tw_where(tw_less(x, tw_splat(0x1p-126f)), x * 0x1p25f, x);
  n = n + __builtin_convertvector(((tw_int)f - 0x3f3504f3) >> 23, tw_vec);
  f = (tw_vec)((((tw_int)f - 0x3f3504f3) & 0x7fffff) + 0x3f3504f3) - 1.0f;
  e = tw_multiply_add(f, tw_splat(0.087015282f), tw_splat(-0.14269144f));
  e = tw_multiply_add(e, f, tw_splat(0.14915132f));
  e = tw_multiply_add(e, f, tw_splat(-0.1657741f));
  e = tw_multiply_add(e, f, tw_splat(0.19963017f));
  e = tw_multiply_add(e, f, tw_splat(-0.25001341f));
  e = tw_multiply_add(e, f, tw_splat(0.33333912f));
  e = tw_multiply_add(e, f, tw_splat(-0.5f));
  e = tw_multiply_add(e, f * f, n * 1.42860677e-06f);
  e = tw_multiply_add(n, tw_splat(0.693145752f), e + f);
  f = tw_where(tw_equal(x, tw_splat(0.0f)), tw_splat(-__builtin_inff()), tw_splat(__builtin_nanf("")));
  f = tw_where(tw_greater(x, tw_splat(0.0f)), e, f);
  x = tw_where(tw_equal(x, tw_splat(__builtin_inff())), x, f);
  return x;
}
TW_INLINE void tw_log_rows(tw_vec *x) {
  tw_vec n[TW_ROWS];
  tw_vec f[TW_ROWS];
  tw_vec e[TW_ROWS];
  TW_EACH_ROW(n[way] = tw_where(tw_less(x[way], tw_splat(0x1p-126f)), tw_splat(-25.0f), tw_splat(0.0f));)
  TW_EACH_ROW(f[way] = tw_where(tw_less(x[way], tw_splat(0x1p-126f)), x[way] * 0x1p25f, x[way]);)
  TW_EACH_ROW(n[way] = n[way] + __builtin_convertvector(((tw_int)f[way] - 0x3f3504f3) >> 23, tw_vec);)
  TW_EACH_ROW(f[way] = (tw_vec)((((tw_int)f[way] - 0x3f3504f3) & 0x7fffff) + 0x3f3504f3) - 1.0f;)
  TW_EACH_ROW(e[way] = tw_multiply_add(f[way], tw_splat(0.087015282f), tw_splat(-0.14269144f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], f[way], tw_splat(0.14915132f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], f[way], tw_splat(-0.1657741f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], f[way], tw_splat(0.19963017f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], f[way], tw_splat(-0.25001341f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], f[way], tw_splat(0.33333912f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], f[way], tw_splat(-0.5f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], f[way] * f[way], n[way] * 1.42860677e-06f);)
  TW_EACH_ROW(e[way] = tw_multiply_add(n[way], tw_splat(0.693145752f), e[way] + f[way]);)
  TW_EACH_ROW(f[way] = tw_where(tw_equal(x[way], tw_splat(0.0f)), tw_splat(-__builtin_inff()), tw_splat(__builtin_nanf("")));)
  TW_EACH_ROW(f[way] = tw_where(tw_greater(x[way], tw_splat(0.0f)), e[way], f[way]);)
  TW_EACH_ROW(x[way] = tw_where(tw_equal(x[way], tw_splat(__builtin_inff())), x[way], f[way]);)
}
TW_INLINE tw_vec tw_tanh(tw_vec x) {
  tw_vec w;
  tw_vec p;
  tw_vec q;
  w = tw_smaller(tw_splat(81.3604f), x * x);
  p = tw_multiply_add(w, tw_splat(1.3319071e-08f), tw_splat(2.058348e-05f));
  p = tw_multiply_add(p, w, tw_splat(0.0034940345f));
  p = tw_multiply_add(p, w, tw_splat(0.13379718f));
  p = tw_multiply_add(p, w, tw_splat(1.0f));
  q = tw_multiply_add(w, tw_splat(7.762019e-07f), tw_splat(0.00032830927f));
  q = tw_multiply_add(q, w, tw_splat(0.025871073f));
  q = tw_multiply_add(q, w, tw_splat(0.46713033f));
  q = tw_multiply_add(q, w, tw_splat(1.0f));
  x = x * (p * tw_inverse(q));
  x = tw_smaller(tw_splat(1.0f), tw_larger(tw_splat(-1.0f), x));
  return x;
}
TW_INLINE void tw_tanh_rows(tw_vec *x) {
  tw_vec w[TW_ROWS];
  tw_vec p[TW_ROWS];
  tw_vec q[TW_ROWS];
  TW_EACH_ROW(w[way] = tw_smaller(tw_splat(81.3604f), x[way] * x[way]);)
  TW_EACH_ROW(p[way] = tw_multiply_add(w[way], tw_splat(1.3319071e-08f), tw_splat(2.058348e-05f));)
  TW_EACH_ROW(p[way] = tw_multiply_add(p[way], w[way], tw_splat(0.0034940345f));)
  TW_EACH_ROW(p[way] = tw_multiply_add(p[way], w[way], tw_splat(0.13379718f));)
  TW_EACH_ROW(p[way] = tw_multiply_add(p[way], w[way], tw_splat(1.0f));)
  TW_EACH_ROW(q[way] = tw_multiply_add(w[way], tw_splat(7.762019e-07f), tw_splat(0.00032830927f));)
  TW_EACH_ROW(q[way] = tw_multiply_add(q[way], w[way], tw_splat(0.025871073f));)
  TW_EACH_ROW(q[way] = tw_multiply_add(q[way], w[way], tw_splat(0.46713033f));)
  TW_EACH_ROW(q[way] = tw_multiply_add(q[way], w[way], tw_splat(1.0f));)
  TW_EACH_ROW(x[way] = x[way] * (p[way] * tw_inverse(q[way]));)
  TW_EACH_ROW(x[way] = tw_smaller(tw_splat(1.0f), tw_larger(tw_splat(-1.0f), x[way]));)
}
TW_INLINE tw_vec tw_erf(tw_vec x) {
  tw_vec w;
  tw_vec p;
  tw_vec q;
  w = tw_smaller(tw_splat(15.4449f), x * x);
  p = tw_multiply_add(w, tw_splat(1.9815332e-08f), tw_splat(-1.955383e-06f));
  p = tw_multiply_add(p, w, tw_splat(0.00014249458f));
  p = tw_multiply_add(p, w, tw_splat(0.0037368066f));
  p = tw_multiply_add(p, w, tw_splat(0.050689265f));
  p = tw_multiply_add(p, w, tw_splat(0.20080667f));
  p = tw_multiply_add(p, w, tw_splat(1.1283791f));
  q = tw_multiply_add(w, tw_splat(0.00096391302f), tw_splat(0.014426954f));
  q = tw_multiply_add(q, w, tw_splat(0.11536197f));
  q = tw_multiply_add(q, w, tw_splat(0.51129188f));
  q = tw_multiply_add(q, w, tw_splat(1.0f));
  x = x * (p * tw_inverse(q));
  x = tw_smaller(tw_splat(1.0f), tw_larger(tw_splat(-1.0f), x));
  return x;
}
TW_INLINE void tw_erf_rows(tw_vec *x) {
  tw_vec w[TW_ROWS];
  tw_vec p[TW_ROWS];
  tw_vec q[TW_ROWS];
  TW_EACH_ROW(w[way] = tw_smaller(tw_splat(15.4449f), x[way] * x[way]);)
  TW_EACH_ROW(p[way] = tw_multiply_add(w[way], tw_splat(1.9815332e-08f), tw_splat(-1.955383e-06f));)
  TW_EACH_ROW(p[way] = tw_multiply_add(p[way], w[way], tw_splat(0.00014249458f));)
  TW_EACH_ROW(p[way] = tw_multiply_add(p[way], w[way], tw_splat(0.0037368066f));)
  TW_EACH_ROW(p[way] = tw_multiply_add(p[way], w[way], tw_splat(0.050689265f));)
  TW_EACH_ROW(p[way] = tw_multiply_add(p[way], w[way], tw_splat(0.20080667f));)
  TW_EACH_ROW(p[way] = tw_multiply_add(p[way], w[way], tw_splat(1.1283791f));)
  TW_EACH_ROW(q[way] = tw_multiply_add(w[way], tw_splat(0.00096391302f), tw_splat(0.014426954f));)
  TW_EACH_ROW(q[way] = tw_multiply_add(q[way], w[way], tw_splat(0.11536197f));)
  TW_EACH_ROW(q[way] = tw_multiply_add(q[way], w[way], tw_splat(0.51129188f));)
  TW_EACH_ROW(q[way] = tw_multiply_add(q[way], w[way], tw_splat(1.0f));)
  TW_EACH_ROW(x[way] = x[way] * (p[way] * tw_inverse(q[way]));)
  TW_EACH_ROW(x[way] = tw_smaller(tw_splat(1.0f), tw_larger(tw_splat(-1.0f), x[way]));)
}
TW_INLINE tw_vec tw_sigmoid(tw_vec x) {
  tw_vec r;
  tw_vec n;
  tw_vec e;
  r = tw_smaller(tw_splat(112.0f), tw_abs(x));
  n = tw_round(r * -1.44269504f);
  r = tw_multiply_add(n, tw_splat(0.693145752f), r);
  r = tw_multiply_add(n, tw_splat(1.42860677e-06f), r);
  e = tw_multiply_add(r, tw_splat(-0.00828949921f), tw_splat(0.0418981761f));
  e = tw_multiply_add(e, r, tw_splat(-0.166676506f));
  e = tw_multiply_add(e, r, tw_splat(0.499991477f));
  e = tw_multiply_add(e, r, tw_splat(-0.999999702f));
  e = tw_multiply_add(e, r, tw_splat(1.0f));
  r = tw_inverse(tw_scale_add(e, n, tw_splat(1.0f)));
  x = tw_where(tw_less(x, tw_splat(0.0f)), tw_scale(r * e, n), r);
  return x;
}
TW_INLINE void tw_sigmoid_rows(tw_vec *x) {
  tw_vec r[TW_ROWS];
  tw_vec n[TW_ROWS];
  tw_vec e[TW_ROWS];
  TW_EACH_ROW(r[way] = tw_smaller(tw_splat(112.0f), tw_abs(x[way]));)
  TW_EACH_ROW(n[way] = tw_round(r[way] * -1.44269504f);)
  TW_EACH_ROW(r[way] = tw_multiply_add(n[way], tw_splat(0.693145752f), r[way]);)
  TW_EACH_ROW(r[way] = tw_multiply_add(n[way], tw_splat(1.42860677e-06f), r[way]);)
  TW_EACH_ROW(e[way] = tw_multiply_add(r[way], tw_splat(-0.00828949921f), tw_splat(0.0418981761f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], r[way], tw_splat(-0.166676506f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], r[way], tw_splat(0.499991477f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], r[way], tw_splat(-0.999999702f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], r[way], tw_splat(1.0f));)
  TW_EACH_ROW(r[way] = tw_inverse(tw_scale_add(e[way], n[way], tw_splat(1.0f)));)
  TW_EACH_ROW(x[way] = tw_where(tw_less(x[way], tw_splat(0.0f)), tw_scale(r[way] * e[way], n[way]), r[way]);)
}
TW_INLINE tw_vec tw_silu(tw_vec x) {
  tw_vec r;
  tw_vec n;
  tw_vec e;
  tw_vec z;
  r = tw_size_below(tw_splat(112.0f), x);
  n = tw_round(r * -1.44269504f);
  r = tw_multiply_add(n, tw_splat(0.693145752f), r);
  r = tw_multiply_add(n, tw_splat(1.42860677e-06f), r);
  e = tw_multiply_add(r, tw_splat(-0.00828949921f), tw_splat(0.0418981761f));
  e = tw_multiply_add(e, r, tw_splat(-0.166676506f));
  e = tw_multiply_add(e, r, tw_splat(0.499991477f));
  e = tw_multiply_add(e, r, tw_splat(-0.999999702f));
  e = tw_multiply_add(e, r, tw_splat(1.0f));
  z = tw_nan_below(tw_larger(tw_splat(-112.0f), x), x);
  r = tw_inverse(tw_scale_add(e, n, tw_splat(1.0f)));
  x = tw_where(tw_less(x, tw_splat(0.0f)), tw_scale(z * r * e, n), z * r);
  return x;
}
TW_INLINE void tw_silu_rows(tw_vec *x) {
  tw_vec r[TW_ROWS];
  tw_vec n[TW_ROWS];
  tw_vec e[TW_ROWS];
  tw_vec z[TW_ROWS];
  TW_EACH_ROW(r[way] = tw_size_below(tw_splat(112.0f), x[way]);)
  TW_EACH_ROW(n[way] = tw_round(r[way] * -1.44269504f);)
  TW_EACH_ROW(r[way] = tw_multiply_add(n[way], tw_splat(0.693145752f), r[way]);)
  TW_EACH_ROW(r[way] = tw_multiply_add(n[way], tw_splat(1.42860677e-06f), r[way]);)
  TW_EACH_ROW(e[way] = tw_multiply_add(r[way], tw_splat(-0.00828949921f), tw_splat(0.0418981761f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], r[way], tw_splat(-0.166676506f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], r[way], tw_splat(0.499991477f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], r[way], tw_splat(-0.999999702f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], r[way], tw_splat(1.0f));)
  TW_EACH_ROW(z[way] = tw_nan_below(tw_larger(tw_splat(-112.0f), x[way]), x[way]);)
  TW_EACH_ROW(r[way] = tw_inverse(tw_scale_add(e[way], n[way], tw_splat(1.0f)));)
  TW_EACH_ROW(x[way] = tw_where(tw_less(x[way], tw_splat(0.0f)), tw_scale(z[way] * r[way] * e[way], n[way]), z[way] * r[way]);)
}
TW_INLINE tw_vec tw_gelu(tw_vec x) {
  tw_vec a;
  tw_vec w;
  tw_vec r;
  tw_vec n;
  tw_vec e;
  tw_vec p;
  tw_vec q;
  a = tw_size_below(tw_splat(16.0f), x);
  w = a * a;
  r = tw_rest(a, a, w);
  n = tw_round(w * -0.721347520f);
  w = tw_multiply_add(n, tw_splat(1.386291504f), w);
  r = tw_multiply_add(n, tw_splat(2.85721354e-06f), r);
  w = w + r;
  e = tw_multiply_add(w, tw_splat(-0.00025904685f), tw_splat(0.00261863601f));
  e = tw_multiply_add(e, w, tw_splat(-0.0208345633f));
  e = tw_multiply_add(e, w, tw_splat(0.124997869f));
  e = tw_multiply_add(e, w, tw_splat(-0.499999851f));
  e = tw_multiply_add(e, w, tw_splat(1.0f));
  p = tw_multiply_add(a, tw_splat(-1.9296731e-07f), tw_splat(-0.014738515f));
  p = tw_multiply_add(p, a, tw_splat(-0.1093059f));
  p = tw_multiply_add(p, a, tw_splat(-0.3430792f));
  p = tw_multiply_add(p, a, tw_splat(-0.49999992f));
  q = tw_multiply_add(a, tw_splat(0.036967982f), tw_splat(0.27348904f));
  q = tw_multiply_add(q, a, tw_splat(0.90277069f));
  q = tw_multiply_add(q, a, tw_splat(1.4840347f));
  q = tw_multiply_add(q, a, tw_splat(1.0f));
  e = e * (p * tw_inverse(q));
  x = tw_scale_add(a * e, n, tw_nan_below(tw_larger(tw_splat(-0.0f), x), x));
  return x;
}
TW_INLINE void tw_gelu_rows(tw_vec *x) {
  tw_vec a[TW_ROWS];
  tw_vec w[TW_ROWS];
  tw_vec r[TW_ROWS];
  tw_vec n[TW_ROWS];
  tw_vec e[TW_ROWS];
  tw_vec p[TW_ROWS];
  tw_vec q[TW_ROWS];
  TW_EACH_ROW(a[way] = tw_size_below(tw_splat(16.0f), x[way]);)
  TW_EACH_ROW(w[way] = a[way] * a[way];)
  TW_EACH_ROW(r[way] = tw_rest(a[way], a[way], w[way]);)
  TW_EACH_ROW(n[way] = tw_round(w[way] * -0.721347520f);)
  TW_EACH_ROW(w[way] = tw_multiply_add(n[way], tw_splat(1.386291504f), w[way]);)
  TW_EACH_ROW(r[way] = tw_multiply_add(n[way], tw_splat(2.85721354e-06f), r[way]);)
  TW_EACH_ROW(w[way] = w[way] + r[way];)
  TW_EACH_ROW(e[way] = tw_multiply_add(w[way], tw_splat(-0.00025904685f), tw_splat(0.00261863601f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], w[way], tw_splat(-0.0208345633f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], w[way], tw_splat(0.124997869f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], w[way], tw_splat(-0.499999851f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], w[way], tw_splat(1.0f));)
  TW_EACH_ROW(p[way] = tw_multiply_add(a[way], tw_splat(-1.9296731e-07f), tw_splat(-0.014738515f));)
  TW_EACH_ROW(p[way] = tw_multiply_add(p[way], a[way], tw_splat(-0.1093059f));)
  TW_EACH_ROW(p[way] = tw_multiply_add(p[way], a[way], tw_splat(-0.3430792f));)
  TW_EACH_ROW(p[way] = tw_multiply_add(p[way], a[way], tw_splat(-0.49999992f));)
  TW_EACH_ROW(q[way] = tw_multiply_add(a[way], tw_splat(0.036967982f), tw_splat(0.27348904f));)
  TW_EACH_ROW(q[way] = tw_multiply_add(q[way], a[way], tw_splat(0.90277069f));)
  TW_EACH_ROW(q[way] = tw_multiply_add(q[way], a[way], tw_splat(1.4840347f));)
  TW_EACH_ROW(q[way] = tw_multiply_add(q[way], a[way], tw_splat(1.0f));)
  TW_EACH_ROW(e[way] = e[way] * (p[way] * tw_inverse(q[way]));)
  TW_EACH_ROW(x[way] = tw_scale_add(a[way] * e[way], n[way], tw_nan_below(tw_larger(tw_splat(-0.0f), x[way]), x[way]));)
}
TW_INLINE tw_vec tw_gelu_tanh(tw_vec x) {
  tw_vec a;
  tw_vec w;
  tw_vec v;
  tw_vec r;
  tw_vec p;
  tw_vec n;
  tw_vec e;
  tw_vec z;
  a = tw_size_below(tw_splat(11.0f), x);
  w = a * a;
  v = w + 22.375f;
  r = (w - (v - 22.375f)) + (tw_rest(a, a, w) - 0.0111399978f);
  p = a * v;
  r = tw_multiply_add(a, r, tw_rest(a, v, p));
  n = tw_round(p * -0.102943239f);
  p = tw_multiply_add(n, tw_splat(9.7138671875f), p);
  r = tw_multiply_add(n, tw_splat(0.000223840524f), r);
  p = p + r;
  e = tw_multiply_add(p, tw_splat(-1.53336221e-08f), tw_splat(1.0861462e-06f));
  e = tw_multiply_add(e, p, tw_splat(-6.05541991e-05f));
  e = tw_multiply_add(e, p, tw_splat(0.00254571151f));
  e = tw_multiply_add(e, p, tw_splat(-0.071354795f));
  e = tw_multiply_add(e, p, tw_splat(1.0f));
  z = tw_nan_below(tw_larger(tw_splat(-11.0f), x), x);
  r = tw_inverse(tw_scale_add(e, n, tw_splat(1.0f)));
  x = tw_where(tw_less(x, tw_splat(0.0f)), tw_scale(z * r * e, n), z * r);
  return x;
}
TW_INLINE void tw_gelu_tanh_rows(tw_vec *x) {
  tw_vec a[TW_ROWS];
  tw_vec w[TW_ROWS];
  tw_vec v[TW_ROWS];
  tw_vec r[TW_ROWS];
  tw_vec p[TW_ROWS];
  tw_vec n[TW_ROWS];
  tw_vec e[TW_ROWS];
  tw_vec z[TW_ROWS];
  TW_EACH_ROW(a[way] = tw_size_below(tw_splat(11.0f), x[way]);)
  TW_EACH_ROW(w[way] = a[way] * a[way];)
  TW_EACH_ROW(v[way] = w[way] + 22.375f;)
  TW_EACH_ROW(r[way] = (w[way] - (v[way] - 22.375f)) + (tw_rest(a[way], a[way], w[way]) - 0.0111399978f);)
  TW_EACH_ROW(p[way] = a[way] * v[way];)
  TW_EACH_ROW(r[way] = tw_multiply_add(a[way], r[way], tw_rest(a[way], v[way], p[way]));)
  TW_EACH_ROW(n[way] = tw_round(p[way] * -0.102943239f);)
  TW_EACH_ROW(p[way] = tw_multiply_add(n[way], tw_splat(9.7138671875f), p[way]);)
  TW_EACH_ROW(r[way] = tw_multiply_add(n[way], tw_splat(0.000223840524f), r[way]);)
  TW_EACH_ROW(p[way] = p[way] + r[way];)
  TW_EACH_ROW(e[way] = tw_multiply_add(p[way], tw_splat(-1.53336221e-08f), tw_splat(1.0861462e-06f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], p[way], tw_splat(-6.05541991e-05f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], p[way], tw_splat(0.00254571151f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], p[way], tw_splat(-0.071354795f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], p[way], tw_splat(1.0f));)
  TW_EACH_ROW(z[way] = tw_nan_below(tw_larger(tw_splat(-11.0f), x[way]), x[way]);)
  TW_EACH_ROW(r[way] = tw_inverse(tw_scale_add(e[way], n[way], tw_splat(1.0f)));)
  TW_EACH_ROW(x[way] = tw_where(tw_less(x[way], tw_splat(0.0f)), tw_scale(z[way] * r[way] * e[way], n[way]), z[way] * r[way]);)
}
TW_INLINE tw_vec tw_exp2_down(tw_vec x) {
  tw_vec n;
  tw_vec e;
  n = tw_fraction(x);
  e = tw_multiply_add(n, tw_splat(0.00186712993f), tw_splat(0.00901703071f));
  e = tw_multiply_add(e, n, tw_splat(0.0557999052f));
  e = tw_multiply_add(e, n, tw_splat(0.240164489f));
  e = tw_multiply_add(e, n, tw_splat(0.693151295f));
  e = tw_multiply_add(e, n, tw_splat(1.0f));
  x = tw_scale(e, x);
  return x;
}
TW_INLINE void tw_exp2_down_rows(tw_vec *x) {
  tw_vec n[TW_ROWS];
  tw_vec e[TW_ROWS];
  TW_EACH_ROW(n[way] = tw_fraction(x[way]);)
  TW_EACH_ROW(e[way] = tw_multiply_add(n[way], tw_splat(0.00186712993f), tw_splat(0.00901703071f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], n[way], tw_splat(0.0557999052f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], n[way], tw_splat(0.240164489f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], n[way], tw_splat(0.693151295f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], n[way], tw_splat(1.0f));)
  TW_EACH_ROW(x[way] = tw_scale(e[way], x[way]);)
}
TW_INLINE float tw_reduce_add(tw_vec v) {
  tw_vec upper;
  upper = TW_SHUFFLE(v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  v = v + upper;
  upper = TW_SHUFFLE(v, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3);
  v = v + upper;
  upper = TW_SHUFFLE(v, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1);
  v = v + upper;
  upper = TW_SHUFFLE(v, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0);
  v = v + upper;
  return v[0];
}
TW_INLINE void tw_reduce_add_rows(tw_vec *all) {
  tw_vec v;
  tw_vec upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  all[0] = v + upper;
  v = TW_SHUFFLE_TWO(all[2], all[3], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  upper = TW_SHUFFLE_TWO(all[2], all[3], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  all[1] = v + upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  all[0] = v + upper;
  v = all[0];
  upper = TW_SHUFFLE(v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  v = v + upper;
  upper = TW_SHUFFLE(v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  v = v + upper;
  all[0] = TW_SHUFFLE(v, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  all[1] = TW_SHUFFLE(v, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4);
  all[2] = TW_SHUFFLE(v, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8);
  all[3] = TW_SHUFFLE(v, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12);
}
TW_INLINE float tw_reduce_multiply(tw_vec v) {
  tw_vec upper;
  upper = TW_SHUFFLE(v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  v = v * upper;
  upper = TW_SHUFFLE(v, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3);
  v = v * upper;
  upper = TW_SHUFFLE(v, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1);
  v = v * upper;
  upper = TW_SHUFFLE(v, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0);
  v = v * upper;
  return v[0];
}
TW_INLINE void tw_reduce_multiply_rows(tw_vec *all) {
  tw_vec v;
  tw_vec upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  all[0] = v * upper;
  v = TW_SHUFFLE_TWO(all[2], all[3], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  upper = TW_SHUFFLE_TWO(all[2], all[3], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  all[1] = v * upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  all[0] = v * upper;
  v = all[0];
  upper = TW_SHUFFLE(v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  v = v * upper;
  upper = TW_SHUFFLE(v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  v = v * upper;
  all[0] = TW_SHUFFLE(v, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  all[1] = TW_SHUFFLE(v, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4);
  all[2] = TW_SHUFFLE(v, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8);
  all[3] = TW_SHUFFLE(v, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12);
}
TW_INLINE float tw_reduce_maximum(tw_vec v) {
  tw_vec upper;
  upper = TW_SHUFFLE(v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  v = tw_maximum(v, upper);
  upper = TW_SHUFFLE(v, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3);
  v = tw_maximum(v, upper);
  upper = TW_SHUFFLE(v, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1);
  v = tw_maximum(v, upper);
  upper = TW_SHUFFLE(v, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0);
  v = tw_maximum(v, upper);
  return v[0];
}
TW_INLINE void tw_reduce_maximum_rows(tw_vec *all) {
  tw_vec v;
  tw_vec upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  all[0] = tw_maximum(v, upper);
  v = TW_SHUFFLE_TWO(all[2], all[3], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  upper = TW_SHUFFLE_TWO(all[2], all[3], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  all[1] = tw_maximum(v, upper);
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  all[0] = tw_maximum(v, upper);
  v = all[0];
  upper = TW_SHUFFLE(v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  v = tw_maximum(v, upper);
  upper = TW_SHUFFLE(v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  v = tw_maximum(v, upper);
  all[0] = TW_SHUFFLE(v, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  all[1] = TW_SHUFFLE(v, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4);
  all[2] = TW_SHUFFLE(v, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8);
  all[3] = TW_SHUFFLE(v, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12);
}
TW_INLINE float tw_reduce_minimum(tw_vec v) {
  tw_vec upper;
  upper = TW_SHUFFLE(v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  v = tw_minimum(v, upper);
  upper = TW_SHUFFLE(v, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3);
  v = tw_minimum(v, upper);
  upper = TW_SHUFFLE(v, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1);
  v = tw_minimum(v, upper);
  upper = TW_SHUFFLE(v, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0);
  v = tw_minimum(v, upper);
  return v[0];
}
TW_INLINE void tw_reduce_minimum_rows(tw_vec *all) {
  tw_vec v;
  tw_vec upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  all[0] = tw_minimum(v, upper);
  v = TW_SHUFFLE_TWO(all[2], all[3], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  upper = TW_SHUFFLE_TWO(all[2], all[3], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  all[1] = tw_minimum(v, upper);
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  all[0] = tw_minimum(v, upper);
  v = all[0];
  upper = TW_SHUFFLE(v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  v = tw_minimum(v, upper);
  upper = TW_SHUFFLE(v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  v = tw_minimum(v, upper);
  all[0] = TW_SHUFFLE(v, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  all[1] = TW_SHUFFLE(v, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4);
  all[2] = TW_SHUFFLE(v, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8);
  all[3] = TW_SHUFFLE(v, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12);
}
TW_INLINE float tw_reduce_larger(tw_vec v) {
  tw_vec upper;
  upper = TW_SHUFFLE(v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  v = tw_larger(v, upper);
  upper = TW_SHUFFLE(v, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3);
  v = tw_larger(v, upper);
  upper = TW_SHUFFLE(v, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1);
  v = tw_larger(v, upper);
  upper = TW_SHUFFLE(v, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0);
  v = tw_larger(v, upper);
  return v[0];
}
TW_INLINE void tw_reduce_larger_rows(tw_vec *all) {
  tw_vec v;
  tw_vec upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  all[0] = tw_larger(v, upper);
  v = TW_SHUFFLE_TWO(all[2], all[3], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  upper = TW_SHUFFLE_TWO(all[2], all[3], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  all[1] = tw_larger(v, upper);
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  all[0] = tw_larger(v, upper);
  v = all[0];
  upper = TW_SHUFFLE(v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  v = tw_larger(v, upper);
  upper = TW_SHUFFLE(v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  v = tw_larger(v, upper);
  all[0] = TW_SHUFFLE(v, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  all[1] = TW_SHUFFLE(v, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4);
  all[2] = TW_SHUFFLE(v, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8);
  all[3] = TW_SHUFFLE(v, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12);
}
TW_INLINE float tw_reduce_smaller(tw_vec v) {
  tw_vec upper;
  upper = TW_SHUFFLE(v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  v = tw_smaller(v, upper);
  upper = TW_SHUFFLE(v, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3);
  v = tw_smaller(v, upper);
  upper = TW_SHUFFLE(v, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1);
  v = tw_smaller(v, upper);
  upper = TW_SHUFFLE(v, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0);
  v = tw_smaller(v, upper);
  return v[0];
}
TW_INLINE void tw_reduce_smaller_rows(tw_vec *all) {
  tw_vec v;
  tw_vec upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  all[0] = tw_smaller(v, upper);
  v = TW_SHUFFLE_TWO(all[2], all[3], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
  upper = TW_SHUFFLE_TWO(all[2], all[3], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
  all[1] = tw_smaller(v, upper);
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  all[0] = tw_smaller(v, upper);
  v = all[0];
  upper = TW_SHUFFLE(v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
  v = tw_smaller(v, upper);
  upper = TW_SHUFFLE(v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
  v = tw_smaller(v, upper);
  all[0] = TW_SHUFFLE(v, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  all[1] = TW_SHUFFLE(v, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4);
  all[2] = TW_SHUFFLE(v, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8);
  all[3] = TW_SHUFFLE(v, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12);
}
TW_INLINE void tw_transpose(tw_vec *v) {
  const tw_vec s_0 = TW_SHUFFLE_TWO(v[0], v[1], 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_1 = TW_SHUFFLE_TWO(v[2], v[3], 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_2 = TW_SHUFFLE_TWO(v[0], v[1], 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_3 = TW_SHUFFLE_TWO(v[2], v[3], 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_4 = TW_SHUFFLE_TWO(s_0, s_1, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_5 = TW_SHUFFLE_TWO(s_2, s_3, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_6 = TW_SHUFFLE_TWO(s_0, s_1, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_7 = TW_SHUFFLE_TWO(s_2, s_3, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_8 = TW_SHUFFLE_TWO(v[4], v[5], 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_9 = TW_SHUFFLE_TWO(v[6], v[7], 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_10 = TW_SHUFFLE_TWO(v[4], v[5], 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_11 = TW_SHUFFLE_TWO(v[6], v[7], 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_12 = TW_SHUFFLE_TWO(s_8, s_9, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_13 = TW_SHUFFLE_TWO(s_10, s_11, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_14 = TW_SHUFFLE_TWO(s_8, s_9, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_15 = TW_SHUFFLE_TWO(s_10, s_11, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_16 = TW_SHUFFLE_TWO(v[8], v[9], 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_17 = TW_SHUFFLE_TWO(v[10], v[11], 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_18 = TW_SHUFFLE_TWO(v[8], v[9], 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_19 = TW_SHUFFLE_TWO(v[10], v[11], 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_20 = TW_SHUFFLE_TWO(s_16, s_17, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_21 = TW_SHUFFLE_TWO(s_18, s_19, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_22 = TW_SHUFFLE_TWO(s_16, s_17, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_23 = TW_SHUFFLE_TWO(s_18, s_19, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_24 = TW_SHUFFLE_TWO(v[12], v[13], 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_25 = TW_SHUFFLE_TWO(v[14], v[15], 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_26 = TW_SHUFFLE_TWO(v[12], v[13], 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_27 = TW_SHUFFLE_TWO(v[14], v[15], 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_28 = TW_SHUFFLE_TWO(s_24, s_25, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_29 = TW_SHUFFLE_TWO(s_26, s_27, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
  const tw_vec s_30 = TW_SHUFFLE_TWO(s_24, s_25, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_31 = TW_SHUFFLE_TWO(s_26, s_27, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
  const tw_vec s_32 = TW_SHUFFLE_TWO(s_4, s_12, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_33 = TW_SHUFFLE_TWO(s_20, s_28, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_34 = TW_SHUFFLE_TWO(s_4, s_12, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_35 = TW_SHUFFLE_TWO(s_20, s_28, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_36 = TW_SHUFFLE_TWO(s_32, s_33, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_37 = TW_SHUFFLE_TWO(s_34, s_35, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_38 = TW_SHUFFLE_TWO(s_32, s_33, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_39 = TW_SHUFFLE_TWO(s_34, s_35, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_40 = TW_SHUFFLE_TWO(s_5, s_13, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_41 = TW_SHUFFLE_TWO(s_21, s_29, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_42 = TW_SHUFFLE_TWO(s_5, s_13, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_43 = TW_SHUFFLE_TWO(s_21, s_29, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_44 = TW_SHUFFLE_TWO(s_40, s_41, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_45 = TW_SHUFFLE_TWO(s_42, s_43, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_46 = TW_SHUFFLE_TWO(s_40, s_41, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_47 = TW_SHUFFLE_TWO(s_42, s_43, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_48 = TW_SHUFFLE_TWO(s_6, s_14, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_49 = TW_SHUFFLE_TWO(s_22, s_30, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_50 = TW_SHUFFLE_TWO(s_6, s_14, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_51 = TW_SHUFFLE_TWO(s_22, s_30, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_52 = TW_SHUFFLE_TWO(s_48, s_49, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_53 = TW_SHUFFLE_TWO(s_50, s_51, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_54 = TW_SHUFFLE_TWO(s_48, s_49, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_55 = TW_SHUFFLE_TWO(s_50, s_51, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_56 = TW_SHUFFLE_TWO(s_7, s_15, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_57 = TW_SHUFFLE_TWO(s_23, s_31, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_58 = TW_SHUFFLE_TWO(s_7, s_15, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_59 = TW_SHUFFLE_TWO(s_23, s_31, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_60 = TW_SHUFFLE_TWO(s_56, s_57, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_61 = TW_SHUFFLE_TWO(s_58, s_59, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
  const tw_vec s_62 = TW_SHUFFLE_TWO(s_56, s_57, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  const tw_vec s_63 = TW_SHUFFLE_TWO(s_58, s_59, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  v[0] = s_36;
  v[1] = s_44;
  v[2] = s_52;
  v[3] = s_60;
  v[4] = s_37;
  v[5] = s_45;
  v[6] = s_53;
  v[7] = s_61;
  v[8] = s_38;
  v[9] = s_46;
  v[10] = s_54;
  v[11] = s_62;
  v[12] = s_39;
  v[13] = s_47;
  v[14] = s_55;
  v[15] = s_63;
}
#endif

#ifndef TW_VARIANT
#define TW_VARIANT static __attribute__((noinline))
#endif

TW_VARIANT void matmul_avx512_f32_6x64_6x4(long k, const float *a, long a_row, long a_column,
    const float *b, long b_row, float *c, long c_row, long accumulate) {
  const long a_row_3 = 3 * a_row;
  const float *a_0 = a + 0 * a_row;
  const float *a_4 = a + 4 * a_row;
  tw_vec sum_0_0 = {0}, sum_0_1 = {0}, sum_0_2 = {0}, sum_0_3 = {0};
  tw_vec sum_1_0 = {0}, sum_1_1 = {0}, sum_1_2 = {0}, sum_1_3 = {0};
  tw_vec sum_2_0 = {0}, sum_2_1 = {0}, sum_2_2 = {0}, sum_2_3 = {0};
  tw_vec sum_3_0 = {0}, sum_3_1 = {0}, sum_3_2 = {0}, sum_3_3 = {0};
  tw_vec sum_4_0 = {0}, sum_4_1 = {0}, sum_4_2 = {0}, sum_4_3 = {0};
  tw_vec sum_5_0 = {0}, sum_5_1 = {0}, sum_5_2 = {0}, sum_5_3 = {0};
  const long whole = k - k % 4;
#pragma GCC unroll 4
  for (long p = 0; p < whole; p++) {
    tw_vec b_0 = tw_load(b + 0 * TW_LANES);
    TW_KEEP(b_0);
    tw_vec b_1 = tw_load(b + 1 * TW_LANES);
    TW_KEEP(b_1);
    tw_vec b_2 = tw_load(b + 2 * TW_LANES);
    TW_KEEP(b_2);
    tw_vec b_3 = tw_load(b + 3 * TW_LANES);
    TW_KEEP(b_3);
    tw_vec a_0_p = tw_splat(a_0[0]);
    sum_0_0 = tw_multiply_add(a_0_p, b_0, sum_0_0); sum_0_1 = tw_multiply_add(a_0_p, b_1, sum_0_1); sum_0_2 = tw_multiply_add(a_0_p, b_2, sum_0_2); sum_0_3 = tw_multiply_add(a_0_p, b_3, sum_0_3);
    tw_vec a_1_p = tw_splat(a_0[a_row]);
    sum_1_0 = tw_multiply_add(a_1_p, b_0, sum_1_0); sum_1_1 = tw_multiply_add(a_1_p, b_1, sum_1_1); sum_1_2 = tw_multiply_add(a_1_p, b_2, sum_1_2); sum_1_3 = tw_multiply_add(a_1_p, b_3, sum_1_3);
    tw_vec a_2_p = tw_splat(a_0[2 * a_row]);
    sum_2_0 = tw_multiply_add(a_2_p, b_0, sum_2_0); sum_2_1 = tw_multiply_add(a_2_p, b_1, sum_2_1); sum_2_2 = tw_multiply_add(a_2_p, b_2, sum_2_2); sum_2_3 = tw_multiply_add(a_2_p, b_3, sum_2_3);
    tw_vec a_3_p = tw_splat(a_0[a_row_3]);
    sum_3_0 = tw_multiply_add(a_3_p, b_0, sum_3_0); sum_3_1 = tw_multiply_add(a_3_p, b_1, sum_3_1); sum_3_2 = tw_multiply_add(a_3_p, b_2, sum_3_2); sum_3_3 = tw_multiply_add(a_3_p, b_3, sum_3_3);
    tw_vec a_4_p = tw_splat(a_4[0]);
    sum_4_0 = tw_multiply_add(a_4_p, b_0, sum_4_0); sum_4_1 = tw_multiply_add(a_4_p, b_1, sum_4_1); sum_4_2 = tw_multiply_add(a_4_p, b_2, sum_4_2); sum_4_3 = tw_multiply_add(a_4_p, b_3, sum_4_3);
    tw_vec a_5_p = tw_splat(a_4[a_row]);
    sum_5_0 = tw_multiply_add(a_5_p, b_0, sum_5_0); sum_5_1 = tw_multiply_add(a_5_p, b_1, sum_5_1); sum_5_2 = tw_multiply_add(a_5_p, b_2, sum_5_2); sum_5_3 = tw_multiply_add(a_5_p, b_3, sum_5_3);
    a_0 += a_column;
    TW_OPAQUE(a_0);
    a_4 += a_column;
    TW_OPAQUE(a_4);
    b += b_row;
  }
#pragma GCC unroll 1
  for (long p = whole; p < k; p++) {
    tw_vec b_0 = tw_load(b + 0 * TW_LANES);
    TW_KEEP(b_0);
    tw_vec b_1 = tw_load(b + 1 * TW_LANES);
    TW_KEEP(b_1);
    tw_vec b_2 = tw_load(b + 2 * TW_LANES);
    TW_KEEP(b_2);
    tw_vec b_3 = tw_load(b + 3 * TW_LANES);
    TW_KEEP(b_3);
    tw_vec a_0_p = tw_splat(a_0[0]);
    sum_0_0 = tw_multiply_add(a_0_p, b_0, sum_0_0); sum_0_1 = tw_multiply_add(a_0_p, b_1, sum_0_1); sum_0_2 = tw_multiply_add(a_0_p, b_2, sum_0_2); sum_0_3 = tw_multiply_add(a_0_p, b_3, sum_0_3);
    tw_vec a_1_p = tw_splat(a_0[a_row]);
    sum_1_0 = tw_multiply_add(a_1_p, b_0, sum_1_0); sum_1_1 = tw_multiply_add(a_1_p, b_1, sum_1_1); sum_1_2 = tw_multiply_add(a_1_p, b_2, sum_1_2); sum_1_3 = tw_multiply_add(a_1_p, b_3, sum_1_3);
    tw_vec a_2_p = tw_splat(a_0[2 * a_row]);
    sum_2_0 = tw_multiply_add(a_2_p, b_0, sum_2_0); sum_2_1 = tw_multiply_add(a_2_p, b_1, sum_2_1); sum_2_2 = tw_multiply_add(a_2_p, b_2, sum_2_2); sum_2_3 = tw_multiply_add(a_2_p, b_3, sum_2_3);
    tw_vec a_3_p = tw_splat(a_0[a_row_3]);
    sum_3_0 = tw_multiply_add(a_3_p, b_0, sum_3_0); sum_3_1 = tw_multiply_add(a_3_p, b_1, sum_3_1); sum_3_2 = tw_multiply_add(a_3_p, b_2, sum_3_2); sum_3_3 = tw_multiply_add(a_3_p, b_3, sum_3_3);
    tw_vec a_4_p = tw_splat(a_4[0]);
    sum_4_0 = tw_multiply_add(a_4_p, b_0, sum_4_0); sum_4_1 = tw_multiply_add(a_4_p, b_1, sum_4_1); sum_4_2 = tw_multiply_add(a_4_p, b_2, sum_4_2); sum_4_3 = tw_multiply_add(a_4_p, b_3, sum_4_3);
    tw_vec a_5_p = tw_splat(a_4[a_row]);
    sum_5_0 = tw_multiply_add(a_5_p, b_0, sum_5_0); sum_5_1 = tw_multiply_add(a_5_p, b_1, sum_5_1); sum_5_2 = tw_multiply_add(a_5_p, b_2, sum_5_2); sum_5_3 = tw_multiply_add(a_5_p, b_3, sum_5_3);
    a_0 += a_column;
    TW_OPAQUE(a_0);
    a_4 += a_column;
    TW_OPAQUE(a_4);
    b += b_row;
  }
  if (accumulate) {
    sum_0_0 = tw_load(c + 0 * c_row + 0 * TW_LANES) + sum_0_0;
    sum_0_1 = tw_load(c + 0 * c_row + 1 * TW_LANES) + sum_0_1;
    sum_0_2 = tw_load(c + 0 * c_row + 2 * TW_LANES) + sum_0_2;
    sum_0_3 = tw_load(c + 0 * c_row + 3 * TW_LANES) + sum_0_3;
    sum_1_0 = tw_load(c + 1 * c_row + 0 * TW_LANES) + sum_1_0;
    sum_1_1 = tw_load(c + 1 * c_row + 1 * TW_LANES) + sum_1_1;
    sum_1_2 = tw_load(c + 1 * c_row + 2 * TW_LANES) + sum_1_2;
    sum_1_3 = tw_load(c + 1 * c_row + 3 * TW_LANES) + sum_1_3;
    sum_2_0 = tw_load(c + 2 * c_row + 0 * TW_LANES) + sum_2_0;
    sum_2_1 = tw_load(c + 2 * c_row + 1 * TW_LANES) + sum_2_1;
    sum_2_2 = tw_load(c + 2 * c_row + 2 * TW_LANES) + sum_2_2;
    sum_2_3 = tw_load(c + 2 * c_row + 3 * TW_LANES) + sum_2_3;
    sum_3_0 = tw_load(c + 3 * c_row + 0 * TW_LANES) + sum_3_0;
    sum_3_1 = tw_load(c + 3 * c_row + 1 * TW_LANES) + sum_3_1;
    sum_3_2 = tw_load(c + 3 * c_row + 2 * TW_LANES) + sum_3_2;
    sum_3_3 = tw_load(c + 3 * c_row + 3 * TW_LANES) + sum_3_3;
    sum_4_0 = tw_load(c + 4 * c_row + 0 * TW_LANES) + sum_4_0;
    sum_4_1 = tw_load(c + 4 * c_row + 1 * TW_LANES) + sum_4_1;
    sum_4_2 = tw_load(c + 4 * c_row + 2 * TW_LANES) + sum_4_2;
    sum_4_3 = tw_load(c + 4 * c_row + 3 * TW_LANES) + sum_4_3;
    sum_5_0 = tw_load(c + 5 * c_row + 0 * TW_LANES) + sum_5_0;
    sum_5_1 = tw_load(c + 5 * c_row + 1 * TW_LANES) + sum_5_1;
    sum_5_2 = tw_load(c + 5 * c_row + 2 * TW_LANES) + sum_5_2;
    sum_5_3 = tw_load(c + 5 * c_row + 3 * TW_LANES) + sum_5_3;
  }
  tw_store(c + 0 * c_row + 0 * TW_LANES, sum_0_0);
  tw_store(c + 0 * c_row + 1 * TW_LANES, sum_0_1);
  tw_store(c + 0 * c_row + 2 * TW_LANES, sum_0_2);
  tw_store(c + 0 * c_row + 3 * TW_LANES, sum_0_3);
  tw_store(c + 1 * c_row + 0 * TW_LANES, sum_1_0);
  tw_store(c + 1 * c_row + 1 * TW_LANES, sum_1_1);
  tw_store(c + 1 * c_row + 2 * TW_LANES, sum_1_2);
  tw_store(c + 1 * c_row + 3 * TW_LANES, sum_1_3);
  tw_store(c + 2 * c_row + 0 * TW_LANES, sum_2_0);
  tw_store(c + 2 * c_row + 1 * TW_LANES, sum_2_1);
  tw_store(c + 2 * c_row + 2 * TW_LANES, sum_2_2);
  tw_store(c + 2 * c_row + 3 * TW_LANES, sum_2_3);
  tw_store(c + 3 * c_row + 0 * TW_LANES, sum_3_0);
  tw_store(c + 3 * c_row + 1 * TW_LANES, sum_3_1);
  tw_store(c + 3 * c_row + 2 * TW_LANES, sum_3_2);
  tw_store(c + 3 * c_row + 3 * TW_LANES, sum_3_3);
  tw_store(c + 4 * c_row + 0 * TW_LANES, sum_4_0);
  tw_store(c + 4 * c_row + 1 * TW_LANES, sum_4_1);
  tw_store(c + 4 * c_row + 2 * TW_LANES, sum_4_2);
  tw_store(c + 4 * c_row + 3 * TW_LANES, sum_4_3);
  tw_store(c + 5 * c_row + 0 * TW_LANES, sum_5_0);
  tw_store(c + 5 * c_row + 1 * TW_LANES, sum_5_1);
  tw_store(c + 5 * c_row + 2 * TW_LANES, sum_5_2);
  tw_store(c + 5 * c_row + 3 * TW_LANES, sum_5_3);
}

TW_VARIANT void matmul_avx512_f32_6x64_6x4_edge(long k, const float *a, long a_row, long a_column,
    const float *b, long b_row, float *c, long c_row, long accumulate, long last) {
  const long a_row_3 = 3 * a_row;
  const float *a_0 = a + 0 * a_row;
  const float *a_4 = a + 4 * a_row;
  tw_vec sum_0_0 = {0}, sum_0_1 = {0}, sum_0_2 = {0}, sum_0_3 = {0};
  tw_vec sum_1_0 = {0}, sum_1_1 = {0}, sum_1_2 = {0}, sum_1_3 = {0};
  tw_vec sum_2_0 = {0}, sum_2_1 = {0}, sum_2_2 = {0}, sum_2_3 = {0};
  tw_vec sum_3_0 = {0}, sum_3_1 = {0}, sum_3_2 = {0}, sum_3_3 = {0};
  tw_vec sum_4_0 = {0}, sum_4_1 = {0}, sum_4_2 = {0}, sum_4_3 = {0};
  tw_vec sum_5_0 = {0}, sum_5_1 = {0}, sum_5_2 = {0}, sum_5_3 = {0};
  for (long p = 0; p < k; p++) {
    tw_vec b_0 = tw_load(b + 0 * TW_LANES);
    TW_KEEP(b_0);
    tw_vec b_1 = tw_load(b + 1 * TW_LANES);
    TW_KEEP(b_1);
    tw_vec b_2 = tw_load(b + 2 * TW_LANES);
    TW_KEEP(b_2);
    tw_vec b_3 = tw_load_part(b + 3 * TW_LANES, last);
    TW_KEEP(b_3);
    tw_vec a_0_p = tw_splat(a_0[0]);
    sum_0_0 = tw_multiply_add(a_0_p, b_0, sum_0_0); sum_0_1 = tw_multiply_add(a_0_p, b_1, sum_0_1); sum_0_2 = tw_multiply_add(a_0_p, b_2, sum_0_2); sum_0_3 = tw_multiply_add(a_0_p, b_3, sum_0_3);
    tw_vec a_1_p = tw_splat(a_0[a_row]);
    sum_1_0 = tw_multiply_add(a_1_p, b_0, sum_1_0); sum_1_1 = tw_multiply_add(a_1_p, b_1, sum_1_1); sum_1_2 = tw_multiply_add(a_1_p, b_2, sum_1_2); sum_1_3 = tw_multiply_add(a_1_p, b_3, sum_1_3);
    tw_vec a_2_p = tw_splat(a_0[2 * a_row]);
    sum_2_0 = tw_multiply_add(a_2_p, b_0, sum_2_0); sum_2_1 = tw_multiply_add(a_2_p, b_1, sum_2_1); sum_2_2 = tw_multiply_add(a_2_p, b_2, sum_2_2); sum_2_3 = tw_multiply_add(a_2_p, b_3, sum_2_3);
    tw_vec a_3_p = tw_splat(a_0[a_row_3]);
    sum_3_0 = tw_multiply_add(a_3_p, b_0, sum_3_0); sum_3_1 = tw_multiply_add(a_3_p, b_1, sum_3_1); sum_3_2 = tw_multiply_add(a_3_p, b_2, sum_3_2); sum_3_3 = tw_multiply_add(a_3_p, b_3, sum_3_3);
    tw_vec a_4_p = tw_splat(a_4[0]);
    sum_4_0 = tw_multiply_add(a_4_p, b_0, sum_4_0); sum_4_1 = tw_multiply_add(a_4_p, b_1, sum_4_1); sum_4_2 = tw_multiply_add(a_4_p, b_2, sum_4_2); sum_4_3 = tw_multiply_add(a_4_p, b_3, sum_4_3);
    tw_vec a_5_p = tw_splat(a_4[a_row]);
    sum_5_0 = tw_multiply_add(a_5_p, b_0, sum_5_0); sum_5_1 = tw_multiply_add(a_5_p, b_1, sum_5_1); sum_5_2 = tw_multiply_add(a_5_p, b_2, sum_5_2); sum_5_3 = tw_multiply_add(a_5_p, b_3, sum_5_3);
    a_0 += a_column;
    TW_OPAQUE(a_0);
    a_4 += a_column;
    TW_OPAQUE(a_4);
    b += b_row;
  }
  if (accumulate) {
    sum_0_0 = tw_load(c + 0 * c_row + 0 * TW_LANES) + sum_0_0;
    sum_0_1 = tw_load(c + 0 * c_row + 1 * TW_LANES) + sum_0_1;
    sum_0_2 = tw_load(c + 0 * c_row + 2 * TW_LANES) + sum_0_2;
    sum_0_3 = tw_load_part(c + 0 * c_row + 3 * TW_LANES, last) + sum_0_3;
    sum_1_0 = tw_load(c + 1 * c_row + 0 * TW_LANES) + sum_1_0;
    sum_1_1 = tw_load(c + 1 * c_row + 1 * TW_LANES) + sum_1_1;
    sum_1_2 = tw_load(c + 1 * c_row + 2 * TW_LANES) + sum_1_2;
    sum_1_3 = tw_load_part(c + 1 * c_row + 3 * TW_LANES, last) + sum_1_3;
    sum_2_0 = tw_load(c + 2 * c_row + 0 * TW_LANES) + sum_2_0;
    sum_2_1 = tw_load(c + 2 * c_row + 1 * TW_LANES) + sum_2_1;
    sum_2_2 = tw_load(c + 2 * c_row + 2 * TW_LANES) + sum_2_2;
    sum_2_3 = tw_load_part(c + 2 * c_row + 3 * TW_LANES, last) + sum_2_3;
    sum_3_0 = tw_load(c + 3 * c_row + 0 * TW_LANES) + sum_3_0;
    sum_3_1 = tw_load(c + 3 * c_row + 1 * TW_LANES) + sum_3_1;
    sum_3_2 = tw_load(c + 3 * c_row + 2 * TW_LANES) + sum_3_2;
    sum_3_3 = tw_load_part(c + 3 * c_row + 3 * TW_LANES, last) + sum_3_3;
    sum_4_0 = tw_load(c + 4 * c_row + 0 * TW_LANES) + sum_4_0;
    sum_4_1 = tw_load(c + 4 * c_row + 1 * TW_LANES) + sum_4_1;
    sum_4_2 = tw_load(c + 4 * c_row + 2 * TW_LANES) + sum_4_2;
    sum_4_3 = tw_load_part(c + 4 * c_row + 3 * TW_LANES, last) + sum_4_3;
    sum_5_0 = tw_load(c + 5 * c_row + 0 * TW_LANES) + sum_5_0;
    sum_5_1 = tw_load(c + 5 * c_row + 1 * TW_LANES) + sum_5_1;
    sum_5_2 = tw_load(c + 5 * c_row + 2 * TW_LANES) + sum_5_2;
    sum_5_3 = tw_load_part(c + 5 * c_row + 3 * TW_LANES, last) + sum_5_3;
  }
  tw_store(c + 0 * c_row + 0 * TW_LANES, sum_0_0);
  tw_store(c + 0 * c_row + 1 * TW_LANES, sum_0_1);
  tw_store(c + 0 * c_row + 2 * TW_LANES, sum_0_2);
  tw_store_part(c + 0 * c_row + 3 * TW_LANES, sum_0_3, last);
  tw_store(c + 1 * c_row + 0 * TW_LANES, sum_1_0);
  tw_store(c + 1 * c_row + 1 * TW_LANES, sum_1_1);
  tw_store(c + 1 * c_row + 2 * TW_LANES, sum_1_2);
  tw_store_part(c + 1 * c_row + 3 * TW_LANES, sum_1_3, last);
  tw_store(c + 2 * c_row + 0 * TW_LANES, sum_2_0);
  tw_store(c + 2 * c_row + 1 * TW_LANES, sum_2_1);
  tw_store(c + 2 * c_row + 2 * TW_LANES, sum_2_2);
  tw_store_part(c + 2 * c_row + 3 * TW_LANES, sum_2_3, last);
  tw_store(c + 3 * c_row + 0 * TW_LANES, sum_3_0);
  tw_store(c + 3 * c_row + 1 * TW_LANES, sum_3_1);
  tw_store(c + 3 * c_row + 2 * TW_LANES, sum_3_2);
  tw_store_part(c + 3 * c_row + 3 * TW_LANES, sum_3_3, last);
  tw_store(c + 4 * c_row + 0 * TW_LANES, sum_4_0);
  tw_store(c + 4 * c_row + 1 * TW_LANES, sum_4_1);
  tw_store(c + 4 * c_row + 2 * TW_LANES, sum_4_2);
  tw_store_part(c + 4 * c_row + 3 * TW_LANES, sum_4_3, last);
  tw_store(c + 5 * c_row + 0 * TW_LANES, sum_5_0);
  tw_store(c + 5 * c_row + 1 * TW_LANES, sum_5_1);
  tw_store(c + 5 * c_row + 2 * TW_LANES, sum_5_2);
  tw_store_part(c + 5 * c_row + 3 * TW_LANES, sum_5_3, last);
}

void matmul_avx512_f32_6x64(long k, const float *a, long a_row, long a_column, const float *b, long b_row, float *c, long c_row, long m, long n, long accumulate) {
  const long vectors = (n + TW_LANES - 1) / TW_LANES, last = n - (vectors - 1) * TW_LANES;
  switch ((m * 256 + vectors) * 2 + (last < TW_LANES)) {
  case (6 * 256 + 4) * 2 + 0:
    matmul_avx512_f32_6x64_6x4(k, a, a_row, a_column, b, b_row, c, c_row, accumulate);
    return;
  case (6 * 256 + 4) * 2 + 1:
    matmul_avx512_f32_6x64_6x4_edge(k, a, a_row, a_column, b, b_row, c, c_row, accumulate, last);
    return;
  default:
    __builtin_trap();
  }
}
