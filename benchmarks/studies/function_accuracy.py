"""Errors of `tile/functions` in units in the last place: `python -m benchmarks.studies.function_accuracy [names]`.

Of a million bit patterns, as many numbers of sizes that matter, and special values (all pairs of them for two operands), against
long double, or mpmath where that has no such function, then of fewer values. Sines of float64 are checked in 1,200 bits as well.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import mpmath as mp
import numpy as np

from benchmarks.studies.parts.function_loops import Library, loop
from benchmarks.studies.parts.function_references import OF_TWO, REFERENCES, SLOW, Long, by_mpmath, errors, limit
from tilewright.tile.dialects.registry import dialects
from tilewright.tile.functions.registry import FAST, FLOATS

Array = np.ndarray[Any, np.dtype[Any]]
SPECIAL = (
    0.0,
    1.0,
    0.5,
    2.0,
    3.0,
    1e-45,
    1e-40,
    1e-38,
    5e-324,
    2.2e-308,
    88.7,
    103.9,
    709.7,
    745.0,
    1e30,
    3.4e38,
    1.7e308,
    np.inf,
    np.nan,
)
SLOW_SHARE = 50
"""One of so many values is checked where the reference is mpmath's."""
WIDE = ("sin", "cos", "tan")
WIDE_BITS = 1200


def special(dtype: str) -> Array:
    """Of both signs."""
    with np.errstate(over="ignore"):
        return np.array([sign * one for one in SPECIAL for sign in (1, -1)], dtype)


def values(dtype: str, count: int) -> Array:
    """Bit patterns, and numbers next to 0 and 1, up to 1, 12, 110 and 800, and of all sizes between."""
    rng, info = np.random.default_rng(7), np.finfo(dtype)
    patterns = rng.integers(0, 2**info.bits, count, dtype=np.uint64).astype(f"uint{info.bits}").view(dtype)
    part = count // 5
    drawn = [rng.uniform(-size, size, part) for size in (1, 12, 110, 800)]
    sized = np.exp(rng.uniform(-20, 20, part)) * rng.choice([-1, 1], part)
    return np.concatenate([special(dtype), patterns, *(one.astype(dtype) for one in (*drawn, sized, 1 + sized * 1e-9))])


def operands_of(name: str, dtype: str, count: int) -> Sequence[Array]:
    """One operand, or two."""
    x = values(dtype, count)
    if name not in OF_TWO:
        return (x,)
    first, second = (one.ravel() for one in np.meshgrid(special(dtype), special(dtype)))
    other = np.random.default_rng(8).permutation(x)
    with np.errstate(invalid="ignore"):
        return np.concatenate([first, np.abs(x), x]), np.concatenate([second, other, np.rint(other)])


def compared(name: str, found: Array, operands: Sequence[Array]) -> tuple[float, str]:
    """The largest error, and where."""
    if name in SLOW:
        kept = [np.concatenate([one[: 2 * len(SPECIAL)], one[::SLOW_SHARE]]) for one in (*operands, found)]
        operands, found = kept[:-1], kept[-1]
    with np.errstate(all="ignore"):
        exact = REFERENCES[name](*(one.astype(Long) for one in operands))
    units, right = errors(name, found, exact, operands[0])
    signs = (np.signbit(found) == np.signbit(exact)) | (found != 0) | (exact != 0)
    if not (right & signs).all():
        at = np.flatnonzero(~(right & signs))[0]
        return np.inf, f"at {[float(one[at]) for one in operands]}: {found[at]}"
    at = int(np.argmax(units))
    return float(units[at]), f"at {[float(one[at]) for one in operands]}"


def wide(name: str, found: Array, x: Array) -> float:
    """The largest error of some values in many bits."""
    kept = np.flatnonzero(np.isfinite(x))[:: max(1, x.size // 5000)]
    with mp.workprec(WIDE_BITS):
        exact = by_mpmath(getattr(mp, name), limit=None)(x[kept].astype(Long))
    return float(errors(name, found[kept], exact, x[kept])[0].max())


def main() -> None:
    """Print a line for each function and type."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(REFERENCES))
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--dialect", default="avx512")
    given = parser.parse_args()
    dialect = dialects()[given.dialect]
    for name in given.names:
        for dtype in ("float32", "float64"):
            forms = {"": FLOATS[name], **({"fast_": FAST[name]} if name in FAST and dtype == "float32" else {})}
            lanes = dialect.lanes(dtype)
            library = Library(
                dialect, [loop(f"{form}{name}", one, dtype, 1 + (name in OF_TWO), lanes) for form, one in forms.items()]
            )
            operands = operands_of(name, dtype, given.count)
            for form in forms:
                found = library.computed(f"{form}{name}", *operands)
                largest, where = compared(name, found, operands)
                note = (
                    f", {wide(name, found, operands[0]):.3f} in {WIDE_BITS} bits" if name in WIDE and dtype == "float64" else ""
                )
                print(f"{form}{name:10} {dtype} {largest:7.3f} of {limit(name)} {where}{note}", flush=True)


if __name__ == "__main__":
    main()
