"""Trigonometric functions of doubles and their inverses."""

from fractions import Fraction
from math import factorial

from tilewright.kernels.functions.doubles.series import series


def _two_over_pi() -> str:
    """64 zero bits, then the bits of 2 / pi, in words of 64 bits, by Machin's formula for pi."""
    bits, guard = 1280, 64
    unit = 1 << (bits + guard)

    def arctangent_of_inverse(x: int) -> int:
        total, power, k = 0, unit // x, 1
        while power:
            total += power // k if k % 4 == 1 else -(power // k)
            power, k = power // (x * x), k + 2
        return total

    pi = 4 * (4 * arctangent_of_inverse(5) - arctangent_of_inverse(239))
    value = (2 * unit << bits) // pi
    words = [value >> (bits - 64 * (i + 1)) & (2**64 - 1) for i in range(bits // 64)]
    return ", ".join(["0", *(f"{word:#x}" for word in words)])


# tw_angle_of: a number is an integer m times 2^e, m < 2^53. Of 2/pi those 192 bits matter that m 2^e takes to weights between 2
# and 2^-190: what is above makes multiples of four quadrants (Payne and Hanek, "Radian reduction for trigonometric functions",
# 1983).
# tw_atan_float64: atan(a) = atan(c) + atan((a - c) / (1 + a c)) for c = 1/2, 1, 3/2 and infinity: the argument is at most 7/16.
TEXT = """\
struct tw_angle { double rest; long quadrant; }; /* rest is within pi/4 of 0 */
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
"""
SERIES = {
    "TWO_OVER_PI": _two_over_pi(),
    "SINE": series([Fraction((-1) ** k, factorial(2 * k + 1)) for k in range(1, 10)], "z"),
    "COSINE": series([Fraction((-1) ** k, factorial(2 * k)) for k in range(2, 11)], "z"),
    "ATAN": series([Fraction((-1) ** k, 2 * k + 1) for k in range(1, 23)], "z"),
}
"""What stands in the places of these names."""
