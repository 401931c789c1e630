"""The minimax coefficients of `kernels/dialects/vector_functions.py`: `python -m benchmarks.studies.function_coefficients`.

Quotients P / Q with Q(0) = 1 by Lawson's iteration over the linearised problem (Barrodale, Powell and Roberts, "The Differential
Correction Algorithm for Rational l-infinity Approximation", 1972, discuss it): least squares whose weights grow where the
error is large.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

Values: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
_ERF, _ERFC = np.frompyfunc(math.erf, 1, 1), np.frompyfunc(math.erfc, 1, 1)


def nodes(*ends: float, count: int = 3000) -> Values:
    """Chebyshev nodes of every interval between neighbours of `ends`."""
    unit = np.cos(np.pi * (np.arange(count) + 0.5) / count)
    return np.concatenate([(low + high) / 2 + (high - low) / 2 * unit for low, high in pairwise(ends)])


def quotient(x: Values, wanted: Values, weight: Values, above: int, below: int, rounds: int) -> tuple[float, Values, Values]:
    """The largest weighted error and the coefficients of P and Q, from the highest power down."""
    stretch = float(np.abs(x).max()) / 4
    powers = (x / stretch)[:, None] ** np.arange(max(above, below) + 1)
    emphasis, divisor = np.ones_like(x), np.ones_like(x)
    best = (math.inf, np.empty(0), np.empty(0))
    for _ in range(rounds):
        scale = np.sqrt(emphasis) * weight / divisor
        columns = np.hstack([powers[:, : above + 1], -wanted[:, None] * powers[:, 1 : below + 1]])
        found = np.linalg.lstsq(columns * scale[:, None], wanted * scale, rcond=None)[0]
        p, q = found[: above + 1], np.concatenate([[1.0], found[above + 1 :]])
        divisor = powers[:, : below + 1] @ q
        error = np.abs(powers[:, : above + 1] @ p / divisor - wanted) * weight
        if error.max() < best[0]:
            best = (float(error.max()), p / stretch ** np.arange(above + 1), q / stretch ** np.arange(below + 1))
        emphasis *= error / error.max() + 1e-3
        emphasis /= emphasis.sum()
    return best[0], best[1][::-1], best[2][::-1]


def odd(function: Callable[[Values], Values], bound: float, above: int, below: int, rounds: int) -> tuple[float, Values, Values]:
    """function(x) / x as a quotient in x^2, relative, up to |x| = bound."""
    squares = nodes(1e-12, 1.0, bound * bound)
    wanted = function(np.sqrt(squares)) / np.sqrt(squares)
    return quotient(squares, wanted, 1 / wanted, above, below, rounds)


def main() -> None:
    """Print all of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=1500)
    rounds = parser.parse_args().rounds
    a = nodes(0.0, 2.0, 14.6)
    scaled = np.asarray(_ERFC(a / math.sqrt(2)), np.float64) * np.exp(a * a / 2) / 2
    f = nodes(math.sqrt(0.5) - 1 - 1e-4, math.sqrt(2) - 1 + 1e-4)
    tail, relative = (np.log1p(f) - f + f * f / 2) / f**3, np.abs(f**3 / np.log1p(f))
    results = {
        "tanh(x) / x in x^2": odd(np.tanh, 9.02, 4, 4, rounds),
        "erf(x) / x in x^2": odd(lambda x: np.asarray(_ERF(x), np.float64), 3.93, 6, 4, rounds),
        "e^(a^2/2) erfc(a / sqrt(2)) / 2": quotient(a, scaled, 1 / scaled, 4, 4, rounds),
        "(log(1 + f) - f + f^2/2) / f^3": quotient(f, tail, relative, 6, 0, rounds),
    }
    for name, (error, p, q) in results.items():
        print(f"{name}: largest error {error:.2g}")
        print("  P", ", ".join(f"{c:.8g}" for c in p), "\n  Q", ", ".join(f"{c:.8g}" for c in q))


if __name__ == "__main__":
    main()
