"""The error function of doubles, its complement, and GELU."""

from __future__ import annotations

from tilewright.kernels.functions.doubles.exponentials import EXP
from tilewright.kernels.helpers import Helper

# erfc(a) = e^(-a^2) / (sqrt(pi) (a + (1/2) / (a + 1 / (a + (3/2) / (a + ...))))), Abramowitz and Stegun, 7.1.14, and
# erf(a) = 2 / sqrt(pi) e^(-a^2) (a + 2 a^3 / 3 + 4 a^5 / 15 + ...), 7.1.6. a^2 is taken in two parts, the larger one exact.
ERFC = Helper(
    "tw_erfc_float64",
    """\
TW_INLINE double tw_gaussian(double a) {
  union { double value; unsigned long bits; } high = {a};
  high.bits &= ~0x7ffffffUL;
  return tw_exp_float64(-high.value * high.value) * tw_exp_float64(-(a - high.value) * (a + high.value));
}
static __attribute__((unused)) double tw_erf_near_0(double a) {
  double term = a, sum = a;
  for (int k = 1; k < 100 && term > sum * 0x1p-60; k++)
    sum += term *= 2 * a * a / (2 * k + 1);
  return 1.1283791670955126 * tw_gaussian(a) * sum;
}
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
""",
    uses=(EXP,),
)
ERF = Helper(
    "tw_erf_float64",
    """\
static __attribute__((unused)) double tw_erf_float64(double x) {
  const double a = __builtin_fabs(x);
  return x != x ? x : __builtin_copysign(a < 2 ? tw_erf_near_0(a) : 1 - tw_erfc_far(a), x);
}
""",
    uses=(ERFC,),
)
GELU = Helper(
    "tw_gelu_float64",
    """\
static __attribute__((unused)) double tw_gelu_float64(double x) {
  return x * tw_erfc_float64(x * -0.7071067811865476) / 2;
}
""",
    uses=(ERFC,),
)
