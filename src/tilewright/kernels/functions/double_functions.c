// [functions]
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

// To the nearest, ties to even, where adding 2^52 rounds.
TW_INLINE double tw_round_float64(double x) {
  const double size = __builtin_fabs(x);
  return size < 0x1p52 ? __builtin_copysign((size + 0x1p52) - 0x1p52, x) : x;
}

// Long division of the significands, bit by bit.
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

TW_INLINE double tw_power_of_two(long n) {
  const union { long bits; double value; } power = {(n + 1023) << 52};
  return power.value;
}
// x = n ln(2) + r, |r| <= ln(2)/2; ln(2) is split in two so that n times the upper part is exact (Cody and Waite, "Software Manual
// for the Elementary Functions", 1980, chapter 6).
static __attribute__((unused)) double tw_exp_float64(double x) {
  if (!(x > -746))
    return x != x ? x : 0;
  if (x > 710)
    return __builtin_inf();
  const double n = tw_round_float64(x * 0x1.71547652b82fep0), r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
  const double power = 1 + (r + r * r * @EXP@);
  const long half = (long)n / 2;
  return power * tw_power_of_two(half) * tw_power_of_two((long)n - half);
}

static __attribute__((unused)) double tw_expm1_float64(double x) {
  if (!(__builtin_fabs(x) < 0.5))
    return tw_exp_float64(x) - 1;
  return x == 0 ? x : x + x * x * @EXPM1@;
}

// x = 2^n (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), s = f / (2 + f): log(1 + f) = f - (f^2/2 - s (f^2/2 + R)), where
// R = 2 s^2/3 + 2 s^4/5 + ...
static __attribute__((unused)) double tw_log_float64(double x) {
  if (!(x > 0 && x < __builtin_inf()))
    return x == 0 ? -__builtin_inf() : x > 0 || x != x ? x : __builtin_nan("");
  union { double value; long bits; } one = {x < 0x1p-1022 ? x * 0x1p54 : x};
  const long shifted = one.bits - 0x3fe6a09e667f3bcdL;
  const double n = (double)((shifted >> 52) - (x < 0x1p-1022 ? 54 : 0));
  one.bits = (shifted & 0xfffffffffffffL) + 0x3fe6a09e667f3bcdL;
  const double f = one.value - 1, s = f / (2 + f), z = s * s, half = f * f / 2;
  const double rest = z * @LOG@;
  return n * 0x1.62e42feep-1 - ((half - (s * (half + rest) + n * 0x1.a39ef35793c76p-33)) - f);
}

// Kahan's correction. 1 + x is rounded, and what it lost changes log(1 + x) in proportion.
static __attribute__((unused)) double tw_log1p_float64(double x) {
  const double one = 1 + x;
  return one == 1 ? x : one - one != 0 || one <= 0 ? tw_log_float64(one) : tw_log_float64(one) * (x / (one - 1));
}

static __attribute__((unused)) double tw_sinh_float64(double x) {
  const double a = __builtin_fabs(x), half = tw_exp_float64(a / 2), t = tw_expm1_float64(a);
  return __builtin_copysign(a > 700 ? half / 2 * half : (t + t / (t + 1)) / 2, x);
}

static __attribute__((unused)) double tw_cosh_float64(double x) {
  const double a = __builtin_fabs(x), half = tw_exp_float64(a / 2), e = tw_exp_float64(a);
  return a > 700 ? half / 2 * half : (e + 1 / e) / 2;
}

static __attribute__((unused)) double tw_tanh_float64(double x) {
  const double a = __builtin_fabs(x), t = tw_expm1_float64(2 * (a < 30 ? a : 30));
  return x != x ? x : __builtin_copysign(t / (t + 2), x);
}

static __attribute__((unused)) double tw_asinh_float64(double x) {
  const double a = __builtin_fabs(x), root = __builtin_sqrt(a * a + 1);
  const double size = a > 0x1p28 ? tw_log_float64(a) + 0.6931471805599453 : tw_log1p_float64(a + a * a / (1 + root));
  return __builtin_copysign(size, x);
}

static __attribute__((unused)) double tw_acosh_float64(double x) {
  const double above = x - 1;
  if (x > 0x1p28)
    return tw_log_float64(x) + 0.6931471805599453;
  return tw_log1p_float64(above + __builtin_sqrt(above < 0 ? __builtin_nan("") : 2 * above + above * above));
}

static __attribute__((unused)) double tw_atanh_float64(double x) {
  const double a = __builtin_fabs(x);
  return __builtin_copysign(tw_log1p_float64(2 * a / (1 - a)) / 2, x);
}

static __attribute__((unused)) double tw_sigmoid_float64(double x) {
  const double power = tw_exp_float64(-__builtin_fabs(x));
  return (x < 0 ? power : 1) / (1 + power);
}

static __attribute__((unused)) double tw_silu_float64(double x) {
  return x * tw_sigmoid_float64(x);
}

static __attribute__((unused)) double tw_gelu_tanh_float64(double x) {
  return x * tw_sigmoid_float64(1.5957691216057308 * (x + 0.044715 * x * x * x));
}

// e^(-a^2): a^2 is taken in two parts, the larger one exact.
TW_INLINE double tw_gaussian(double a) {
  union { double value; unsigned long bits; } high = {a};
  high.bits &= ~0x7ffffffUL;
  return tw_exp_float64(-high.value * high.value) * tw_exp_float64(-(a - high.value) * (a + high.value));
}
// erf(a) = 2 / sqrt(pi) e^(-a^2) (a + 2 a^3 / 3 + 4 a^5 / 15 + ...), Abramowitz and Stegun, 7.1.6.
static __attribute__((unused)) double tw_erf_near_0(double a) {
  double term = a, sum = a;
  for (int k = 1; k < 100 && term > sum * 0x1p-60; k++)
    sum += term *= 2 * a * a / (2 * k + 1);
  return 1.1283791670955126 * tw_gaussian(a) * sum;
}
// erfc(a) = e^(-a^2) / (sqrt(pi) (a + (1/2) / (a + 1 / (a + (3/2) / (a + ...))))), Abramowitz and Stegun, 7.1.14.
static __attribute__((unused)) double tw_erfc_far(double a) {
  double below = a;
  for (int k = 120; k > 0; k--)
    below = a + 0.5 * k / below;
  return a > 28 ? 0 : tw_gaussian(a) / (1.772453850905516 * below);
}
static __attribute__((unused)) double tw_erfc_float64(double x) {
  const double a = __builtin_fabs(x), size = a < 2 ? 1 - tw_erf_near_0(a) : tw_erfc_far(a);
  return x != x ? x : x < 0 ? 2 - size : size;
}

static __attribute__((unused)) double tw_erf_float64(double x) {
  const double a = __builtin_fabs(x);
  return x != x ? x : __builtin_copysign(a < 2 ? tw_erf_near_0(a) : 1 - tw_erfc_far(a), x);
}

static __attribute__((unused)) double tw_gelu_float64(double x) {
  return x * tw_erfc_float64(x * -0.7071067811865476) / 2;
}

// What a product of two doubles has lost, in halves (Dekker, "A Floating-Point Technique for Extending the Available Precision",
// 1971).
TW_INLINE double tw_product_rest(double a, double b, double product) {
  union { double value; unsigned long bits; } u = {a}, v = {b};
  u.bits &= ~0x7ffffffUL, v.bits &= ~0x7ffffffUL;
  const double a_low = a - u.value, b_low = b - v.value;
  return ((u.value * v.value - product) + u.value * b_low + a_low * v.value) + a_low * b_low;
}
/* a^y for 0 < a < inf: log(a) = n ln(2) + 2 (s + s^3 / 3 + ...), s = (m - 1) / (m + 1), with what s and the sums have lost. */
static __attribute__((unused)) double tw_positive_pow(double a, double y) {
  union { double value; long bits; } m = {a < 0x1p-1022 ? a * 0x1p54 : a};
  const long shifted = m.bits - 0x3fe6a09e667f3bcdL;
  const double n = (double)((shifted >> 52) - (a < 0x1p-1022 ? 54 : 0));
  m.bits = (shifted & 0xfffffffffffffL) + 0x3fe6a09e667f3bcdL;
  const double f = m.value - 1, below = m.value + 1, below_rest = m.value - (below - 1), s = f / below;
  const double s_product = s * below;
  const double s_rest = (((f - s_product) - tw_product_rest(s, below, s_product)) - s * below_rest) / below;
  const double z = s * s;
  const double tail = s * (z * @POW@);
  const double head = n * 0x1.62e42feep-1, lead = head + 2 * s;
  const double lead_rest = (head - (lead - (lead - head))) + (2 * s - (lead - head));
  const double rest = lead_rest + (2 * (s_rest + tail) + n * 0x1.a39ef35793c76p-33);
  const double log = lead + rest, log_rest = rest - (log - lead);
  const double power = y * log, power_rest = tw_product_rest(y, log, power) + y * log_rest;
  if (!(power < 710 && power > -746))
    return tw_exp_float64(power);
  const double whole = tw_exp_float64(power);
  return whole + (whole < __builtin_inf() ? whole * power_rest : 0);
}
// x^y = e^(y log(x)), where log(x) is a sum of two doubles; powers of whole numbers that a double holds are products.
static __attribute__((unused)) double tw_pow_float64(double x, double y) {
  const double a = __builtin_fabs(x), size = __builtin_fabs(y);
  if (y == 0 || x == 1)
    return 1;
  if (x != x || y != y)
    return x + y;
  const int is_whole = tw_trunc_float64(y) == y, is_odd = is_whole && size < 0x1p53 && ((long)size & 1);
  if (a == 1 && size == __builtin_inf())
    return 1;
  if (a == 0 || a == __builtin_inf() || size == __builtin_inf())
    return ((a > 1) == (y > 0) ? __builtin_inf() : 0) * (x < 0 || 1 / x < 0 ? is_odd ? -1.0 : 1.0 : 1.0);
  if (x < 0 && !is_whole)
    return __builtin_nan("");
  if (is_whole && size <= 53 && (size <= 2 || tw_trunc_float64(x) == x)) {
    double power = 1, factor = x;
    for (long rest = (long)size; rest; rest >>= 1, factor *= factor)
      power = rest & 1 ? power * factor : power;
    if (__builtin_fabs(power) <= 0x1p53 && __builtin_fabs(power) > 0x1p-1000)
      return y < 0 ? 1 / power : power;
  }
  const double power = tw_positive_pow(a, y);
  return x < 0 && is_odd ? -power : power;
}

struct tw_angle { double rest; long quadrant; }; /* rest is within pi/4 of 0 */
// A number is an integer m times 2^e, m < 2^53. Of 2/pi those 192 bits matter that m 2^e takes to weights between 2 and 2^-190:
// what is above makes multiples of four quadrants (Payne and Hanek, "Radian reduction for trigonometric functions", 1983).
static __attribute__((unused)) struct tw_angle tw_angle_of(double x) {
  static const unsigned long two_over_pi[] = {@TWO_OVER_PI@};
  const union { double value; unsigned long bits; } size = {__builtin_fabs(x)};
  if (size.value < 0x1.921fb54442d18p-1 || !(size.value < __builtin_inf()))
    return (struct tw_angle){size.value - (size.value < __builtin_inf() ? 0 : size.value), 0};
  const unsigned long whole = (size.bits & 0xfffffffffffffUL) | 1UL << 52;
  const long first = (long)(size.bits >> 52) - 1075 - 2 + 64, word = first / 64, shift = first % 64;
  unsigned long part[3];
  for (int i = 0; i < 3; i++) {
    const unsigned long *from = two_over_pi + word + i;
    part[i] = shift ? from[0] << shift | from[1] >> (64 - shift) : from[0];
  }
  const unsigned __int128 low = (unsigned __int128)part[2] * whole, middle = (unsigned __int128)part[1] * whole + (low >> 64);
  const unsigned long high = part[0] * whole + (unsigned long)(middle >> 64), next = (unsigned long)middle;
  const unsigned long fraction = high << 2 | next >> 62, behind = next << 2 | (unsigned long)low >> 62;
  const double turn = (double)(long)fraction * 0x1p-64 + (double)behind * 0x1p-128;
  return (struct tw_angle){turn * 0x1.921fb54442d18p0, (long)(high >> 62) + (long)(fraction >> 63)};
}
TW_INLINE double tw_sine_of_rest(double r) {
  const double z = r * r;
  return r + r * (z * @SINE@);
}
TW_INLINE double tw_cosine_of_rest(double r) {
  const double z = r * r, half = z / 2, most = 1 - half;
  return most + (((1 - most) - half) + z * z * @COSINE@);
}

static __attribute__((unused)) double tw_sin_float64(double x) {
  const struct tw_angle angle = tw_angle_of(x);
  const double size = angle.quadrant & 1 ? tw_cosine_of_rest(angle.rest) : tw_sine_of_rest(angle.rest);
  return ((angle.quadrant & 2) != 0) != (__builtin_copysign(1.0, x) < 0) ? -size : size;
}

static __attribute__((unused)) double tw_cos_float64(double x) {
  const struct tw_angle angle = tw_angle_of(x);
  const double size = angle.quadrant & 1 ? tw_sine_of_rest(angle.rest) : tw_cosine_of_rest(angle.rest);
  return (angle.quadrant + 1) & 2 ? -size : size;
}

static __attribute__((unused)) double tw_tan_float64(double x) {
  const struct tw_angle angle = tw_angle_of(x);
  const double sine = tw_sine_of_rest(angle.rest), cosine = tw_cosine_of_rest(angle.rest);
  const double size = angle.quadrant & 1 ? -cosine / sine : sine / cosine;
  return __builtin_copysign(1.0, x) < 0 ? -size : size;
}

// atan(a) = atan(c) + atan((a - c) / (1 + a c)) for c = 1/2, 1, 3/2 and infinity: the argument is at most 7/16.
static __attribute__((unused)) double tw_atan_float64(double x) {
  const double a = __builtin_fabs(x);
  double t = a, high = 0, low = 0;
  if (a >= 2.4375)
    t = -1 / a, high = 1.5707963267948966, low = 6.123233995736766e-17;
  else if (a >= 1.1875)
    t = (a - 1.5) / (1 + 1.5 * a), high = 0.982793723247329, low = 1.3903311031230998e-17;
  else if (a >= 0.6875)
    t = (a - 1) / (a + 1), high = 0.7853981633974483, low = 3.061616997868383e-17;
  else if (a >= 0.4375)
    t = (2 * a - 1) / (2 + a), high = 0.4636476090008061, low = 2.2698777452961687e-17;
  const double z = t * t;
  const double size = high + (t + (t * (z * @ATAN@) + low));
  return __builtin_copysign(size, x);
}

static __attribute__((unused)) double tw_asin_float64(double x) {
  return tw_atan_float64(x / __builtin_sqrt((1 - x) * (1 + x)));
}

static __attribute__((unused)) double tw_acos_float64(double x) {
  return 2 * tw_atan_float64(__builtin_sqrt((1 - x) / (1 + x)));
}

// [as_stored]
TW_INLINE double tw_as_float16_float64(double x) { return tw_float_of_float16(tw_float16_of(x)); }

TW_INLINE double tw_as_bfloat16_float64(double x) { return tw_float_of_bfloat16(tw_bfloat16_of(x)); }
