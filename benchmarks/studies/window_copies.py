"""Measure ways to copy 3x3 windows of a padded image, in every vector dialect that this machine runs.

    python -m benchmarks.studies.window_copies [--rounds N]

One thread, microseconds of a copy whose operands stay in L2 or near, medians of rounds in which every way has a turn:

- "generated": the loops of generated code, tap by tap, a load for every vector of the copy (`c_text/guarded_windows.py`);
- "by rows": the taps of a row of the image one after the other, while the row is in L1;
- "shifted": SConv's Vector-Based Packing: a row is loaded once, and its vectors are shifted into each other for the taps;
- "scalars": element by element.

Windows that move by two are copied whole (nine taps), others along their columns (three), as plans choose. All copies are equal.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Iterator
from statistics import median

import numpy as np

from tests.support.kernel_build import COMPILERS, command, dialect_library
from tests.support.targets import cpu_flags
from tilewright.c_text.guarded_windows import windows
from tilewright.kernels import VectorDialect, dialect_for

CASES = ((56, 64), (28, 128), (14, 256))
"""(points of a row of the image, channels)."""
PAGE_FLOATS = 1024
"""Copies do not begin where the image does on its page: loads would wait for stores of equal low addresses."""
TIMES = 10
"""Copies of a turn: Python's share of a call must not count."""
LIMITS = """\
TW_INLINE long tw_min(long a, long b) { return a < b ? a : b; }
TW_INLINE long tw_max(long a, long b) { return a > b ? a : b; }
TW_INLINE void put(float *to, long n, tw_vec v) {
  if (n >= TW_LANES)
    tw_store(to, v);
  else
    tw_store_part(to, v, n);
}
"""
WINDOW = {
    1: """\
TW_INLINE tw_vec window(const float *row, long tap, long o, long lanes) {
  const long at = tap + o - 1;
  return tw_load_between(row + at, tw_max(0, -at), tw_min(lanes, POINTS - at), 0.0f);
}
""",
    2: """\
TW_INLINE tw_vec window(const float *row, long tap, long o, long lanes) {
  const long at = tap + 2 * o - 1;
  return tw_load_strided_between(row + at, 2, tw_max(0, (1 - at) / 2), lanes, 0.0f);
}
""",
}
"""A vector of a row of the copy, by the step of the windows."""
VECTORS = """\
long o = 0;
    for (; o + TW_LANES <= OUTPUTS; o += TW_LANES)
      tw_store(to + o, window(row, tap, o, TW_LANES));
    if (o < OUTPUTS)
      tw_store_part(to + o, window(row, tap, o, OUTPUTS - o), OUTPUTS - o);"""
ELEMENTS = """\
for (long o = 0; o < OUTPUTS; o++) {
      const long at = STEP * o + tap - 1;
      to[o] = at >= 0 && at < POINTS ? row[at] : 0.0f;
      __asm__ volatile("" ::: "memory"); /* one by one */
    }"""
SHIFTED = """\
for (long tap = 0; tap < 1; tap++) {
    float *const before = target + (((c * ROW_TAPS + k) * 3) * ROWS + y) * OUTPUTS;
    tw_vec left = tw_splat(0.0f), here = tw_load_part(row, tw_min(POINTS, TW_LANES));
    for (long o = 0; o < OUTPUTS; o += TW_LANES) {
      tw_vec right = tw_load_part(row + o + TW_LANES, tw_max(0, tw_min(POINTS - o - TW_LANES, TW_LANES)));
      put(before + o, OUTPUTS - o, TW_SHUFFLE_TWO(left, here, @BEFORE@));
      put(before + ROWS * OUTPUTS + o, OUTPUTS - o, here);
      put(before + 2 * ROWS * OUTPUTS + o, OUTPUTS - o, TW_SHUFFLE_TWO(here, right, @BEHIND@));
      left = here;
      here = right;
    }
  }"""


def copy_text(name: str, inner: str, *, rows_outside: bool) -> str:
    """A function that copies all channels; `inner` writes a row of a tap, or of all taps where it has its own loop over them."""
    taps, rows = "for (long tap = 0; tap < 3; tap++)", "for (long y = 0; y < ROWS; y++)"
    own = inner.startswith("for (long tap")
    loops = f"  {rows}" if own else f"  {rows} {taps}" if rows_outside else f"  {taps} {rows}"
    to = "" if own else "    float *const to = target + (((c * ROW_TAPS + k) * 3 + tap) * ROWS + y) * OUTPUTS;\n"
    return (
        f"EXPORT void {name}(const float *source, float *target, long channels) {{\n"
        "  for (long c = 0; c < channels; c++) for (long k = 0; k < ROW_TAPS; k++)\n"
        f"  {loops} {{\n    const float *const row = source + (c * POINTS + y * STEP) * POINTS;\n{to}    {inner}\n  }}\n}}\n"
    )


def library_of(dialect: VectorDialect, points: int, step: int) -> tuple[ctypes.CDLL, tuple[str, ...]]:
    """The ways of copying, compiled for rows of so many points, and their names."""
    lanes = dialect.lanes
    shifted = SHIFTED.replace("@BEFORE@", ", ".join(str(lanes - 1 + lane) for lane in range(lanes)))
    shifted = shifted.replace("@BEHIND@", ", ".join(str(1 + lane) for lane in range(lanes)))
    ways = {
        "generated": copy_text("generated", VECTORS, rows_outside=False),
        "by_rows": copy_text("by_rows", VECTORS, rows_outside=True),
        **({"shifted": copy_text("shifted", shifted, rows_outside=True)} if step == 1 else {}),
        "scalars": copy_text("scalars", ELEMENTS, rows_outside=False),
    }
    numbers = {
        "POINTS": points,
        "OUTPUTS": points // step,
        "ROWS": points // step,
        "ROW_TAPS": 1 if step == 1 else 3,
        "STEP": step,
    }
    defines = "".join(f"#define {name} {value}L\n" for name, value in numbers.items())
    body = defines + LIMITS + windows(lanes).text + WINDOW[step] + "".join(ways.values())
    library = dialect_library(dialect, next(filter(command, COMPILERS)), body)
    for name in ways:
        getattr(library, name).argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long]
    return library, tuple(ways)


def placed(count: int, begin: int) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """So many floats, which begin so many floats behind the begin of a page, with room for a vector on both sides."""
    memory = np.zeros(count + 3 * PAGE_FLOATS, np.float32)
    first = (-memory.ctypes.data // 4) % PAGE_FLOATS + PAGE_FLOATS + begin
    return memory[first : first + count]


def measured(dialect: VectorDialect, points: int, channels: int, step: int, rounds: int) -> dict[str, float]:
    """Microseconds of a copy, by the name of the way; all copies are compared."""
    library, names = library_of(dialect, points, step)
    outputs = points // step
    source = placed(channels * points * points, 0)
    source[:] = np.random.default_rng(0).standard_normal(source.size)
    target = placed((1 if step == 1 else 3) * 3 * channels * outputs * outputs, PAGE_FLOATS // 2)
    turns: dict[str, list[float]] = {name: [] for name in names}
    results = []
    for number in range(rounds):
        for name in names:
            copy = getattr(library, name)
            copy(source.ctypes.data, target.ctypes.data, channels)
            if not number:
                results.append(target.copy())
            start = time.perf_counter()
            for _ in range(TIMES):
                copy(source.ctypes.data, target.ctypes.data, channels)
            turns[name].append((time.perf_counter() - start) / TIMES * 1e6)
    assert all(np.array_equal(results[0], other) for other in results[1:])
    return {name: median(times) for name, times in turns.items()}


def dialects() -> Iterator[VectorDialect]:
    """Those of this machine, the widest last."""
    flags = cpu_flags()
    for features in ({"avx2", "fma"}, {"avx512f", "avx512dq"}):
        if features <= flags:
            yield dialect_for("x86_64", frozenset(features))


def main() -> None:
    """Print a line per dialect and case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=11)
    rounds = parser.parse_args().rounds
    for dialect in dialects():
        for step in (1, 2):
            for points, channels in CASES:
                found = measured(dialect, points, channels, step, rounds)
                times = "  ".join(f"{name} {value:6.1f}" for name, value in found.items())
                print(f"{dialect.name:7} {channels:3} channels of {points} x {points}, step {step}:  {times}  us", flush=True)


if __name__ == "__main__":
    main()
