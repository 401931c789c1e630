"""Powers of doubles."""

from __future__ import annotations

from fractions import Fraction

from tilewright.kernels.functions.doubles.exponentials import EXP
from tilewright.kernels.functions.doubles.rounding import TRUNC
from tilewright.kernels.functions.doubles.series import series
from tilewright.kernels.helpers import Helper

# x^y = e^(y log(x)), where log(x) is a sum of two doubles; powers of whole numbers that a double holds are products. Products
# of two doubles are taken in halves (Dekker, "A Floating-Point Technique for Extending the Available Precision", 1971).
POW = Helper(
    "tw_pow_float64",
    f"""\
TW_INLINE double tw_product_rest(double a, double b, double product) {{
  union {{ double value; unsigned long bits; }} u = {{a}}, v = {{b}};
  u.bits &= ~0x7ffffffUL, v.bits &= ~0x7ffffffUL;
  const double a_low = a - u.value, b_low = b - v.value;
  return ((u.value * v.value - product) + u.value * b_low + a_low * v.value) + a_low * b_low;
}}
/* a^y for 0 < a < inf: log(a) = n ln(2) + 2 (s + s^3 / 3 + ...), s = (m - 1) / (m + 1), with what s and the sums have lost. */
static __attribute__((unused)) double tw_positive_pow(double a, double y) {{
  union {{ double value; long bits; }} m = {{a < 0x1p-1022 ? a * 0x1p54 : a}};
  const long shifted = m.bits - 0x3fe6a09e667f3bcdL;
  const double n = (double)((shifted >> 52) - (a < 0x1p-1022 ? 54 : 0));
  m.bits = (shifted & 0xfffffffffffffL) + 0x3fe6a09e667f3bcdL;
  const double f = m.value - 1, below = m.value + 1, below_rest = m.value - (below - 1), s = f / below;
  const double s_product = s * below;
  const double s_rest = (((f - s_product) - tw_product_rest(s, below, s_product)) - s * below_rest) / below;
  const double z = s * s;
  const double tail = s * (z * {series([Fraction(1, 2 * k + 1) for k in range(1, 14)], "z")});
  const double head = n * 0x1.62e42feep-1, lead = head + 2 * s;
  const double lead_rest = (head - (lead - (lead - head))) + (2 * s - (lead - head));
  const double rest = lead_rest + (2 * (s_rest + tail) + n * 0x1.a39ef35793c76p-33);
  const double log = lead + rest, log_rest = rest - (log - lead);
  const double power = y * log, power_rest = tw_product_rest(y, log, power) + y * log_rest;
  if (!(power < 710 && power > -746))
    return tw_exp_float64(power);
  const double whole = tw_exp_float64(power);
  return whole + (whole < __builtin_inf() ? whole * power_rest : 0);
}}
static __attribute__((unused)) double tw_pow_float64(double x, double y) {{
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
  if (is_whole && size <= 53 && (size <= 2 || tw_trunc_float64(x) == x)) {{
    double power = 1, factor = x;
    for (long rest = (long)size; rest; rest >>= 1, factor *= factor)
      power = rest & 1 ? power * factor : power;
    if (__builtin_fabs(power) <= 0x1p53 && __builtin_fabs(power) > 0x1p-1000)
      return y < 0 ? 1 / power : power;
  }}
  const double power = tw_positive_pow(a, y);
  return x < 0 && is_odd ? -power : power;
}}
""",
    uses=(
        EXP,
        TRUNC,
    ),
)
