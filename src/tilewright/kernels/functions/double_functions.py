"""The scalar functions of doubles that are more than an instruction, in C without any library.

Rounding and remainders are exact. Exponentials, logarithms and powers, hyperbolic and trigonometric functions with their
inverses, sigmoids and the error function are Taylor series after a reduction of the argument: no table, no fitted coefficient.
The largest errors that were seen, and that tests/kernels/functions/test_double_functions.py allows, in units of the last place:
1 for exp, log and atan, 4 for all others, but 12 for erf and 40 for pow (where the result is next to the largest double).
Rounded to float32 each is off by less than 0.5001 units.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import factorial
from types import MappingProxyType

from tilewright.kernels.c_files import CTexts
from tilewright.kernels.conversions import CONVERSIONS
from tilewright.kernels.helpers import Helper, filled, paragraphs

TEXTS = CTexts(__file__)


def series(coefficients: Iterable[Fraction], variable: str) -> str:
    """The polynomial with these coefficients, from the constant term up, by Horner's rule in multiply-adds.

    >>> series([Fraction(1), Fraction(1, 2)], "z")
    'tw_multiply_add_float64(z, 0.5, 1.0)'
    """
    first, *lower = coefficients
    return f"tw_multiply_add_float64({variable}, {series(lower, variable)}, {float(first)!r})" if lower else repr(float(first))


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


CONSTANTS = {
    "EXP": series([Fraction(1, factorial(k)) for k in range(2, 15)], "r"),
    "EXPM1": series([Fraction(1, factorial(k)) for k in range(2, 18)], "x"),
    "LOG": series([Fraction(2, 2 * k + 1) for k in range(1, 13)], "z"),
    "POW": series([Fraction(1, 2 * k + 1) for k in range(1, 14)], "z"),
    "TWO_OVER_PI": _two_over_pi(),
    "SINE": series([Fraction((-1) ** k, factorial(2 * k + 1)) for k in range(1, 10)], "z"),
    "COSINE": series([Fraction((-1) ** k, factorial(2 * k)) for k in range(2, 11)], "z"),
    "ATAN": series([Fraction((-1) ** k, 2 * k + 1) for k in range(1, 23)], "z"),
}
"""What stands in the places of these names."""


SUFFIX = "_float64"
_HELPERS = (
    *paragraphs(filled(TEXTS["functions"], CONSTANTS)),
    *(Helper(helper.name, helper.text, (CONVERSIONS,)) for helper in paragraphs(TEXTS["as_stored"])),
)

DOUBLE_FUNCTIONS: Mapping[str, Helper] = MappingProxyType(
    {one.name.removeprefix("tw_").removesuffix(SUFFIX): one for one in _HELPERS if one.name.endswith(SUFFIX)}
)
"""By the names of `graph.expressions.scalar_functions`: each is the C function `tw_<name>_float64`."""
