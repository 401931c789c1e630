"""The scalar functions that are more than an instruction, as steps in the vector vocabulary: the same for every ISA.

Every step is a line of C; names behind a $ are vectors, one each or one for each way, `$x` the operand and the result. Where a
function decays, its exponential is kept as a polynomial and a power of two up to the last product, so that results that
underflow are rounded once. The minimax polynomials and quotients are those of `benchmarks/studies/function_coefficients.py`.
Largest relative errors over all floats with a normal result (denormal ones: plus half their spacing) are in docs/kernels.md; all
are below 1e-6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tilewright.records import record


@record
class VectorFunction:
    """A function of one operand."""

    steps: str
    cycles: float
    """Per vector of 16, all ways at a time, less a load and a store: measured with AVX-512 (Zen 5, GCC 12), operands in L1."""


def horner(result: str, variable: str, coefficients: Sequence[float]) -> str:
    """The steps that evaluate a polynomial, its coefficients from the highest power down.

    >>> print(horner("e", "x", (0.5, 1.0, 2.0)), end="")
    $e = tw_multiply_add($x, tw_splat(0.5f), tw_splat(1.0f));
    $e = tw_multiply_add($e, $x, tw_splat(2.0f));
    """
    first, second, *rest = (f"tw_splat({coefficient!r}f)" for coefficient in coefficients)
    lines = [
        f"${result} = tw_multiply_add(${variable}, {first}, {second});",
        *(f"${result} = tw_multiply_add(${result}, ${variable}, {coefficient});" for coefficient in rest),
    ]
    return "".join(f"{line}\n" for line in lines)


def plus(result: str, variable: str, factor: float) -> str:
    """The step that adds a multiple of a variable to a result.

    >>> print(plus("x", "n", -0.5), end="")
    $x = tw_multiply_add($n, tw_splat(-0.5f), $x);
    """
    return f"${result} = tw_multiply_add(${variable}, tw_splat({factor!r}f), ${result});\n"


def stretched(coefficients: Sequence[float], factor: float) -> tuple[float, ...]:
    """The coefficients of p(factor * x), from the highest power down.

    >>> stretched((3.0, 2.0, 1.0), -2.0)
    (12.0, -4.0, 1.0)
    """
    highest = len(coefficients) - 1
    return tuple(float(f"{c * factor ** (highest - i):.9g}") for i, c in enumerate(coefficients))


EXPONENTIAL = (0.00828949921, 0.0418981761, 0.166676506, 0.499991477, 0.999999702, 1.0)
"""e^x for |x| <= ln(2)/2."""
LN2 = (0.693145752, 1.42860677e-6)
"""ln(2), its upper 15 bits apart: n times them is exact, even without fused multiply-adds, for |n| < 512."""

# exp(x) = 2^n * e^r with n = round(x * log2(e)) and r = x - n * ln(2), |r| <= ln(2)/2. ln(2) is split in two (Cody and Waite,
# "Software Manual for the Elementary Functions", 1980, chapter 6): the upper part has 15 significant bits, so that n times it is
# exact even without fused operations. Below -105 the result rounds to 0, above 89 it overflows: the clamps keep n small, and
# let NaN through.
EXP = f"""\
$x = tw_larger(tw_splat(-105.0f), $x);
$x = tw_smaller(tw_splat(89.0f), $x);
$n = tw_round($x * 1.44269504f);
{plus("x", "n", -LN2[0])}{plus("x", "n", -LN2[1])}{horner("e", "x", EXPONENTIAL)}\
$x = tw_scale($e, $n);
"""

# 2^n * 2^f with n = round(x) and f = x - n, which is exact. What is below 2^-125.5 becomes 0.
EXP2_DOWN = f"""\
$n = tw_round($x);
$x = $x - $n;
{horner("e", "x", (0.00132764725, 0.00967554096, 0.0555071309, 0.240221202, 0.693146944, 1.0))}\
$x = tw_scale_down($e, $n);
"""

# x = 2^n * (1 + f) with 1/sqrt(2) <= 1 + f < sqrt(2), by the bits of x (of 2^25 x if x is denormal), and
# log(1 + f) = f - f^2/2 + f^3 P(f) (Moshier, Cephes, logf): next to 1, where n is 0, f alone decides the error.
LOG = f"""\
$n = tw_where(tw_less($x, tw_splat(0x1p-126f)), tw_splat(-25.0f), tw_splat(0.0f));
$f = tw_where(tw_less($x, tw_splat(0x1p-126f)), $x * 0x1p25f, $x);
$n = $n + __builtin_convertvector(((tw_int)$f - 0x3f3504f3) >> 23, tw_vec);
$f = (tw_vec)((((tw_int)$f - 0x3f3504f3) & 0x7fffff) + 0x3f3504f3) - 1.0f;
{horner("e", "f", (0.087015282, -0.14269144, 0.14915132, -0.1657741, 0.19963017, -0.25001341, 0.33333912, -0.5))}\
$e = tw_multiply_add($e, $f * $f, $n * {LN2[1]}f);
$e = tw_multiply_add($n, tw_splat({LN2[0]}f), $e + $f);
$f = tw_where(tw_equal($x, tw_splat(0.0f)), tw_splat(-__builtin_inff()), tw_splat(__builtin_nanf("")));
$f = tw_where(tw_greater($x, tw_splat(0.0f)), $e, $f);
$x = tw_where(tw_equal($x, tw_splat(__builtin_inff())), $x, $f);
"""

# x P(x^2) / Q(x^2), minimax in relative error up to where the function rounds to 1; beyond it the quotient stays.
_ODD = """\
$w = tw_smaller(tw_splat({square}f), $x * $x);
{numerator}{denominator}\
$x = $x * ($p * tw_inverse($q));
$x = tw_smaller(tw_splat(1.0f), tw_larger(tw_splat(-1.0f), $x));
"""
TANH = _ODD.format(
    square=9.02**2,
    numerator=horner("p", "w", (1.3319071e-08, 2.058348e-05, 0.0034940345, 0.13379718, 1.0)),
    denominator=horner("q", "w", (7.762019e-07, 0.00032830927, 0.025871073, 0.46713033, 1.0)),
)
ERF = _ODD.format(
    square=3.93**2,
    numerator=horner("p", "w", (1.9815332e-08, -1.955383e-06, 0.00014249458, 0.0037368066, 0.050689265, 0.20080667, 1.1283791)),
    denominator=horner("q", "w", (0.00096391302, 0.014426954, 0.11536197, 0.51129188, 1.0)),
)

# e^-r = 2^n * e.
_DECAY = f"""\
$n = tw_round($r * -1.44269504f);
{plus("r", "n", LN2[0])}{plus("r", "n", LN2[1])}{horner("e", "r", stretched(EXPONENTIAL, -1.0))}\
"""

# factor / (1 + 2^n * e), times the exponential where x < 0.
_LOGISTIC = """\
$r = tw_inverse(tw_scale_add($e, $n, tw_splat(1.0f)));
$x = tw_where(tw_less($x, tw_splat(0.0f)), tw_scale({factor}$r * $e, $n), {factor}$r);
"""

# 1 / (1 + e^-x), and e^x / (1 + e^x) where x < 0: there the sum would lose the digits of small results. What has underflowed
# beyond 112 is 0 even times x.
SIGMOID = "$r = tw_smaller(tw_splat(112.0f), tw_abs($x));\n" + _DECAY + _LOGISTIC.format(factor="")

# The same, times x, which is NaN at -inf, 0 times infinity, and may lose no other NaN either: that of `r` is lost.
_SCALED = "$z = tw_nan_below(tw_larger(tw_splat(@LEAST@f), $x), $x);\n" + _LOGISTIC.format(factor="$z * ")
SILU = "$r = tw_size_below(tw_splat(112.0f), $x);\n" + _DECAY + _SCALED.replace("@LEAST@", "-112.0")

# x Phi(x) = max(x, 0) - |x| Phi(-|x|), where nothing cancels, and Phi(-a) = e^(-a^2/2) g(a), g(a) = erfcx(a / sqrt(2)) / 2
# (Abramowitz and Stegun, 7.1.13 bound it): a quotient of polynomials, minimax in relative error up to 14.6, where the result
# has underflowed; -0.0 for max(x, 0) keeps its sign. The exponent needs a^2 to 2^-24, absolute: `tw_rest` is what its rounding
# has lost. w becomes -2 times the rest of the exponent, and e the negative product e^(-a^2/2) g(a).
GELU = f"""\
$a = tw_size_below(tw_splat(16.0f), $x);
$w = $a * $a;
$r = tw_rest($a, $a, $w);
$n = tw_round($w * -0.721347520f);
{plus("w", "n", 2 * LN2[0])}{plus("r", "n", 2 * LN2[1])}\
$w = $w + $r;
{horner("e", "w", stretched(EXPONENTIAL, -0.5))}\
{horner("p", "a", (-1.9296731e-07, -0.014738515, -0.1093059, -0.3430792, -0.49999992))}\
{horner("q", "a", (0.036967982, 0.27348904, 0.90277069, 1.4840347, 1.0))}\
$e = $e * ($p * tw_inverse($q));
$x = tw_scale_add($a * $e, $n, tw_nan_below(tw_larger(tw_splat(-0.0f), $x), $x));
"""

# x sigmoid(c (k x + x^3)) with k = 1 / 0.044715 and c = 2 sqrt(2/pi) / k (Hendrycks and Gimpel, "Gaussian Error Linear Units",
# 2016, section 2). v = a^2 + k, p = a v, and `r` what their roundings have lost, as for `GELU`; 22.375 is the upper part of k.
_C = 0.0713548162726
_GELU_TANH_LN2 = (9.7138671875, 0.000223840524)
GELU_TANH = f"""\
$a = tw_size_below(tw_splat(11.0f), $x);
$w = $a * $a;
$v = $w + 22.375f;
$r = ($w - ($v - 22.375f)) + (tw_rest($a, $a, $w) - 0.0111399978f);
$p = $a * $v;
$r = tw_multiply_add($a, $r, tw_rest($a, $v, $p));
$n = tw_round($p * -0.102943239f);
{plus("p", "n", _GELU_TANH_LN2[0])}{plus("r", "n", _GELU_TANH_LN2[1])}\
$p = $p + $r;
{horner("e", "p", stretched(EXPONENTIAL, -_C))}\
""" + _SCALED.replace("@LEAST@", "-11.0")

VECTOR_FUNCTIONS: Mapping[str, VectorFunction] = MappingProxyType(
    {
        "exp": VectorFunction(EXP, 5.0),
        "log": VectorFunction(LOG, 9.7),
        "tanh": VectorFunction(TANH, 7.1),
        "erf": VectorFunction(ERF, 7.7),
        "sigmoid": VectorFunction(SIGMOID, 9.2),
        "silu": VectorFunction(SILU, 9.5),
        "gelu": VectorFunction(GELU, 12.3),
        "gelu_tanh": VectorFunction(GELU_TANH, 12.7),
    }
)
"""By the names of `graph.expressions.scalar_functions`."""
