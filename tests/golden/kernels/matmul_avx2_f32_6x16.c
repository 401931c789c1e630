#ifndef TW_DIALECT_AVX2
#define TW_DIALECT_AVX2
#define TW_ROWS 4
#define TW_EACH_ROW(...) { { enum { way = 0 }; __VA_ARGS__ } { enum { way = 1 }; __VA_ARGS__ } { enum { way = 2 }; __VA_ARGS__ } { enum { way = 3 }; __VA_ARGS__ } }
#define TW_EACH_LANE(...) { { enum { lane = 0 }; __VA_ARGS__ } { enum { lane = 1 }; __VA_ARGS__ } { enum { lane = 2 }; __VA_ARGS__ } { enum { lane = 3 }; __VA_ARGS__ } { enum { lane = 4 }; __VA_ARGS__ } { enum { lane = 5 }; __VA_ARGS__ } { enum { lane = 6 }; __VA_ARGS__ } { enum { lane = 7 }; __VA_ARGS__ } }
#define TW_LANES 8
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
typedef float tw_vec __attribute__((vector_size(32)));
typedef int tw_int __attribute__((vector_size(32)));
typedef float tw_vec_unaligned __attribute__((vector_size(32), aligned(4), may_alias));
typedef int tw_int_unaligned __attribute__((vector_size(32), aligned(4), may_alias));
TW_INLINE float tw_read(const float *p) { return *p; }
TW_INLINE void tw_prefetch(const float *p) { __builtin_prefetch(p); }
TW_INLINE tw_vec tw_load(const float *p) { return *(const tw_vec_unaligned *)p; }
TW_INLINE void tw_store(float *p, tw_vec v) { *(tw_vec_unaligned *)p = v; }
TW_INLINE long tw_whole_lines(const float *p, long stride) {
  return (((unsigned long)p | (unsigned long)stride * sizeof(float)) & 63) == 0;
}
TW_INLINE tw_vec tw_splat(float x) { return x - (tw_vec){0}; }
TW_INLINE tw_int tw_splat_int(int x) { return x - (tw_int){0}; }
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
TW_INLINE tw_mask tw_equal(tw_vec a, tw_vec b) { return a == b; }
TW_INLINE tw_mask tw_not_equal(tw_vec a, tw_vec b) { return a != b; }
TW_INLINE tw_mask tw_less(tw_vec a, tw_vec b) { return a < b; }
TW_INLINE tw_mask tw_less_equal(tw_vec a, tw_vec b) { return a <= b; }
TW_INLINE tw_mask tw_greater(tw_vec a, tw_vec b) { return a > b; }
TW_INLINE tw_mask tw_greater_equal(tw_vec a, tw_vec b) { return a >= b; }
TW_INLINE int tw_any(tw_mask mask) { return __builtin_ia32_movmskps256((tw_vec)mask) != 0; }
TW_INLINE tw_vec tw_where(tw_mask mask, tw_vec a, tw_vec b) { return __builtin_ia32_blendvps256(b, a, (tw_vec)mask); }
TW_INLINE tw_vec tw_larger(tw_vec a, tw_vec b) {
  tw_vec result;
  __asm__("vmaxps %2, %1, %0" : "=x"(result) : "x"(a), "x"(b));
  return result;
}
TW_INLINE tw_vec tw_smaller(tw_vec a, tw_vec b) {
  tw_vec result;
  __asm__("vminps %2, %1, %0" : "=x"(result) : "x"(a), "x"(b));
  return result;
}
TW_INLINE tw_vec tw_size_below(tw_vec limit, tw_vec v) { return tw_smaller(limit, (tw_vec)((tw_int)v & 0x7fffffff)); }
TW_INLINE tw_vec tw_nan_below(tw_vec v, tw_vec x) { return (tw_vec)((tw_int)v | (x == -__builtin_inff())); }
TW_INLINE tw_vec tw_sqrt(tw_vec v) {
  tw_vec result;
  __asm__("vsqrtps %1, %0" : "=x"(result) : "x"(v));
  return result;
}
TW_INLINE tw_vec tw_floor(tw_vec v) { return __builtin_ia32_roundps256(v, 9); }
TW_INLINE tw_vec tw_round(tw_vec v) { return __builtin_ia32_roundps256(v, 8); }
TW_INLINE tw_vec tw_scale(tw_vec p, tw_vec n) {
  tw_int twice = (tw_int)(n + 12583166.0f);
  tw_int half = twice >> 1;
  return p * (tw_vec)(half << 23) * (tw_vec)((twice - half) << 23);
}
TW_INLINE tw_vec tw_scale_add(tw_vec p, tw_vec n, tw_vec c) {
  tw_int twice = (tw_int)(n + 12583166.0f);
  tw_int half = twice >> 1;
  return tw_multiply_add(p * (tw_vec)(half << 23), (tw_vec)((twice - half) << 23), c);
}
TW_INLINE tw_vec tw_rest(tw_vec a, tw_vec b, tw_vec ab) {
  __asm__("vfmsub213ps %2, %1, %0" : "+x"(a) : "x"(b), "x"(ab));
  return a;
}
TW_INLINE tw_vec tw_inverse(tw_vec d) {
  tw_vec guess;
  __asm__("vrcpps %1, %0" : "=x"(guess) : "x"(d));
  tw_vec wrong = tw_multiply_add(-d, guess, tw_splat(1.0f));
  return tw_multiply_add(guess, tw_multiply_add(wrong, wrong, wrong), guess);
}
TW_INLINE tw_vec tw_scale_down(tw_vec p, tw_vec n) {
  tw_int exponent = __builtin_convertvector(n, tw_int);
  return (tw_vec)(((tw_int)p + (exponent << 23)) & ~(n < -125.0f));
}
TW_INLINE tw_vec tw_load_strided(const float *p, long stride, long n) {
  if (n == TW_LANES)
    return (tw_vec){p[0], p[1 * stride], p[2 * stride], p[3 * stride], p[4 * stride], p[5 * stride], p[6 * stride], p[7 * stride]};
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
TW_INLINE tw_vec tw_iota(void) { return (tw_vec){0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f}; }
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
  n = tw_round(x);
  x = x - n;
  e = tw_multiply_add(x, tw_splat(0.00132764725f), tw_splat(0.00967554096f));
  e = tw_multiply_add(e, x, tw_splat(0.0555071309f));
  e = tw_multiply_add(e, x, tw_splat(0.240221202f));
  e = tw_multiply_add(e, x, tw_splat(0.693146944f));
  e = tw_multiply_add(e, x, tw_splat(1.0f));
  x = tw_scale_down(e, n);
  return x;
}
TW_INLINE void tw_exp2_down_rows(tw_vec *x) {
  tw_vec n[TW_ROWS];
  tw_vec e[TW_ROWS];
  TW_EACH_ROW(n[way] = tw_round(x[way]);)
  TW_EACH_ROW(x[way] = x[way] - n[way];)
  TW_EACH_ROW(e[way] = tw_multiply_add(x[way], tw_splat(0.00132764725f), tw_splat(0.00967554096f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], x[way], tw_splat(0.0555071309f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], x[way], tw_splat(0.240221202f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], x[way], tw_splat(0.693146944f));)
  TW_EACH_ROW(e[way] = tw_multiply_add(e[way], x[way], tw_splat(1.0f));)
  TW_EACH_ROW(x[way] = tw_scale_down(e[way], n[way]);)
}
TW_INLINE float tw_reduce_add(tw_vec v) {
  tw_vec upper;
  upper = TW_SHUFFLE(v, 4, 5, 6, 7, 0, 1, 2, 3);
  v = v + upper;
  upper = TW_SHUFFLE(v, 2, 3, 4, 5, 6, 7, 0, 1);
  v = v + upper;
  upper = TW_SHUFFLE(v, 1, 2, 3, 4, 5, 6, 7, 0);
  v = v + upper;
  return v[0];
}
TW_INLINE void tw_reduce_add_rows(tw_vec *all) {
  tw_vec v;
  tw_vec upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 8, 9, 10, 11);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 4, 5, 6, 7, 12, 13, 14, 15);
  all[0] = v + upper;
  v = TW_SHUFFLE_TWO(all[2], all[3], 0, 1, 2, 3, 8, 9, 10, 11);
  upper = TW_SHUFFLE_TWO(all[2], all[3], 4, 5, 6, 7, 12, 13, 14, 15);
  all[1] = v + upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 4, 5, 8, 9, 12, 13);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 2, 3, 6, 7, 10, 11, 14, 15);
  all[0] = v + upper;
  v = all[0];
  upper = TW_SHUFFLE(v, 1, 0, 3, 2, 5, 4, 7, 6);
  v = v + upper;
  all[0] = TW_SHUFFLE(v, 0, 0, 0, 0, 0, 0, 0, 0);
  all[1] = TW_SHUFFLE(v, 2, 2, 2, 2, 2, 2, 2, 2);
  all[2] = TW_SHUFFLE(v, 4, 4, 4, 4, 4, 4, 4, 4);
  all[3] = TW_SHUFFLE(v, 6, 6, 6, 6, 6, 6, 6, 6);
}
TW_INLINE float tw_reduce_multiply(tw_vec v) {
  tw_vec upper;
  upper = TW_SHUFFLE(v, 4, 5, 6, 7, 0, 1, 2, 3);
  v = v * upper;
  upper = TW_SHUFFLE(v, 2, 3, 4, 5, 6, 7, 0, 1);
  v = v * upper;
  upper = TW_SHUFFLE(v, 1, 2, 3, 4, 5, 6, 7, 0);
  v = v * upper;
  return v[0];
}
TW_INLINE void tw_reduce_multiply_rows(tw_vec *all) {
  tw_vec v;
  tw_vec upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 8, 9, 10, 11);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 4, 5, 6, 7, 12, 13, 14, 15);
  all[0] = v * upper;
  v = TW_SHUFFLE_TWO(all[2], all[3], 0, 1, 2, 3, 8, 9, 10, 11);
  upper = TW_SHUFFLE_TWO(all[2], all[3], 4, 5, 6, 7, 12, 13, 14, 15);
  all[1] = v * upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 4, 5, 8, 9, 12, 13);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 2, 3, 6, 7, 10, 11, 14, 15);
  all[0] = v * upper;
  v = all[0];
  upper = TW_SHUFFLE(v, 1, 0, 3, 2, 5, 4, 7, 6);
  v = v * upper;
  all[0] = TW_SHUFFLE(v, 0, 0, 0, 0, 0, 0, 0, 0);
  all[1] = TW_SHUFFLE(v, 2, 2, 2, 2, 2, 2, 2, 2);
  all[2] = TW_SHUFFLE(v, 4, 4, 4, 4, 4, 4, 4, 4);
  all[3] = TW_SHUFFLE(v, 6, 6, 6, 6, 6, 6, 6, 6);
}
TW_INLINE float tw_reduce_maximum(tw_vec v) {
  tw_vec upper;
  upper = TW_SHUFFLE(v, 4, 5, 6, 7, 0, 1, 2, 3);
  v = tw_maximum(v, upper);
  upper = TW_SHUFFLE(v, 2, 3, 4, 5, 6, 7, 0, 1);
  v = tw_maximum(v, upper);
  upper = TW_SHUFFLE(v, 1, 2, 3, 4, 5, 6, 7, 0);
  v = tw_maximum(v, upper);
  return v[0];
}
TW_INLINE void tw_reduce_maximum_rows(tw_vec *all) {
  tw_vec v;
  tw_vec upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 8, 9, 10, 11);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 4, 5, 6, 7, 12, 13, 14, 15);
  all[0] = tw_maximum(v, upper);
  v = TW_SHUFFLE_TWO(all[2], all[3], 0, 1, 2, 3, 8, 9, 10, 11);
  upper = TW_SHUFFLE_TWO(all[2], all[3], 4, 5, 6, 7, 12, 13, 14, 15);
  all[1] = tw_maximum(v, upper);
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 4, 5, 8, 9, 12, 13);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 2, 3, 6, 7, 10, 11, 14, 15);
  all[0] = tw_maximum(v, upper);
  v = all[0];
  upper = TW_SHUFFLE(v, 1, 0, 3, 2, 5, 4, 7, 6);
  v = tw_maximum(v, upper);
  all[0] = TW_SHUFFLE(v, 0, 0, 0, 0, 0, 0, 0, 0);
  all[1] = TW_SHUFFLE(v, 2, 2, 2, 2, 2, 2, 2, 2);
  all[2] = TW_SHUFFLE(v, 4, 4, 4, 4, 4, 4, 4, 4);
  all[3] = TW_SHUFFLE(v, 6, 6, 6, 6, 6, 6, 6, 6);
}
TW_INLINE float tw_reduce_minimum(tw_vec v) {
  tw_vec upper;
  upper = TW_SHUFFLE(v, 4, 5, 6, 7, 0, 1, 2, 3);
  v = tw_minimum(v, upper);
  upper = TW_SHUFFLE(v, 2, 3, 4, 5, 6, 7, 0, 1);
  v = tw_minimum(v, upper);
  upper = TW_SHUFFLE(v, 1, 2, 3, 4, 5, 6, 7, 0);
  v = tw_minimum(v, upper);
  return v[0];
}
TW_INLINE void tw_reduce_minimum_rows(tw_vec *all) {
  tw_vec v;
  tw_vec upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 8, 9, 10, 11);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 4, 5, 6, 7, 12, 13, 14, 15);
  all[0] = tw_minimum(v, upper);
  v = TW_SHUFFLE_TWO(all[2], all[3], 0, 1, 2, 3, 8, 9, 10, 11);
  upper = TW_SHUFFLE_TWO(all[2], all[3], 4, 5, 6, 7, 12, 13, 14, 15);
  all[1] = tw_minimum(v, upper);
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 4, 5, 8, 9, 12, 13);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 2, 3, 6, 7, 10, 11, 14, 15);
  all[0] = tw_minimum(v, upper);
  v = all[0];
  upper = TW_SHUFFLE(v, 1, 0, 3, 2, 5, 4, 7, 6);
  v = tw_minimum(v, upper);
  all[0] = TW_SHUFFLE(v, 0, 0, 0, 0, 0, 0, 0, 0);
  all[1] = TW_SHUFFLE(v, 2, 2, 2, 2, 2, 2, 2, 2);
  all[2] = TW_SHUFFLE(v, 4, 4, 4, 4, 4, 4, 4, 4);
  all[3] = TW_SHUFFLE(v, 6, 6, 6, 6, 6, 6, 6, 6);
}
TW_INLINE float tw_reduce_larger(tw_vec v) {
  tw_vec upper;
  upper = TW_SHUFFLE(v, 4, 5, 6, 7, 0, 1, 2, 3);
  v = tw_larger(v, upper);
  upper = TW_SHUFFLE(v, 2, 3, 4, 5, 6, 7, 0, 1);
  v = tw_larger(v, upper);
  upper = TW_SHUFFLE(v, 1, 2, 3, 4, 5, 6, 7, 0);
  v = tw_larger(v, upper);
  return v[0];
}
TW_INLINE void tw_reduce_larger_rows(tw_vec *all) {
  tw_vec v;
  tw_vec upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 8, 9, 10, 11);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 4, 5, 6, 7, 12, 13, 14, 15);
  all[0] = tw_larger(v, upper);
  v = TW_SHUFFLE_TWO(all[2], all[3], 0, 1, 2, 3, 8, 9, 10, 11);
  upper = TW_SHUFFLE_TWO(all[2], all[3], 4, 5, 6, 7, 12, 13, 14, 15);
  all[1] = tw_larger(v, upper);
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 4, 5, 8, 9, 12, 13);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 2, 3, 6, 7, 10, 11, 14, 15);
  all[0] = tw_larger(v, upper);
  v = all[0];
  upper = TW_SHUFFLE(v, 1, 0, 3, 2, 5, 4, 7, 6);
  v = tw_larger(v, upper);
  all[0] = TW_SHUFFLE(v, 0, 0, 0, 0, 0, 0, 0, 0);
  all[1] = TW_SHUFFLE(v, 2, 2, 2, 2, 2, 2, 2, 2);
  all[2] = TW_SHUFFLE(v, 4, 4, 4, 4, 4, 4, 4, 4);
  all[3] = TW_SHUFFLE(v, 6, 6, 6, 6, 6, 6, 6, 6);
}
TW_INLINE float tw_reduce_smaller(tw_vec v) {
  tw_vec upper;
  upper = TW_SHUFFLE(v, 4, 5, 6, 7, 0, 1, 2, 3);
  v = tw_smaller(v, upper);
  upper = TW_SHUFFLE(v, 2, 3, 4, 5, 6, 7, 0, 1);
  v = tw_smaller(v, upper);
  upper = TW_SHUFFLE(v, 1, 2, 3, 4, 5, 6, 7, 0);
  v = tw_smaller(v, upper);
  return v[0];
}
TW_INLINE void tw_reduce_smaller_rows(tw_vec *all) {
  tw_vec v;
  tw_vec upper;
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 2, 3, 8, 9, 10, 11);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 4, 5, 6, 7, 12, 13, 14, 15);
  all[0] = tw_smaller(v, upper);
  v = TW_SHUFFLE_TWO(all[2], all[3], 0, 1, 2, 3, 8, 9, 10, 11);
  upper = TW_SHUFFLE_TWO(all[2], all[3], 4, 5, 6, 7, 12, 13, 14, 15);
  all[1] = tw_smaller(v, upper);
  v = TW_SHUFFLE_TWO(all[0], all[1], 0, 1, 4, 5, 8, 9, 12, 13);
  upper = TW_SHUFFLE_TWO(all[0], all[1], 2, 3, 6, 7, 10, 11, 14, 15);
  all[0] = tw_smaller(v, upper);
  v = all[0];
  upper = TW_SHUFFLE(v, 1, 0, 3, 2, 5, 4, 7, 6);
  v = tw_smaller(v, upper);
  all[0] = TW_SHUFFLE(v, 0, 0, 0, 0, 0, 0, 0, 0);
  all[1] = TW_SHUFFLE(v, 2, 2, 2, 2, 2, 2, 2, 2);
  all[2] = TW_SHUFFLE(v, 4, 4, 4, 4, 4, 4, 4, 4);
  all[3] = TW_SHUFFLE(v, 6, 6, 6, 6, 6, 6, 6, 6);
}
TW_INLINE void tw_transpose(tw_vec *v) {
  const tw_vec s_0 = TW_SHUFFLE_TWO(v[0], v[1], 0, 2, 8, 10, 4, 6, 12, 14);
  const tw_vec s_1 = TW_SHUFFLE_TWO(v[2], v[3], 0, 2, 8, 10, 4, 6, 12, 14);
  const tw_vec s_2 = TW_SHUFFLE_TWO(v[0], v[1], 1, 3, 9, 11, 5, 7, 13, 15);
  const tw_vec s_3 = TW_SHUFFLE_TWO(v[2], v[3], 1, 3, 9, 11, 5, 7, 13, 15);
  const tw_vec s_4 = TW_SHUFFLE_TWO(s_0, s_1, 0, 2, 8, 10, 4, 6, 12, 14);
  const tw_vec s_5 = TW_SHUFFLE_TWO(s_2, s_3, 0, 2, 8, 10, 4, 6, 12, 14);
  const tw_vec s_6 = TW_SHUFFLE_TWO(s_0, s_1, 1, 3, 9, 11, 5, 7, 13, 15);
  const tw_vec s_7 = TW_SHUFFLE_TWO(s_2, s_3, 1, 3, 9, 11, 5, 7, 13, 15);
  const tw_vec s_8 = TW_SHUFFLE_TWO(v[4], v[5], 0, 2, 8, 10, 4, 6, 12, 14);
  const tw_vec s_9 = TW_SHUFFLE_TWO(v[6], v[7], 0, 2, 8, 10, 4, 6, 12, 14);
  const tw_vec s_10 = TW_SHUFFLE_TWO(v[4], v[5], 1, 3, 9, 11, 5, 7, 13, 15);
  const tw_vec s_11 = TW_SHUFFLE_TWO(v[6], v[7], 1, 3, 9, 11, 5, 7, 13, 15);
  const tw_vec s_12 = TW_SHUFFLE_TWO(s_8, s_9, 0, 2, 8, 10, 4, 6, 12, 14);
  const tw_vec s_13 = TW_SHUFFLE_TWO(s_10, s_11, 0, 2, 8, 10, 4, 6, 12, 14);
  const tw_vec s_14 = TW_SHUFFLE_TWO(s_8, s_9, 1, 3, 9, 11, 5, 7, 13, 15);
  const tw_vec s_15 = TW_SHUFFLE_TWO(s_10, s_11, 1, 3, 9, 11, 5, 7, 13, 15);
  const tw_vec s_16 = TW_SHUFFLE_TWO(s_4, s_12, 0, 1, 2, 3, 8, 9, 10, 11);
  const tw_vec s_17 = TW_SHUFFLE_TWO(s_4, s_12, 4, 5, 6, 7, 12, 13, 14, 15);
  const tw_vec s_18 = TW_SHUFFLE_TWO(s_5, s_13, 0, 1, 2, 3, 8, 9, 10, 11);
  const tw_vec s_19 = TW_SHUFFLE_TWO(s_5, s_13, 4, 5, 6, 7, 12, 13, 14, 15);
  const tw_vec s_20 = TW_SHUFFLE_TWO(s_6, s_14, 0, 1, 2, 3, 8, 9, 10, 11);
  const tw_vec s_21 = TW_SHUFFLE_TWO(s_6, s_14, 4, 5, 6, 7, 12, 13, 14, 15);
  const tw_vec s_22 = TW_SHUFFLE_TWO(s_7, s_15, 0, 1, 2, 3, 8, 9, 10, 11);
  const tw_vec s_23 = TW_SHUFFLE_TWO(s_7, s_15, 4, 5, 6, 7, 12, 13, 14, 15);
  v[0] = s_16;
  v[1] = s_18;
  v[2] = s_20;
  v[3] = s_22;
  v[4] = s_17;
  v[5] = s_19;
  v[6] = s_21;
  v[7] = s_23;
}
#endif

#ifndef TW_VARIANT
#define TW_VARIANT static __attribute__((noinline))
#endif

TW_VARIANT void matmul_avx2_f32_6x16_6x2(long k, const float *a, long a_row, long a_column,
    const float *b, long b_row, float *c, long c_row, long accumulate) {
  const long a_row_3 = 3 * a_row;
  const float *a_0 = a + 0 * a_row;
  const float *a_4 = a + 4 * a_row;
  tw_vec sum_0_0 = {0}, sum_0_1 = {0};
  tw_vec sum_1_0 = {0}, sum_1_1 = {0};
  tw_vec sum_2_0 = {0}, sum_2_1 = {0};
  tw_vec sum_3_0 = {0}, sum_3_1 = {0};
  tw_vec sum_4_0 = {0}, sum_4_1 = {0};
  tw_vec sum_5_0 = {0}, sum_5_1 = {0};
  const long whole = k - k % 2;
#pragma GCC unroll 2
  for (long p = 0; p < whole; p++) {
    tw_vec b_0 = tw_load(b + 0 * TW_LANES);
    TW_KEEP(b_0);
    tw_vec b_1 = tw_load(b + 1 * TW_LANES);
    TW_KEEP(b_1);
    tw_vec a_0_p = tw_splat(a_0[0]);
    sum_0_0 = tw_multiply_add(a_0_p, b_0, sum_0_0); sum_0_1 = tw_multiply_add(a_0_p, b_1, sum_0_1);
    tw_vec a_1_p = tw_splat(a_0[a_row]);
    sum_1_0 = tw_multiply_add(a_1_p, b_0, sum_1_0); sum_1_1 = tw_multiply_add(a_1_p, b_1, sum_1_1);
    tw_vec a_2_p = tw_splat(a_0[2 * a_row]);
    sum_2_0 = tw_multiply_add(a_2_p, b_0, sum_2_0); sum_2_1 = tw_multiply_add(a_2_p, b_1, sum_2_1);
    tw_vec a_3_p = tw_splat(a_0[a_row_3]);
    sum_3_0 = tw_multiply_add(a_3_p, b_0, sum_3_0); sum_3_1 = tw_multiply_add(a_3_p, b_1, sum_3_1);
    tw_vec a_4_p = tw_splat(a_4[0]);
    sum_4_0 = tw_multiply_add(a_4_p, b_0, sum_4_0); sum_4_1 = tw_multiply_add(a_4_p, b_1, sum_4_1);
    tw_vec a_5_p = tw_splat(a_4[a_row]);
    sum_5_0 = tw_multiply_add(a_5_p, b_0, sum_5_0); sum_5_1 = tw_multiply_add(a_5_p, b_1, sum_5_1);
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
    tw_vec a_0_p = tw_splat(a_0[0]);
    sum_0_0 = tw_multiply_add(a_0_p, b_0, sum_0_0); sum_0_1 = tw_multiply_add(a_0_p, b_1, sum_0_1);
    tw_vec a_1_p = tw_splat(a_0[a_row]);
    sum_1_0 = tw_multiply_add(a_1_p, b_0, sum_1_0); sum_1_1 = tw_multiply_add(a_1_p, b_1, sum_1_1);
    tw_vec a_2_p = tw_splat(a_0[2 * a_row]);
    sum_2_0 = tw_multiply_add(a_2_p, b_0, sum_2_0); sum_2_1 = tw_multiply_add(a_2_p, b_1, sum_2_1);
    tw_vec a_3_p = tw_splat(a_0[a_row_3]);
    sum_3_0 = tw_multiply_add(a_3_p, b_0, sum_3_0); sum_3_1 = tw_multiply_add(a_3_p, b_1, sum_3_1);
    tw_vec a_4_p = tw_splat(a_4[0]);
    sum_4_0 = tw_multiply_add(a_4_p, b_0, sum_4_0); sum_4_1 = tw_multiply_add(a_4_p, b_1, sum_4_1);
    tw_vec a_5_p = tw_splat(a_4[a_row]);
    sum_5_0 = tw_multiply_add(a_5_p, b_0, sum_5_0); sum_5_1 = tw_multiply_add(a_5_p, b_1, sum_5_1);
    a_0 += a_column;
    TW_OPAQUE(a_0);
    a_4 += a_column;
    TW_OPAQUE(a_4);
    b += b_row;
  }
  if (accumulate) {
    sum_0_0 = tw_load(c + 0 * c_row + 0 * TW_LANES) + sum_0_0;
    sum_0_1 = tw_load(c + 0 * c_row + 1 * TW_LANES) + sum_0_1;
    sum_1_0 = tw_load(c + 1 * c_row + 0 * TW_LANES) + sum_1_0;
    sum_1_1 = tw_load(c + 1 * c_row + 1 * TW_LANES) + sum_1_1;
    sum_2_0 = tw_load(c + 2 * c_row + 0 * TW_LANES) + sum_2_0;
    sum_2_1 = tw_load(c + 2 * c_row + 1 * TW_LANES) + sum_2_1;
    sum_3_0 = tw_load(c + 3 * c_row + 0 * TW_LANES) + sum_3_0;
    sum_3_1 = tw_load(c + 3 * c_row + 1 * TW_LANES) + sum_3_1;
    sum_4_0 = tw_load(c + 4 * c_row + 0 * TW_LANES) + sum_4_0;
    sum_4_1 = tw_load(c + 4 * c_row + 1 * TW_LANES) + sum_4_1;
    sum_5_0 = tw_load(c + 5 * c_row + 0 * TW_LANES) + sum_5_0;
    sum_5_1 = tw_load(c + 5 * c_row + 1 * TW_LANES) + sum_5_1;
  }
  tw_store(c + 0 * c_row + 0 * TW_LANES, sum_0_0);
  tw_store(c + 0 * c_row + 1 * TW_LANES, sum_0_1);
  tw_store(c + 1 * c_row + 0 * TW_LANES, sum_1_0);
  tw_store(c + 1 * c_row + 1 * TW_LANES, sum_1_1);
  tw_store(c + 2 * c_row + 0 * TW_LANES, sum_2_0);
  tw_store(c + 2 * c_row + 1 * TW_LANES, sum_2_1);
  tw_store(c + 3 * c_row + 0 * TW_LANES, sum_3_0);
  tw_store(c + 3 * c_row + 1 * TW_LANES, sum_3_1);
  tw_store(c + 4 * c_row + 0 * TW_LANES, sum_4_0);
  tw_store(c + 4 * c_row + 1 * TW_LANES, sum_4_1);
  tw_store(c + 5 * c_row + 0 * TW_LANES, sum_5_0);
  tw_store(c + 5 * c_row + 1 * TW_LANES, sum_5_1);
}

TW_VARIANT void matmul_avx2_f32_6x16_6x2_edge(long k, const float *a, long a_row, long a_column,
    const float *b, long b_row, float *c, long c_row, long accumulate, long last) {
  const long a_row_3 = 3 * a_row;
  const float *a_0 = a + 0 * a_row;
  const float *a_4 = a + 4 * a_row;
  tw_vec sum_0_0 = {0}, sum_0_1 = {0};
  tw_vec sum_1_0 = {0}, sum_1_1 = {0};
  tw_vec sum_2_0 = {0}, sum_2_1 = {0};
  tw_vec sum_3_0 = {0}, sum_3_1 = {0};
  tw_vec sum_4_0 = {0}, sum_4_1 = {0};
  tw_vec sum_5_0 = {0}, sum_5_1 = {0};
  for (long p = 0; p < k; p++) {
    tw_vec b_0 = tw_load(b + 0 * TW_LANES);
    TW_KEEP(b_0);
    tw_vec b_1 = tw_load_part(b + 1 * TW_LANES, last);
    TW_KEEP(b_1);
    tw_vec a_0_p = tw_splat(a_0[0]);
    sum_0_0 = tw_multiply_add(a_0_p, b_0, sum_0_0); sum_0_1 = tw_multiply_add(a_0_p, b_1, sum_0_1);
    tw_vec a_1_p = tw_splat(a_0[a_row]);
    sum_1_0 = tw_multiply_add(a_1_p, b_0, sum_1_0); sum_1_1 = tw_multiply_add(a_1_p, b_1, sum_1_1);
    tw_vec a_2_p = tw_splat(a_0[2 * a_row]);
    sum_2_0 = tw_multiply_add(a_2_p, b_0, sum_2_0); sum_2_1 = tw_multiply_add(a_2_p, b_1, sum_2_1);
    tw_vec a_3_p = tw_splat(a_0[a_row_3]);
    sum_3_0 = tw_multiply_add(a_3_p, b_0, sum_3_0); sum_3_1 = tw_multiply_add(a_3_p, b_1, sum_3_1);
    tw_vec a_4_p = tw_splat(a_4[0]);
    sum_4_0 = tw_multiply_add(a_4_p, b_0, sum_4_0); sum_4_1 = tw_multiply_add(a_4_p, b_1, sum_4_1);
    tw_vec a_5_p = tw_splat(a_4[a_row]);
    sum_5_0 = tw_multiply_add(a_5_p, b_0, sum_5_0); sum_5_1 = tw_multiply_add(a_5_p, b_1, sum_5_1);
    a_0 += a_column;
    TW_OPAQUE(a_0);
    a_4 += a_column;
    TW_OPAQUE(a_4);
    b += b_row;
  }
  if (accumulate) {
    sum_0_0 = tw_load(c + 0 * c_row + 0 * TW_LANES) + sum_0_0;
    sum_0_1 = tw_load_part(c + 0 * c_row + 1 * TW_LANES, last) + sum_0_1;
    sum_1_0 = tw_load(c + 1 * c_row + 0 * TW_LANES) + sum_1_0;
    sum_1_1 = tw_load_part(c + 1 * c_row + 1 * TW_LANES, last) + sum_1_1;
    sum_2_0 = tw_load(c + 2 * c_row + 0 * TW_LANES) + sum_2_0;
    sum_2_1 = tw_load_part(c + 2 * c_row + 1 * TW_LANES, last) + sum_2_1;
    sum_3_0 = tw_load(c + 3 * c_row + 0 * TW_LANES) + sum_3_0;
    sum_3_1 = tw_load_part(c + 3 * c_row + 1 * TW_LANES, last) + sum_3_1;
    sum_4_0 = tw_load(c + 4 * c_row + 0 * TW_LANES) + sum_4_0;
    sum_4_1 = tw_load_part(c + 4 * c_row + 1 * TW_LANES, last) + sum_4_1;
    sum_5_0 = tw_load(c + 5 * c_row + 0 * TW_LANES) + sum_5_0;
    sum_5_1 = tw_load_part(c + 5 * c_row + 1 * TW_LANES, last) + sum_5_1;
  }
  tw_store(c + 0 * c_row + 0 * TW_LANES, sum_0_0);
  tw_store_part(c + 0 * c_row + 1 * TW_LANES, sum_0_1, last);
  tw_store(c + 1 * c_row + 0 * TW_LANES, sum_1_0);
  tw_store_part(c + 1 * c_row + 1 * TW_LANES, sum_1_1, last);
  tw_store(c + 2 * c_row + 0 * TW_LANES, sum_2_0);
  tw_store_part(c + 2 * c_row + 1 * TW_LANES, sum_2_1, last);
  tw_store(c + 3 * c_row + 0 * TW_LANES, sum_3_0);
  tw_store_part(c + 3 * c_row + 1 * TW_LANES, sum_3_1, last);
  tw_store(c + 4 * c_row + 0 * TW_LANES, sum_4_0);
  tw_store_part(c + 4 * c_row + 1 * TW_LANES, sum_4_1, last);
  tw_store(c + 5 * c_row + 0 * TW_LANES, sum_5_0);
  tw_store_part(c + 5 * c_row + 1 * TW_LANES, sum_5_1, last);
}

TW_VARIANT void matmul_avx2_f32_6x16_1x1(long k, const float *a, long a_row, long a_column,
    const float *b, long b_row, float *c, long c_row, long accumulate) {
  const float *a_0 = a + 0 * a_row;
  tw_vec sum_0_0 = {0};
  const long whole = k - k % 2;
#pragma GCC unroll 2
  for (long p = 0; p < whole; p++) {
    tw_vec b_0 = tw_load(b + 0 * TW_LANES);
    tw_vec a_0_p = tw_splat(a_0[0]);
    sum_0_0 = tw_multiply_add(a_0_p, b_0, sum_0_0);
    a_0 += a_column;
    TW_OPAQUE(a_0);
    b += b_row;
  }
#pragma GCC unroll 1
  for (long p = whole; p < k; p++) {
    tw_vec b_0 = tw_load(b + 0 * TW_LANES);
    tw_vec a_0_p = tw_splat(a_0[0]);
    sum_0_0 = tw_multiply_add(a_0_p, b_0, sum_0_0);
    a_0 += a_column;
    TW_OPAQUE(a_0);
    b += b_row;
  }
  if (accumulate) {
    sum_0_0 = tw_load(c + 0 * c_row + 0 * TW_LANES) + sum_0_0;
  }
  tw_store(c + 0 * c_row + 0 * TW_LANES, sum_0_0);
}

TW_VARIANT void matmul_avx2_f32_6x16_1x1_edge(long k, const float *a, long a_row, long a_column,
    const float *b, long b_row, float *c, long c_row, long accumulate, long last) {
  const float *a_0 = a + 0 * a_row;
  tw_vec sum_0_0 = {0};
  for (long p = 0; p < k; p++) {
    tw_vec b_0 = tw_load_part(b + 0 * TW_LANES, last);
    tw_vec a_0_p = tw_splat(a_0[0]);
    sum_0_0 = tw_multiply_add(a_0_p, b_0, sum_0_0);
    a_0 += a_column;
    TW_OPAQUE(a_0);
    b += b_row;
  }
  if (accumulate) {
    sum_0_0 = tw_load_part(c + 0 * c_row + 0 * TW_LANES, last) + sum_0_0;
  }
  tw_store_part(c + 0 * c_row + 0 * TW_LANES, sum_0_0, last);
}

void matmul_avx2_f32_6x16(long k, const float *a, long a_row, long a_column, const float *b, long b_row, float *c, long c_row, long m, long n, long accumulate) {
  const long vectors = (n + TW_LANES - 1) / TW_LANES, last = n - (vectors - 1) * TW_LANES;
  switch ((m * 256 + vectors) * 2 + (last < TW_LANES)) {
  case (6 * 256 + 2) * 2 + 0:
    matmul_avx2_f32_6x16_6x2(k, a, a_row, a_column, b, b_row, c, c_row, accumulate);
    return;
  case (6 * 256 + 2) * 2 + 1:
    matmul_avx2_f32_6x16_6x2_edge(k, a, a_row, a_column, b, b_row, c, c_row, accumulate, last);
    return;
  case (1 * 256 + 1) * 2 + 0:
    matmul_avx2_f32_6x16_1x1(k, a, a_row, a_column, b, b_row, c, c_row, accumulate);
    return;
  case (1 * 256 + 1) * 2 + 1:
    matmul_avx2_f32_6x16_1x1_edge(k, a, a_row, a_column, b, b_row, c, c_row, accumulate, last);
    return;
  default:
    __builtin_trap();
  }
}
