"""Measure what share of the FMA peak each registered micro kernel reaches on this machine, with each compiler.

    python -m benchmarks.studies.micro_kernels [--samples N] [name ...]

Full tiles on panels that stay in L1, K = 64, 256 and 512 (B is given a row stride of 0, as a panel of 512 rows would leave L1;
so are columns, where a kernel reads those). Every sample stands between two runs of a loop of independent multiply-adds in the
widest vectors of the kernel's features, and is compared with the faster one's share of the kernel's own lanes: so shares hold
while the clock drifts. The median and the 90th percentile are printed; where they differ much, something else was using the
core.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.support.kernel_build import COMPILERS, argument_types, c_library, command, load
from tests.support.targets import cpu_flags
from tilewright.kernels import MicroKernel, VectorDialect, dialect_for, registered
from tilewright.kernels.contract import DEPTH
from tilewright.kernels.element_types import ELEMENT_BYTES

ACCUMULATORS = 14
"""Six cycles of latency, two of these a cycle, where a product and a sum are two instructions; one register more is needed."""
FUSED, KEPT = '#pragma GCC optimize("fp-contract=fast")', '__asm__("" : "+v"(%s))'
"""Products and sums are one instruction where there is one, and stay in the loop."""
PEAK_TRIPS = 20_000
STEPS_PER_RUN = 32_768
"""Some 100 us: the 1-2 us that Python takes to start a run must not count."""
DEPTHS = (64, 256, 512)
REPEAT = """
typedef void kernel(long, const float *, long, long, const float *, long, float *, long, long, long, long);
EXPORT void repeat(kernel *f, long count, long k, const float *a, long a_row, long a_column, const float *b, long b_row,
                   float *c, long c_row, long m, long n, long accumulate) {
  for (long i = 0; i < count; i++)
    f(k, a, a_row, a_column, b, b_row, c, c_row, m, n, accumulate);
}
"""


@dataclass(frozen=True, slots=True)
class Run:
    """Something to time, and the flops of one call."""

    call: Callable[[], None]
    flops: int

    def rate(self) -> float:
        """Flops per second of one call."""
        start = time.monotonic()
        self.call()
        return self.flops / (time.monotonic() - start)


def peak(dialect: VectorDialect, lanes: int) -> Run:
    """Independent accumulators: what the vector units can do in so many lanes of the dialect's vectors."""
    sums = [f"s{i}" for i in range(ACCUMULATORS)]
    vector = f"typedef float vec __attribute__((vector_size({dialect.vector_bits // 8}), aligned(4)));"
    lines = [vector, FUSED, "EXPORT void peak(long trips, float *out) {", "  vec x = *(vec *)out;"]
    lines += [f"  vec {s} = x + {i}.0f;" for i, s in enumerate(sums)]
    lines += [
        "  for (long i = 0; i < trips; i++) {",
        *(f"    {s} = {s} * x + x; {KEPT % s};" for s in sums),
        "  }",
    ]
    library = c_library(dialect.features, "\n".join([*lines, f"  *(vec *)out = {' + '.join(sums)};", "}", ""]))
    values = np.full(dialect.lanes, 1e-3, np.float32)
    arguments = (ctypes.c_long(PEAK_TRIPS), ctypes.c_void_p(values.ctypes.data))
    return Run(lambda: (library.peak(*arguments), values)[0], 2 * PEAK_TRIPS * ACCUMULATORS * lanes)


def tiles(kernel: MicroKernel, compiler: str, k: int) -> Run:
    """Calls on the same full tile, from a loop in C."""
    rows, columns, count = kernel.rows, kernel.columns, STEPS_PER_RUN // k
    right_rows = k if kernel.right_by_columns else kernel.interleave
    counts = (k * rows, right_rows * columns, rows * columns)
    a, b, c = (aligned(n * ELEMENT_BYTES[name]) for n, name in zip(counts, kernel.element_types, strict=True))
    left = (k, 1) if kernel.lanes_along == DEPTH or kernel.interleave > 1 else (1, rows)
    repeat = c_library(frozenset(), REPEAT).repeat
    repeat.argtypes = [ctypes.c_void_p, ctypes.c_long, *argument_types(kernel)]
    function = ctypes.cast(load(kernel, compiler), ctypes.c_void_p)  # type: ignore[arg-type]
    pointers = [array.ctypes.data for array in (a, b, c)]
    arguments = (k, pointers[0], *left, pointers[1], 0, pointers[2], columns, rows, columns, 0)
    return Run(lambda: (repeat(function, count, *arguments), a, b, c)[0], 2 * rows * columns * k * count)


def aligned(size: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """So many bytes of ones, in whole vectors at a multiple of 64 bytes."""
    room = np.ones(size // 4 + 32, np.float32)
    return room[-room.ctypes.data % 64 // room.itemsize :]


def shares(run: Run, reference: Run, count: int) -> tuple[float, float]:
    """Median and 90th percentile of the share of the reference's rate."""
    samples = []
    for _ in range(count):
        before, rate, after = reference.rate(), run.rate(), reference.rate()
        samples.append(rate / max(before, after))
    samples.sort()
    return samples[count // 2], samples[count * 9 // 10]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name")
    parser.add_argument("--samples", type=int, default=200)
    options = parser.parse_args()
    names, samples = options.names, options.samples
    if unknown := set(names) - {kernel.name for kernel in registered()}:
        sys.exit(f"not registered: {', '.join(sorted(unknown))}")
    for kernel in registered():
        if (names and kernel.name not in names) or not kernel.features <= cpu_flags():
            continue
        reference = peak(dialect_for("x86_64", kernel.features), kernel.lanes)
        print(f"{kernel.name:26} peak {max(reference.rate() for _ in range(samples)) / 1e9:6.1f} GFLOP/s", end="")
        for compiler in filter(command, COMPILERS):
            cells = [shares(tiles(kernel, compiler, k), reference, samples) for k in DEPTHS]
            print(f"   {compiler}: " + ", ".join(f"{median:6.1%} ({high:6.1%})" for median, high in cells), end="", flush=True)
        print()


if __name__ == "__main__":
    main()
