// [light]
TW_INLINE tw_vec tw_ceil(tw_vec v) { return -tw_floor(-v); }

TW_INLINE tw_vec tw_trunc(tw_vec v) { return tw_where(tw_less(v, tw_splat(0.0f)), -tw_floor(-v), tw_floor(v)); }

#ifndef TW_NEAREST
#define TW_NEAREST
TW_INLINE tw_vec tw_nearest(tw_vec v) {
#instructions nearest
  const tw_vec size = tw_abs(v);
  const tw_vec whole = (tw_vec)((tw_int)((size + 0x1p23f) - 0x1p23f) | ((tw_int)v & (-0x7fffffff - 1)));
  return tw_where(tw_less(size, tw_splat(0x1p23f)), whole, v);
#end
}
#endif

#ifndef TW_ROUNDED_QUOTIENT
#define TW_ROUNDED_QUOTIENT
/* tw_nearest(x / d), bit for bit. A division of 16 lanes takes 16 cycles (Sapphire Rapids), this 5. */
TW_INLINE tw_vec tw_rounded_quotient(tw_vec x, tw_vec d) {
#instructions rounded_quotient
  return tw_nearest(x / d);
#end
}
#endif

TW_INLINE tw_vec tw_as_float16(tw_vec v) { return tw_widen_float16((tw_int)tw_narrow_float16(v)); }

TW_INLINE tw_vec tw_as_bfloat16(tw_vec v) { return tw_widen_bfloat16((tw_int)tw_narrow_bfloat16(v)); }

TW_INLINE tw_vec tw_sign(tw_vec v) {
  const tw_vec zero = tw_splat(0.0f);
  return tw_where(tw_greater(v, zero), tw_splat(1.0f), tw_where(tw_less(v, zero), tw_splat(-1.0f), v + zero));
}

TW_INLINE tw_mask tw_is_across(tw_vec v, tw_vec w) {
  const tw_vec zero = tw_splat(0.0f);
  return (tw_less(v, zero) ^ tw_less(w, zero)) & (tw_less(v, zero) | tw_greater(v, zero));
}
// 2^23 plus a number below it has no fraction. A quotient that was rounded up to a whole number has a rest on the other side of 0
// than the divisor: one less is right. Where the quotient is below 1 it may have underflowed, and the dividend is the rest; v - v
// is NaN for infinities.
TW_INLINE tw_vec tw_whole_quotient(tw_vec v, tw_vec w) {
  const tw_vec whole = tw_floor(v / w), below = whole - 1.0f;
  const tw_vec product = whole * w;
  const tw_vec rest = (v - product) - tw_rest(whole, w, product);
  const tw_vec large = tw_where(tw_equal(w, tw_splat(0.0f)), whole, tw_where(tw_is_across(rest, w), below, whole) + (v - v));
  const tw_vec small = tw_where(tw_is_across(v, w), tw_splat(-1.0f), whole);
  return tw_where(tw_less(tw_abs(v), tw_abs(w)), small, large);
}

TW_INLINE tw_mask tw_isnan(tw_vec v) { return tw_not_equal(v, v); }

TW_INLINE tw_mask tw_isinf(tw_vec v) { return tw_equal(tw_abs(v), tw_splat(__builtin_inff())); }

// [by_lanes]
static __attribute__((noinline, unused)) void tw_each_@NAME@(float *x@OTHER@) {
  for (long i = 0; i < TW_LANES; i++)
    x[i] = (float)tw_@NAME@_float64(x[i]@LANE@);
}
TW_INLINE tw_vec tw_lanes_@NAME@(tw_vec v@VECTOR@) {
  float x[TW_LANES]@ARRAY@;
  tw_store(x, v);
@STORE@
  tw_each_@NAME@(x@ARGUMENT@);
  return tw_load(x);
}
