"""NGEMM against conventional kernels with the same block of registers, beside the paper's latency model (section 3.2).

    python -m benchmarks.papers.ngemm [--depths 64,128,...] [--m 16] [--n 64] [--rounds 40]

Conventional kernels (section 2.1) add the lanes of a vector up at the end of every element, by horizontal adds or by shuffles;
those of NGEMM hold an element of the result in each lane. With w = 32 bytes in a vector an element of the result takes

    conventional: K / w c2 + c1 log2(w),   NGEMM: K / w c2

Equation 1 is their ratio. c2 is fitted to the times of NGEMM over all K, then c1 to those of a conventional kernel, both by least
squares of relative errors. Equation 2 is the same as

    1 + c3 log2(w) / l,   l = K / w

with one constant, c3, which is fitted to all measured ratios by least squares. Kernels take turns; the best time of each counts.
Needs AVX2 and GCC.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.report.layout import columns

WIDTH = 32
"""Bytes of a vector: w."""
DEPTHS = (64, 96, 128, 192, 256, 512, 1024, 2048, 4096)
CONVENTIONAL = ("horizontal_adds", "shuffles")
NGEMM = "ngemm"
FLAGS = ("-O2", "-mavx2", "-mfma", "-mtune=generic", "-shared", "-fPIC")
CALL_OPERATIONS = 20_000_000
"""Of one call from Python: some 100 us."""
LEAST_RATIO, SHORT = 1.28, 128
"""What is asked for up to so deep a reduction."""

Array = np.ndarray[Any, np.dtype[Any]]


def compiled(directory: Path) -> ctypes.CDLL:
    """The kernels."""
    library = directory / "ngemm.so"
    source = Path(__file__).with_name("ngemm_kernels.c")
    subprocess.run(["gcc", *FLAGS, str(source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def inner_layout(b: Array) -> Array:
    """(k, n) as 16 columns at a time, 4 steps of 8 columns side by side (section 3.1.1: h = 4, v = 8)."""
    k, n = b.shape
    return np.ascontiguousarray(b.reshape(k // 4, 4, n // 16, 2, 8).transpose(2, 0, 3, 4, 1))


@dataclass(frozen=True, slots=True)
class Latency:
    """Equation 1: the seconds of an element of the result, from those of a vector of steps and of reducing a vector."""

    vector_s: float
    """c2, of phases 1 and 2 on w bytes."""
    reduction_s: float
    """c1, of a halving of a vector's lanes in phase 3."""

    def conventional(self, depth: int) -> float:
        """Numerator of Equation 1.

        >>> Latency(vector_s=3.0, reduction_s=0.5).conventional(64)
        8.5
        """
        return self.ngemm(depth) + self.reduction_s * log2(WIDTH)

    def ngemm(self, depth: int) -> float:
        """Denominator of Equation 1."""
        return depth / WIDTH * self.vector_s

    def ratio(self, depth: int) -> float:
        """Equation 1."""
        return self.conventional(depth) / self.ngemm(depth)


def fitted_latency(depths: Sequence[int], conventional_s: Sequence[float], ngemm_s: Sequence[float]) -> Latency:
    """Equation 1's constants from measured seconds of one element of the result.

    >>> exact = Latency(vector_s=3.0, reduction_s=0.5)
    >>> fitted_latency([64, 128], [exact.conventional(64), exact.conventional(128)], [exact.ngemm(64), exact.ngemm(128)]) == exact
    True
    """
    vectors = np.array(depths) / WIDTH
    vector_s = _least_squares(vectors, np.asarray(ngemm_s), np.asarray(ngemm_s))
    reductions = np.full(len(depths), log2(WIDTH))
    return Latency(
        vector_s, _least_squares(reductions, np.asarray(conventional_s) - vectors * vector_s, np.asarray(conventional_s))
    )


def _least_squares(factors: Array, values: Array, scales: Array) -> float:
    """x for which factors x is nearest to the values, of whose differences each is relative to a scale."""
    slopes = factors / scales
    return float(slopes @ (values / scales) / (slopes @ slopes))


def expected_ratio(depth: int, constant: float) -> float:
    """Equation 2.

    >>> expected_ratio(64, 0.4), expected_ratio(4096, 0.4)
    (2.0, 1.015625)
    """
    return 1 + constant * log2(WIDTH) * WIDTH / depth


def fitted_constant(depths: Sequence[int], ratios: Sequence[float]) -> float:
    """c3 of Equation 2 by least squares.

    >>> round(fitted_constant([64, 128], [2.0, 1.5]), 6)
    0.4
    """
    slopes = np.array([expected_ratio(depth, 1.0) - 1 for depth in depths])
    return float(slopes @ (np.asarray(ratios) - 1) / (slopes @ slopes))


def measured(library: ctypes.CDLL, m: int, n: int, k: int, rounds: int) -> dict[str, float]:
    """The best seconds of a product by every kernel, in turns. Weights are of 7 bits, so that nothing saturates."""
    random = np.random.default_rng(0)
    a, b = random.integers(0, 256, (m, k)).astype(np.uint8), random.integers(-64, 64, (k, n)).astype(np.int8)
    operands = {name: np.ascontiguousarray(b.T) for name in CONVENTIONAL} | {NGEMM: inner_layout(b)}
    count, best = max(1, CALL_OPERATIONS // (2 * m * n * k)), dict.fromkeys(operands, float("inf"))
    for _ in range(rounds):
        for name, right in operands.items():
            c = np.empty((m, n), np.int32)
            pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, right, c)]
            begin = time.perf_counter()
            getattr(library, name)(ctypes.c_long(count), *map(ctypes.c_long, (m, n, k)), *pointers)
            best[name] = min(best[name], (time.perf_counter() - begin) / count)
            if not np.array_equal(c, a.astype(np.int32) @ b.astype(np.int32)):
                raise AssertionError(f"{name} is wrong for K = {k}")
    return best


def table(depths: Sequence[int], times: Sequence[dict[str, float]], operations: Sequence[int]) -> list[str]:
    """Rates of every kernel, and measured ratios beside those of Equation 2."""
    head, lines = ["K", *(f"{name} GOP/s" for name in (*CONVENTIONAL, NGEMM))], []
    rows = [
        [str(k), *(f"{ops / one[name] / 1e9:.1f}" for name in (*CONVENTIONAL, NGEMM))]
        for k, one, ops in zip(depths, times, operations, strict=True)
    ]
    for name in CONVENTIONAL:
        ratios = [one[name] / one[NGEMM] for one in times]
        constant = fitted_constant(depths, ratios)
        head += [f"{name} ratio", "Equation 2"]
        for row, depth, ratio in zip(rows, depths, ratios, strict=True):
            row += [f"{ratio:.2f}", f"{expected_ratio(depth, constant):.2f}"]
        short = [ratio for depth, ratio in zip(depths, ratios, strict=True) if depth <= SHORT]
        least = f", at least {min(short):.2f} for K <= {SHORT} ({LEAST_RATIO} wanted)" if short else ""
        lines.append(f"{name}: c3 = {constant:.3f}{least}")
    return [*columns([head, *rows], right=range(len(head))), *lines]


def latency_table(depths: Sequence[int], times: Sequence[dict[str, float]], elements: int) -> list[str]:
    """Measured nanoseconds of an element of the result, beside both latencies of Equation 1 and their ratio."""
    of_element = {name: [one[name] / elements for one in times] for name in (*CONVENTIONAL, NGEMM)}
    models = {name: fitted_latency(depths, of_element[name], of_element[NGEMM]) for name in CONVENTIONAL}
    head, rows = ["K", f"{NGEMM} ns", "K/w c2"], []
    head += [part for name in CONVENTIONAL for part in (f"{name} ns", "K/w c2 + c1 log2(w)", "Equation 1")]
    for number, depth in enumerate(depths):
        row = [of_element[NGEMM][number], models[CONVENTIONAL[0]].ngemm(depth)]
        cells = [str(depth), *(f"{1e9 * seconds:.2f}" for seconds in row)]
        for name, model in models.items():
            cells += [f"{1e9 * seconds:.2f}" for seconds in (of_element[name][number], model.conventional(depth))]
            cells.append(f"{model.ratio(depth):.2f}")
        rows.append(cells)
    constants = [
        f"{name}: c1 = {1e9 * model.reduction_s:.3f} ns, c2 = {1e9 * model.vector_s:.3f} ns" for name, model in models.items()
    ]
    return ["Of an element of the result:", *columns([head, *rows], right=range(len(head))), *constants]


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--depths", default=",".join(map(str, DEPTHS)), help="values of K, multiples of 32")
    parser.add_argument("--m", type=int, default=16, help="rows, a multiple of 4")
    parser.add_argument("--n", type=int, default=64, help="columns, a multiple of 16")
    parser.add_argument("--rounds", type=int, default=40)
    chosen = parser.parse_args()
    depths = [int(depth) for depth in chosen.depths.split(",")]
    with tempfile.TemporaryDirectory() as directory:
        library = compiled(Path(directory))
        times = [measured(library, chosen.m, chosen.n, depth, chosen.rounds) for depth in depths]
    print(f"{chosen.m} x {chosen.n} products of K steps, u8 by s8, one thread, 4 x 2 vectors of registers")
    print("\n".join(table(depths, times, [2 * chosen.m * chosen.n * depth for depth in depths])))
    print("\n".join(["", *latency_table(depths, times, chosen.m * chosen.n)]))


if __name__ == "__main__":
    main()
