"""Rounding and remainders of doubles, exact."""

# tw_round_float64: to the nearest, ties to even, where adding 2^52 rounds.
# tw_fmod_float64: long division of the significands, bit by bit.
TEXT = """\
TW_INLINE double tw_trunc_float64(double x) {
  return __builtin_fabs(x) < 0x1p52 ? __builtin_copysign((double)(long)x, x) : x;
}

TW_INLINE double tw_floor_float64(double x) {
  const double whole = tw_trunc_float64(x);
  return whole > x ? whole - 1 : whole;
}

TW_INLINE double tw_ceil_float64(double x) {
  const double whole = tw_trunc_float64(x);
  return whole < x ? whole + 1 : whole;
}

TW_INLINE double tw_round_float64(double x) {
  const double size = __builtin_fabs(x);
  return size < 0x1p52 ? __builtin_copysign((size + 0x1p52) - 0x1p52, x) : x;
}

static __attribute__((unused)) double tw_fmod_float64(double x, double y) {
  union { double value; unsigned long bits; } a = {__builtin_fabs(x)}, b = {__builtin_fabs(y)};
  if (!(a.value < __builtin_inf()) || !(b.value > 0))
    return __builtin_nan("");
  if (a.value < b.value)
    return x;
  long a_exponent = (long)(a.bits >> 52), b_exponent = (long)(b.bits >> 52);
  unsigned long rest = (a.bits & 0xfffffffffffffUL) | (a_exponent ? 1UL << 52 : 0);
  const unsigned long by = (b.bits & 0xfffffffffffffUL) | (b_exponent ? 1UL << 52 : 0);
  a_exponent += !a_exponent;
  b_exponent += !b_exponent;
  rest %= by;
  for (; a_exponent > b_exponent && rest; a_exponent--)
    rest = (rest << 1) % by;
  for (; rest && !(rest >> 52) && b_exponent > 1; b_exponent--)
    rest <<= 1;
  a.bits = rest >> 52 ? (rest & 0xfffffffffffffUL) | (unsigned long)b_exponent << 52 : rest;
  return __builtin_copysign(a.value, x);
}

TW_INLINE double tw_mod_float64(double a, double b) {
  const double rest = tw_fmod_float64(a, b);
  return rest == 0 ? __builtin_copysign(0.0, b) : (rest < 0) != (b < 0) ? rest + b : rest;
}

TW_INLINE double tw_floor_divide_float64(double a, double b) {
  if (b == 0)
    return a / b;
  const double rest = tw_fmod_float64(a, b), whole = (a - rest) / b - (rest != 0 && (b < 0) != (rest < 0));
  const double low = tw_floor_float64(whole);
  return whole == 0 ? __builtin_copysign(0.0, a / b) : low + (whole - low > 0.5);
}

TW_INLINE double tw_as_float16_float64(double x) { return tw_float_of_float16(tw_float16_of(x)); }

TW_INLINE double tw_as_bfloat16_float64(double x) { return tw_float_of_bfloat16(tw_bfloat16_of(x)); }
"""
