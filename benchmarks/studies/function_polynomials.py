"""Writes `tile/functions/coefficients.py`: `python -m benchmarks.studies.function_polynomials`.

Polynomials by interpolation at Chebyshev nodes in 60 digits, of functions that are nearly constant where they are used; that is
within a few per cent of minimax (Trefethen, "Approximation Theory and Approximation Practice", 2013, theorem 16.1). For float32,
where units of the last place of something else count, by Lawson's iteration over the linearised problem: least squares whose
weights grow where the error is large (Barrodale, Powell and Roberts, "The Differential Correction Algorithm for Rational
l-infinity Approximation", 1972, discuss it). Constants are cut into parts whose products with small integers are exact (Cody and
Waite, "Software Manual for the Elementary Functions", 1980).
"""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import mpmath as mp
import numpy as np

from tilewright.records import record

Function: TypeAlias = Callable[[Any], Any]
Weight: TypeAlias = Callable[[float], float]
TARGET = Path(__file__).parents[2] / "src/tilewright/tile/functions/coefficients.py"
DIGITS = 60
ROUNDS = 2000
TYPES = ("float32", "float64")
WIDTHS = {"float32": 24, "float64": 53}


@record
class Fit:
    """A function, where it is used, and how many coefficients each type takes; 0 if it does without."""

    meaning: str
    function: Function
    interval: tuple[Any, Any]
    counts: tuple[int, int]
    weight: Weight | None = None
    """Of an error, for float32."""
    short_interval: tuple[Any, Any] | None = None
    """Where float32 uses it, if that is elsewhere."""

    def coefficients(self, count: int, is_weighted: bool) -> list[float]:
        """Highest power first."""
        if is_weighted and self.weight:
            return lawson(self.function, self.short_interval or self.interval, self.weight, count - 1)[0]
        return [float(one) for one in mp.chebyfit(self.function, list(self.interval), count)] if count else []


def lawson(
    function: Function, interval: tuple[Any, Any], weight: Weight, above: int, below: int = 0
) -> tuple[list[float], list[float]]:
    """The P and Q of so many powers, Q(0) = 1, whose quotient has the least weighted error; for float32."""
    low, high = map(float, interval)
    x = (low + high) / 2 + (high - low) / 2 * np.cos(np.pi * (np.arange(1500) + 0.5) / 1500)
    wanted, weights = (np.array([float(one(mp.mpf(at))) for at in x]) for one in (function, weight))
    stretch = np.abs(x).max()
    powers = (x / stretch)[:, None] ** np.arange(max(above, below) + 1)
    columns = np.hstack([powers[:, : above + 1], -wanted[:, None] * powers[:, 1 : below + 1]])
    emphasis, divisor, least, best = np.ones_like(x), np.ones_like(x), np.inf, np.zeros(above + below + 1)
    for _ in range(ROUNDS):
        factor = np.sqrt(emphasis) * weights / divisor
        found = np.linalg.lstsq(columns * factor[:, None], wanted * factor, rcond=None)[0]
        divisor = powers[:, : below + 1] @ np.concatenate([[1.0], found[above + 1 :]])
        error = np.abs(powers[:, : above + 1] @ found[: above + 1] / divisor - wanted) * weights
        if error.max() < least:
            least, best = error.max(), found
        emphasis *= error / error.max() + 1e-3
        emphasis /= emphasis.sum()
    scales = stretch ** np.concatenate([np.arange(above + 1), np.arange(1, below + 1)])
    rounded = [float(np.float32(one)) for one in best / scales]
    return rounded[above::-1], [*rounded[:above:-1], 1.0]


def of_square(function: Function) -> Function:
    """A function of a number as one of its square; its limit at 0 by a small number."""
    least = mp.mpf(10) ** -20
    return lambda z: function(mp.sqrt(z if z > least else least))


def beyond(function: Function, limit: Any) -> Function:
    """A function with its limit at 0."""
    return lambda r: function(r) if abs(r) > mp.mpf(10) ** -15 else mp.mpf(limit)


def unit(value: Any) -> float:
    """Of the last place of a float32 next to a value."""
    return 2.0 ** (int(mp.floor(mp.log(abs(value), 2))) - 23)


def _in_units(r: Any, value: Any) -> float:
    """Of an error times r, more next to the ends of |r| <= 1/2, where r itself is rounded more."""
    return float(abs(r) / unit(value) / (1 - abs(r) / 2))


def erfcx(x: Any) -> Any:
    """e**(x**2) erfc(x)."""
    return mp.exp(x * x) * mp.erfc(x) if x < 100 else (1 - 1 / (2 * x * x) + 3 / (4 * x**4)) / (x * mp.sqrt(mp.pi))


def folded(function: Function, middle: int) -> Function:
    """A function of x as one of (x - middle) / (x + middle)."""
    return lambda t: function(middle * (1 + t) / (1 - t))


def fold(x: Any, middle: int) -> Any:
    """(x - middle) / (x + middle)."""
    return (mp.mpf(x) - middle) / (mp.mpf(x) + middle)


def fits() -> dict[str, Fit]:
    """All polynomials."""
    return {**_exponentials_and_logarithms(), **_angles(), **_error_functions()}


def _exponentials_and_logarithms() -> dict[str, Fit]:
    half_ln2, half = mp.log(2) / 2 * mp.mpf("1.0005"), mp.mpf("0.5")
    ends = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)
    square, mantissa = (0, ends**2 * mp.mpf("1.001")), (mp.sqrt(half) - mp.mpf("1.0001"), mp.sqrt(2) - mp.mpf("0.9999"))
    exp = beyond(lambda r: mp.expm1(r) / r, 1)
    exp2 = beyond(lambda r: (2**r - 1) / r, mp.log(2))
    expm1 = beyond(lambda r: (mp.expm1(r) - r) / r**2, half)
    log = beyond(lambda f: (mp.log1p(f) - f) / f**2, -half)

    def of_square_in_units(f: Any) -> float:
        return float(f**2 / unit(mp.log1p(f))) if abs(f) > 1e-9 else 1e-3

    wide = lambda s: 2 * mp.atanh(s) / (s * mp.log(2))  # noqa: E731
    atanh, tail = (lambda s: (2 * mp.atanh(s) - 2 * s) / s**3), (lambda s: (2 * mp.atanh(s) - 2 * s - 2 * s**3 / 3) / s**5)
    return {
        "EXP": Fit("(e**r - 1) / r", exp, (-half_ln2, half_ln2), (5, 11), lambda r: _in_units(r, mp.exp(r))),
        "EXP2": Fit("(2**r - 1) / r", exp2, (-half, half), (5, 11), lambda r: _in_units(r, mp.mpf(2) ** r)),
        "EXPM1": Fit("(e**r - 1 - r) / r**2", expm1, (-half_ln2, half_ln2), (5, 11), lambda r: float(abs(r))),
        "LOG": Fit("(log(1 + f) - f) / f**2", log, mantissa, (8, 0), of_square_in_units),
        "ATANH": Fit("(2 atanh s - 2 s) / s**3 of s**2", of_square(atanh), square, (4, 8)),
        "LOG2_WIDE": Fit("2 atanh s / (s ln 2) of s**2, for powers of float32", of_square(wide), square, (0, 6)),
        "EXP2_WIDE": Fit("2**r, for powers of float32", lambda r: mp.mpf(2) ** r, (-half, half), (0, 7)),
        "ATANH_TAIL": Fit("(2 atanh s - 2 s - 2 s**3 / 3) / s**5 of s**2", of_square(tail), square, (4, 8)),
    }


def _angles() -> dict[str, Fit]:
    quarter, eighth = (0, (mp.pi / 4) ** 2 * mp.mpf("1.01")), (0, mp.tan(mp.pi / 8) ** 2)
    sin, cos = (lambda t: (mp.sin(t) - t) / t**3), (lambda t: (mp.cos(t) - 1 + t**2 / 2) / t**4)
    atan, asin = (lambda t: (mp.atan(t) - t) / t**3), (lambda t: (mp.asin(t) - t) / t**3)
    return {
        "SIN": Fit("(sin t - t) / t**3 of t**2", of_square(sin), quarter, (4, 7)),
        "COS": Fit("(cos t - 1 + t**2 / 2) / t**4 of t**2", of_square(cos), quarter, (4, 7)),
        "ATAN": Fit("(atan t - t) / t**3 of t**2", of_square(atan), eighth, (6, 13)),
        "ASIN": Fit("(asin t - t) / t**3 of t**2", of_square(asin), (0, mp.mpf(1) / 4), (7, 15)),
    }


def _error_functions() -> dict[str, Fit]:
    least, most = fold(1, 3), fold("5.95", 3)
    middle = mp.mpf("1.2")

    def near_units(square: float) -> float:
        return math.sqrt(square) / unit(mp.erf(mp.sqrt(square)))

    return {
        "ERF": Fit("erf a / a - 1 of a**2", of_square(lambda a: mp.erf(a) / a - 1), (0, 1), (7, 12), near_units, (0, middle**2)),
        "ERF_FAR": Fit(
            "(erfc a)**(1/4)", lambda a: mp.erfc(a) ** 0.25, (middle, mp.mpf("3.93")), (8, 0), lambda a: float(mp.erfc(a) ** 0.75)
        ),
        "ERFCX": Fit("e**(a**2) erfc a of (a - 3) / (a + 3), a > 1", folded(erfcx, 3), (least, most), (0, 15)),
        "ERFC": Fit(
            "(a + 3) e**(a**2) erfc a of (a - 3) / (a + 3)",
            folded(lambda a: (a + 3) * erfcx(a), 3),
            (-1, fold("27.5", 3)),
            (10, 22),
        ),
    }


def quotients() -> dict[str, tuple[str, dict[str, tuple[list[float], list[float]]]]]:
    """P and Q of all quotients, by type."""

    def phi(a: Any) -> Any:
        return erfcx(a / mp.sqrt(2)) / 2

    far = lawson(phi, (0, mp.mpf("14.6")), lambda a: float(1 / phi(a)), 4, 5)
    erf = of_square(lambda x: mp.erf(x) / x)
    whole = lawson(erf, (0, mp.mpf("3.93") ** 2), lambda square: float(1 / erf(square)), 6, 4)
    return {
        "ERF_QUOTIENT": ("erf x / x of x**2", {"float32": whole}),
        "PHI": ("e**(a**2 / 2) erfc(a / sqrt(2)) / 2", {"float32": far}),
    }


def parts(value: Any, widths: Sequence[int]) -> list[float]:
    """Numbers of so many bits each whose sum is nearly the value.

    >>> parts(mp.mpf(1) / 3, [4, 4])
    [0.34375, -0.0107421875]
    """
    found = []
    for width in widths:
        with mp.workprec(width):
            part = +value
        found.append(float(part))
        value -= part
    return found


def below(value: Any, width: int, rest: int) -> list[float]:
    """The same with a first part that is at most the value."""
    with mp.workprec(width):
        part = +value
    if part > value:
        part -= mp.mpf(2) ** (mp.floor(mp.log(part, 2)) + 1 - width)
    return [float(part), *parts(value - part, [rest])]


def constants() -> dict[str, dict[str, list[float]]]:
    """Numbers in parts, by type."""
    ln2, ln10 = mp.log(2), mp.log(10)
    k, factor = 1 / mp.mpf("0.044715"), 2 * mp.sqrt(2 / mp.pi) * mp.mpf("0.044715")
    whole = {
        "PI": mp.pi,
        "TWO_OVER_PI_ROUNDED": 2 / mp.pi,
        "HALF_PI": mp.pi / 2,
        "TWO_THIRDS": mp.mpf(2) / 3,
        "LOG2_E": 1 / ln2,
        "LOG10_E": 1 / ln10,
        "GELU_TANH_C": factor,
    }
    whole = {name: {d: parts(value, [width] * 3) for d, width in WIDTHS.items()} for name, value in whole.items()}
    gelu = {"GELU_TANH_K": k}
    whole |= {name: {d: parts(value, [8, width]) for d, width in WIDTHS.items()} for name, value in gelu.items()}
    cut = {"LN2": ln2, "LOG10_2": ln2 / ln10, "GELU_TANH_LN2": ln2 / factor}
    short = {"float32": (15, 24), "float64": (41, 53)}
    return whole | {name: {d: below(value, *short[d]) for d in TYPES} for name, value in cut.items()}


def two_over_pi() -> list[float]:
    """The digits of 2 / pi behind the point, 24 bits each."""
    with mp.workprec(1400):
        return [float(int(mp.floor(2 / mp.pi * mp.mpf(2) ** (24 * (j + 1)))) % 2**24) for j in range(54)]


def _assignment(name: str, values: dict[str, list[float]], meaning: str = "") -> str:
    rows = "".join(f'    "{dtype}": (\n{_wrapped(numbers)}    ),\n' for dtype, numbers in values.items())
    return f"{name} = {{\n{rows}}}\n" + (f'"""{meaning}"""\n' if meaning else "")


def _wrapped(numbers: Sequence[float], indent: str = " " * 8) -> str:
    lines = textwrap.wrap(", ".join(map(repr, numbers)) + ",", 128, initial_indent=indent, subsequent_indent=indent)
    return "".join(f"{line}\n" for line in lines)


def text() -> str:
    """The module."""
    lines = [
        '"""Coefficients by type, by `benchmarks/studies/function_polynomials.py`: of polynomials highest power first."""\n',
        "# fmt: off",
    ]
    for name, fit in fits().items():
        found = {d: fit.coefficients(count, d == "float32") for d, count in zip(TYPES, fit.counts, strict=True) if count}
        lines.append(_assignment(name, found, fit.meaning))
    for name, (meaning, both) in quotients().items():
        lines.append(_assignment(name, {d: p for d, (p, _) in both.items()}, f"{meaning}: numerator"))
        lines.append(_assignment(f"{name}_BELOW", {d: q for d, (_, q) in both.items()}, "Denominator of the same"))
    lines += [_assignment(name, values) for name, values in constants().items()]
    lines.append(f"TWO_OVER_PI = (\n{_wrapped(two_over_pi(), ' ' * 4)})")
    lines.append('"""The digits of 2 / pi behind the point, 24 bits each."""')
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=TARGET, help="the file; by default the product's own")
    out = parser.parse_args().out
    mp.mp.dps = DIGITS
    out.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
