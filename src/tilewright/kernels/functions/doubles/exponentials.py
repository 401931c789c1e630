"""Exponentials and logarithms of doubles, and what is made of them: hyperbolic functions and sigmoids."""

from __future__ import annotations

from fractions import Fraction
from math import factorial

from tilewright.kernels.functions.doubles.rounding import ROUND
from tilewright.kernels.functions.doubles.series import series
from tilewright.kernels.helpers import Helper

# x = n ln(2) + r, |r| <= ln(2)/2; ln(2) is split in two so that n times the upper part is exact (Cody and Waite, "Software Manual
# for the Elementary Functions", 1980, chapter 6).
EXP = Helper(
    "tw_exp_float64",
    f"""\
TW_INLINE double tw_power_of_two(long n) {{
  const union {{ long bits; double value; }} power = {{(n + 1023) << 52}};
  return power.value;
}}
static __attribute__((unused)) double tw_exp_float64(double x) {{
  if (!(x > -746))
    return x != x ? x : 0;
  if (x > 710)
    return __builtin_inf();
  const double n = tw_round_float64(x * 0x1.71547652b82fep0), r = (x - n * 0x1.62e42feep-1) - n * 0x1.a39ef35793c76p-33;
  const double power = 1 + (r + r * r * {series([Fraction(1, factorial(k)) for k in range(2, 15)], "r")});
  const long half = (long)n / 2;
  return power * tw_power_of_two(half) * tw_power_of_two((long)n - half);
}}
""",
    uses=(ROUND,),
)
EXPM1 = Helper(
    "tw_expm1_float64",
    f"""\
static __attribute__((unused)) double tw_expm1_float64(double x) {{
  if (!(__builtin_fabs(x) < 0.5))
    return tw_exp_float64(x) - 1;
  return x == 0 ? x : x + x * x * {series([Fraction(1, factorial(k)) for k in range(2, 18)], "x")};
}}
""",
    uses=(EXP,),
)
# x = 2^n (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), s = f / (2 + f): log(1 + f) = f - (f^2/2 - s (f^2/2 + R)), where
# R = 2 s^2/3 + 2 s^4/5 + ...
LOG = Helper(
    "tw_log_float64",
    f"""\
static __attribute__((unused)) double tw_log_float64(double x) {{
  if (!(x > 0 && x < __builtin_inf()))
    return x == 0 ? -__builtin_inf() : x > 0 || x != x ? x : __builtin_nan("");
  union {{ double value; long bits; }} one = {{x < 0x1p-1022 ? x * 0x1p54 : x}};
  const long shifted = one.bits - 0x3fe6a09e667f3bcdL;
  const double n = (double)((shifted >> 52) - (x < 0x1p-1022 ? 54 : 0));
  one.bits = (shifted & 0xfffffffffffffL) + 0x3fe6a09e667f3bcdL;
  const double f = one.value - 1, s = f / (2 + f), z = s * s, half = f * f / 2;
  const double rest = z * {series([Fraction(2, 2 * k + 1) for k in range(1, 13)], "z")};
  return n * 0x1.62e42feep-1 - ((half - (s * (half + rest) + n * 0x1.a39ef35793c76p-33)) - f);
}}
""",
)
# Kahan's correction: 1 + x is rounded, and what it lost changes log(1 + x) in proportion.
LOG1P = Helper(
    "tw_log1p_float64",
    """\
static __attribute__((unused)) double tw_log1p_float64(double x) {
  const double one = 1 + x;
  return one == 1 ? x : one - one != 0 || one <= 0 ? tw_log_float64(one) : tw_log_float64(one) * (x / (one - 1));
}
""",
    uses=(LOG,),
)
SINH = Helper(
    "tw_sinh_float64",
    """\
static __attribute__((unused)) double tw_sinh_float64(double x) {
  const double a = __builtin_fabs(x), half = tw_exp_float64(a / 2), t = tw_expm1_float64(a);
  return __builtin_copysign(a > 700 ? half / 2 * half : (t + t / (t + 1)) / 2, x);
}
""",
    uses=(
        EXP,
        EXPM1,
    ),
)
COSH = Helper(
    "tw_cosh_float64",
    """\
static __attribute__((unused)) double tw_cosh_float64(double x) {
  const double a = __builtin_fabs(x), half = tw_exp_float64(a / 2), e = tw_exp_float64(a);
  return a > 700 ? half / 2 * half : (e + 1 / e) / 2;
}
""",
    uses=(EXP,),
)
TANH = Helper(
    "tw_tanh_float64",
    """\
static __attribute__((unused)) double tw_tanh_float64(double x) {
  const double a = __builtin_fabs(x), t = tw_expm1_float64(2 * (a < 30 ? a : 30));
  return x != x ? x : __builtin_copysign(t / (t + 2), x);
}
""",
    uses=(EXPM1,),
)
ASINH = Helper(
    "tw_asinh_float64",
    """\
static __attribute__((unused)) double tw_asinh_float64(double x) {
  const double a = __builtin_fabs(x), root = __builtin_sqrt(a * a + 1);
  const double size = a > 0x1p28 ? tw_log_float64(a) + 0.6931471805599453 : tw_log1p_float64(a + a * a / (1 + root));
  return __builtin_copysign(size, x);
}
""",
    uses=(
        LOG,
        LOG1P,
    ),
)
ACOSH = Helper(
    "tw_acosh_float64",
    """\
static __attribute__((unused)) double tw_acosh_float64(double x) {
  const double above = x - 1;
  if (x > 0x1p28)
    return tw_log_float64(x) + 0.6931471805599453;
  return tw_log1p_float64(above + __builtin_sqrt(above < 0 ? __builtin_nan("") : 2 * above + above * above));
}
""",
    uses=(
        LOG,
        LOG1P,
    ),
)
ATANH = Helper(
    "tw_atanh_float64",
    """\
static __attribute__((unused)) double tw_atanh_float64(double x) {
  const double a = __builtin_fabs(x);
  return __builtin_copysign(tw_log1p_float64(2 * a / (1 - a)) / 2, x);
}
""",
    uses=(LOG1P,),
)
SIGMOID = Helper(
    "tw_sigmoid_float64",
    """\
static __attribute__((unused)) double tw_sigmoid_float64(double x) {
  const double power = tw_exp_float64(-__builtin_fabs(x));
  return (x < 0 ? power : 1) / (1 + power);
}
""",
    uses=(EXP,),
)
SILU = Helper(
    "tw_silu_float64",
    """\
static __attribute__((unused)) double tw_silu_float64(double x) {
  return x * tw_sigmoid_float64(x);
}
""",
    uses=(SIGMOID,),
)
GELU_TANH = Helper(
    "tw_gelu_tanh_float64",
    """\
static __attribute__((unused)) double tw_gelu_tanh_float64(double x) {
  return x * tw_sigmoid_float64(1.5957691216057308 * (x + 0.044715 * x * x * x));
}
""",
    uses=(SIGMOID,),
)
