// [parts]
// Of four lanes: the compiler turns each case into a few scalar loads and stores.
TW_INLINE tw_vec tw_load_part(const float *p, long n) {
  switch (n) {
  case 0:
    return (tw_vec){0};
  case 1:
    return (tw_vec){p[0]};
  case 2:
    return (tw_vec){p[0], p[1]};
  case 3:
    return (tw_vec){p[0], p[1], p[2]};
  default:
    return tw_load(p);
  }
}
TW_INLINE void tw_store_part(float *p, tw_vec v, long n) {
  if (n >= 4)
    tw_store(p, v);
  else {
    if (n > 0)
      p[0] = v[0];
    if (n > 1)
      p[1] = v[1];
    if (n > 2)
      p[2] = v[2];
  }
}

// [instructions]
typedef tw_int tw_mask;
#if defined(__x86_64__)
#define TW_KEEP(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
#define TW_KEEP(v) __asm__("" : "+w"(v))
#elif defined(__powerpc64__)
#define TW_KEEP(v) __asm__("" : "+wa"(v))
#else
#define TW_KEEP(v) ((void)0)
#endif
#if defined(__aarch64__)
TW_INLINE tw_vec tw_multiply_add(tw_vec a, tw_vec b, tw_vec c) {
  __asm__("fmla %0.4s, %1.4s, %2.4s" : "+w"(c) : "w"(a), "w"(b));
  return c;
}
TW_INLINE double tw_multiply_add_float64(double a, double b, double c) { return __builtin_fma(a, b, c); }
#elif defined(__powerpc64__)
TW_INLINE tw_vec tw_multiply_add(tw_vec a, tw_vec b, tw_vec c) {
  __asm__("xvmaddasp %x0, %x1, %x2" : "+wa"(c) : "wa"(a), "wa"(b));
  return c;
}
TW_INLINE double tw_multiply_add_float64(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
TW_INLINE tw_vec tw_multiply_add(tw_vec a, tw_vec b, tw_vec c) { return a * b + c; }
TW_INLINE double tw_multiply_add_float64(double a, double b, double c) { return a * b + c; }
#endif
TW_INLINE void tw_stream(float *p, tw_vec v) { tw_store(p, v); }
TW_INLINE void tw_fence(void) {}
TW_INLINE tw_mask tw_prefix(long n) { return (tw_int){@IOTA@} < tw_splat_int((int)n); }
@PARTS@
@COMPARISONS@
TW_INLINE int tw_any(tw_mask mask) {
  int lanes = 0;
  for (long i = 0; i < TW_LANES; i++)
    lanes |= mask[i];
  return lanes != 0;
}
TW_INLINE tw_vec tw_where(tw_mask mask, tw_vec a, tw_vec b) { return (tw_vec)((mask & (tw_int)a) | (~mask & (tw_int)b)); }
#if defined(__AVX__)
#define TW_EXTREMUM(name, word, sign) \
  TW_INLINE tw_vec name(tw_vec a, tw_vec b) { __asm__("v" word " %1, %0, %0" : "+x"(a) : "x"(b)); return a; }
#elif defined(__SSE__)
#define TW_EXTREMUM(name, word, sign) \
  TW_INLINE tw_vec name(tw_vec a, tw_vec b) { __asm__(word " %1, %0" : "+x"(a) : "x"(b)); return a; }
#else
#define TW_EXTREMUM(name, word, sign) \
  TW_INLINE tw_vec name(tw_vec a, tw_vec b) { return tw_where(a sign b, a, b); }
#endif
TW_EXTREMUM(tw_larger, "maxps", >)
TW_EXTREMUM(tw_smaller, "minps", <)
#undef TW_EXTREMUM
TW_INLINE tw_vec tw_sqrt(tw_vec v) {
  return (tw_vec){@ROOTS@};
}
TW_INLINE tw_vec tw_floor(tw_vec v) {
  tw_int sign = (tw_int)v & (-0x7fffffff - 1);
  tw_mask has_fraction = (tw_vec)((tw_int)v & 0x7fffffff) < 8388608.0f;
  tw_vec inside = tw_where(has_fraction, v, (tw_vec){0});
  tw_vec whole = __builtin_convertvector(__builtin_convertvector(inside, tw_int), tw_vec);
  whole = whole - tw_where(whole > inside, tw_splat(1.0f), (tw_vec){0});
  return tw_where(has_fraction, (tw_vec)((tw_int)whole | sign), v);
}
