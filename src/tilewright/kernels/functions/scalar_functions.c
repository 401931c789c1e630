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

// [not_finite]
static __attribute__((noinline, cold)) void tw_not_finite(const struct tw_context *caller) {
  if (caller->not_finite)
    caller->not_finite(caller->pool);
}

// [report_of_vectors]
TW_INLINE tw_vec tw_report_not_finite(const struct tw_context *caller, tw_vec v) { /* v - v is NaN for an infinity */
  if (__builtin_expect(tw_any(tw_not_equal(v - v, tw_splat(0.0f))), 0))
    tw_not_finite(caller);
  return v;
}

// [report_of_doubles]
TW_INLINE double tw_report_not_finite_float64(const struct tw_context *caller, double a) {
  if (__builtin_expect(a - a != 0, 0))
    tw_not_finite(caller);
  return a;
}

// [whole]
TW_INLINE @T@ tw_add_@A@(@T@ a, @T@ b) { return (@T@)((@U@)a + (@U@)b); }
TW_INLINE @T@ tw_subtract_@A@(@T@ a, @T@ b) { return (@T@)((@U@)a - (@U@)b); }
TW_INLINE @T@ tw_multiply_@A@(@T@ a, @T@ b) { return (@T@)((@U@)a * (@U@)b); }
TW_INLINE @T@ tw_negative_@A@(@T@ a) { return (@T@)(0 - (@U@)a); }
TW_INLINE @T@ tw_square_@A@(@T@ a) { return tw_multiply_@A@(a, a); }
TW_INLINE @T@ tw_abs_@A@(@T@ a) { return a > 0 ? a : tw_negative_@A@(a); }
TW_INLINE @T@ tw_sign_@A@(@T@ a) { return a > 0 ? 1 : a == 0 ? 0 : (@T@)-1; }
TW_INLINE @T@ tw_maximum_@A@(@T@ a, @T@ b) { return a > b ? a : b; }
TW_INLINE @T@ tw_minimum_@A@(@T@ a, @T@ b) { return a < b ? a : b; }
TW_INLINE int tw_divides_@A@(@T@ b) { return b != 0 && !(@IS_SIGNED@ && b == (@T@)-1); } /* b is neither 0 nor -1 */
TW_INLINE @T@ tw_divide_@A@(@T@ a, @T@ b) {
  return tw_divides_@A@(b) ? (@T@)(a / b) : b == 0 ? 0 : tw_negative_@A@(a);
}
TW_INLINE @T@ tw_reciprocal_@A@(@T@ a) { return tw_divide_@A@(1, a); }
TW_INLINE @T@ tw_fmod_@A@(@T@ a, @T@ b) { return tw_divides_@A@(b) ? (@T@)(a % b) : 0; }
TW_INLINE @T@ tw_mod_@A@(@T@ a, @T@ b) {
  const @T@ rest = tw_fmod_@A@(a, b);
  return @IS_SIGNED@ && rest != 0 && (rest < 1) != (b < 1) ? (@T@)(rest + b) : rest;
}
TW_INLINE @T@ tw_floor_divide_@A@(@T@ a, @T@ b) {
  const @T@ rest = tw_fmod_@A@(a, b);
  return (@T@)(tw_divide_@A@(a, b) - (@IS_SIGNED@ && rest != 0 && (rest < 1) != (b < 1)));
}
TW_INLINE @T@ tw_bitwise_and_@A@(@T@ a, @T@ b) { return (@T@)(a & b); }
TW_INLINE @T@ tw_bitwise_or_@A@(@T@ a, @T@ b) { return (@T@)(a | b); }
TW_INLINE @T@ tw_bitwise_xor_@A@(@T@ a, @T@ b) { return (@T@)(a ^ b); }
TW_INLINE @T@ tw_bitwise_not_@A@(@T@ a) { return (@T@)~a; }
TW_INLINE @T@ tw_left_shift_@A@(@T@ a, @T@ b) { return (@U@)b < 8 * sizeof a ? (@T@)((@U@)a << b) : 0; }
TW_INLINE @T@ tw_right_shift_@A@(@T@ a, @T@ b) {
  const @T@ sign = (@T@)(@IS_SIGNED@ && a < 1 ? -(a != 0) : 0);
  return (@U@)b < 8 * sizeof a ? (@T@)(a >> b) : sign;
}
TW_INLINE @T@ tw_pow_@A@(@T@ a, @T@ b) {
  @T@ power = 1;
  if (@IS_SIGNED@ && b < 1 && b != 0)
    return tw_divide_@A@(1, (@U@)b & 1 ? a : tw_multiply_@A@(a, a));
  for (; b; b = (@T@)(b >> 1), a = tw_multiply_@A@(a, a))
    power = b & 1 ? tw_multiply_@A@(power, a) : power;
  return power;
}
TW_INLINE @T@ tw_floor_@A@(@T@ a) { return a; }
TW_INLINE @T@ tw_ceil_@A@(@T@ a) { return a; }
TW_INLINE @T@ tw_round_@A@(@T@ a) { return a; }
TW_INLINE @T@ tw_trunc_@A@(@T@ a) { return a; }
TW_INLINE int tw_isnan_@A@(@T@ a) { return (void)a, 0; }
TW_INLINE int tw_isinf_@A@(@T@ a) { return (void)a, 0; }

// [comparisons]
TW_INLINE int tw_less_@A@(@T@ a, @T@ b) { return a < b; }
TW_INLINE int tw_less_equal_@A@(@T@ a, @T@ b) { return a <= b; }
TW_INLINE int tw_greater_@A@(@T@ a, @T@ b) { return a > b; }
TW_INLINE int tw_greater_equal_@A@(@T@ a, @T@ b) { return a >= b; }
TW_INLINE int tw_equal_@A@(@T@ a, @T@ b) { return a == b; }
TW_INLINE int tw_not_equal_@A@(@T@ a, @T@ b) { return a != b; }

// [real]
TW_INLINE double tw_add_float64(double a, double b) { return a + b; }
TW_INLINE double tw_subtract_float64(double a, double b) { return a - b; }
TW_INLINE double tw_multiply_float64(double a, double b) { return a * b; }
TW_INLINE double tw_divide_float64(double a, double b) { return a / b; }
TW_INLINE double tw_reciprocal_float64(double a) { return 1 / a; }
TW_INLINE double tw_negative_float64(double a) { return -a; }
TW_INLINE double tw_square_float64(double a) { return a * a; }
TW_INLINE double tw_abs_float64(double a) { return __builtin_fabs(a); }
TW_INLINE double tw_rounded_float64(double a) { return a; }
TW_INLINE double tw_sqrt_float64(double a) { return __builtin_sqrt(a); }
TW_INLINE double tw_sign_float64(double a) { return a > 0 ? 1 : a < 0 ? -1 : a + 0.0; }
TW_INLINE double tw_maximum_float64(double a, double b) { return a > b || a != a ? a : b; }
TW_INLINE double tw_minimum_float64(double a, double b) { return a < b || a != a ? a : b; }
TW_INLINE int tw_isnan_float64(double a) { return a != a; }
TW_INLINE int tw_isinf_float64(double a) { return a - a != a - a && a == a; }

// [memory]
TW_INLINE @T@ tw_get_@A@(const @T@ *p) { return *p; }
TW_INLINE void tw_put_@A@(@T@ *p, @T@ x) { *p = x; }

// [memory_half]
TW_INLINE float tw_get_@A@(const @T@ *p) { return tw_float_of_@A@(*p); }
TW_INLINE void tw_put_@A@(@T@ *p, @T@ x) { *p = x; }
