"""C of the scalar functions in one element type, `tw_<function>_<type>`: integers wrap around, doubles follow IEEE 754.

Nothing is undefined: integers are added, subtracted and multiplied without a sign, a division by 0 gives 0, as NumPy's integer
ones do, and shifts by the width or more leave nothing but the sign. Division of integers cuts off the fraction.

One function reports NaN and infinities to whoever called an entry point: `caller` names its context.
"""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.graph.scalar_functions import REPORT_NOT_FINITE
from tilewright.kernels.conversions import CONVERSIONS
from tilewright.kernels.element_access import C_TYPES, HALVES
from tilewright.kernels.functions.double_functions import DOUBLE_FUNCTIONS
from tilewright.kernels.helpers import Helper, filled

REPORT = Helper(
    "tw_not_finite",
    """\
static __attribute__((noinline, cold)) void tw_not_finite(const struct tw_context *caller) {
  if (caller->not_finite)
    caller->not_finite(caller->pool);
}
""",
)
OF_VECTORS = Helper(
    "tw_report_not_finite",
    """\
TW_INLINE tw_vec tw_report_not_finite(const struct tw_context *caller, tw_vec v) { /* v - v is NaN for an infinity */
  if (__builtin_expect(tw_any(tw_not_equal(v - v, tw_splat(0.0f))), 0))
    tw_not_finite(caller);
  return v;
}
""",
    (REPORT,),
)
OF_DOUBLES = Helper(
    "tw_report_not_finite_float64",
    """\
TW_INLINE double tw_report_not_finite_float64(const struct tw_context *caller, double a) {
  if (__builtin_expect(a - a != 0, 0))
    tw_not_finite(caller);
  return a;
}
""",
    (REPORT,),
)


def reports(functions: Iterable[str], helper: Helper) -> list[Helper]:
    """The helper, where it is among the functions.

    >>> reports(["exp"], OF_VECTORS)
    []
    """
    return [helper] if REPORT_NOT_FINITE in functions else []


WHOLE = """\
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
"""
COMPARISONS = """\
TW_INLINE int tw_less_@A@(@T@ a, @T@ b) { return a < b; }
TW_INLINE int tw_less_equal_@A@(@T@ a, @T@ b) { return a <= b; }
TW_INLINE int tw_greater_@A@(@T@ a, @T@ b) { return a > b; }
TW_INLINE int tw_greater_equal_@A@(@T@ a, @T@ b) { return a >= b; }
TW_INLINE int tw_equal_@A@(@T@ a, @T@ b) { return a == b; }
TW_INLINE int tw_not_equal_@A@(@T@ a, @T@ b) { return a != b; }
"""
REAL = """\
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
"""
MEMORY = """\
TW_INLINE @T@ tw_get_@A@(const @T@ *p) { return *p; }
TW_INLINE void tw_put_@A@(@T@ *p, @T@ x) { *p = x; }
"""
MEMORY_HALF = """\
TW_INLINE float tw_get_@A@(const @T@ *p) { return tw_float_of_@A@(*p); }
TW_INLINE void tw_put_@A@(@T@ *p, @T@ x) { *p = x; }
"""
WHOLE_FUNCTIONS = frozenset(part.split("_@A@", 1)[0] for part in (WHOLE + COMPARISONS).split(" tw_")[1:])
"""The functions of integers; all others take a double, which is converted back."""
REAL_FUNCTIONS = frozenset(part.split("_float64", 1)[0] for part in REAL.split(" tw_")[1:]) | {
    part.split("_@A@", 1)[0] for part in COMPARISONS.split(" tw_")[1:]
}


def has_double_form(function: str) -> bool:
    """Whether a function of doubles of that name can be emitted."""
    return function in REAL_FUNCTIONS or function in DOUBLE_FUNCTIONS or function == REPORT_NOT_FINITE


def scalar_functions(accumulator: str, functions: Iterable[str]) -> list[Helper]:
    """The arithmetic of scalar loops in this type, and these functions; what is not of integers is of doubles."""
    called = tuple(functions)
    whole = [] if accumulator == "float64" else [Helper(f"tw_add_{accumulator}", _typed(WHOLE + COMPARISONS, accumulator))]
    of_doubles = [DOUBLE_FUNCTIONS[name] for name in called if name in DOUBLE_FUNCTIONS]
    return [CONVERSIONS, REAL_ARITHMETIC, *whole, *of_doubles, *reports(called, OF_DOUBLES)]


def element_memory(dtypes: Iterable[str]) -> list[Helper]:
    """Loads and stores of single elements of these types."""
    return [_memory(dtype) for dtype in sorted(set(dtypes))]


def _memory(name: str) -> Helper:
    text, needed = (MEMORY_HALF, (CONVERSIONS,)) if name in HALVES else (MEMORY, ())
    return Helper(f"tw_get_{name}", _typed(text, name), needed)


def _typed(text: str, name: str) -> str:
    word = "unsigned long" if name.endswith("64") else "unsigned"
    return filled(text, {"IS_SIGNED": int(not name.startswith("u")), "A": name, "T": C_TYPES[name], "U": word})


REAL_ARITHMETIC = Helper("tw_add_float64", _typed(COMPARISONS, "float64") + REAL)
