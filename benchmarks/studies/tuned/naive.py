"""PolyDL's baseline: the three loops of its Figure 2, compiled with -O3 for this machine; threads share the rows."""

from __future__ import annotations

import ctypes
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.runtime.compilation import toolchain

TEXT = """\
void naive(long m, long n, long k, const float *restrict a, const float *restrict b, float *restrict c) {
  #pragma omp parallel for num_threads(THREADS)
  for (long i = 0; i < m; i++)
    for (long j = 0; j < n; j++)
      for (long l = 0; l < k; l++)
        c[i * n + j] += a[i * k + l] * b[l * n + j];
}
"""
FLAGS = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC")
LONGEST_S = 1.0
"""Of a call: of longer products the first rows are computed, and their time is scaled. All rows are alike."""


@dataclass(frozen=True, slots=True)
class Naive:
    """The compiled loops."""

    function: Any
    threads: int = 1

    def seconds(self, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
        """Of the whole product of contiguous float32 arrays."""
        rows = min(self.threads, len(a))
        while True:
            elapsed_s = self._timed(a[:rows], b)
            if rows == len(a) or elapsed_s > LONGEST_S / 4:
                return elapsed_s * len(a) / rows
            rows = more_rows(rows, len(a), elapsed_s)

    def product(self, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """a b."""
        result = np.zeros((len(a), b.shape[1]), np.float32)
        self._run(a, b, result)
        return result

    def _timed(self, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
        """The less of two calls."""
        result = np.zeros((len(a), b.shape[1]), np.float32)
        return min(_elapsed(lambda: self._run(a, b, result)) for _ in range(2))

    def _run(self, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], c: np.ndarray[Any, Any]) -> None:
        extents = (ctypes.c_long(extent) for extent in (len(a), b.shape[1], b.shape[0]))
        self.function(*extents, *(ctypes.c_void_p(array.ctypes.data) for array in (a, b, c)))


def more_rows(rows: int, all_rows: int, elapsed_s: float) -> int:
    """So many that they take about `LONGEST_S` at most; ten times as many at most.

    >>> more_rows(1, 100, 0.01), more_rows(10, 100, 0.2), more_rows(10, 12, 0.0)
    (10, 50, 12)
    """
    fitting = int(rows * LONGEST_S / max(elapsed_s, 1e-9))
    return max(rows + 1, min(all_rows, 10 * rows, fitting)) if rows < all_rows else all_rows


def compiled(directory: Path, threads: int = 1) -> Naive:
    """The loops as a library in a directory, which stays loaded."""
    source, library = directory / "naive.c", directory / "naive.so"
    source.write_text(TEXT)
    subprocess.run([*toolchain.find().command, *FLAGS, f"-DTHREADS={threads}", "-o", str(library), str(source)], check=True)
    return Naive(ctypes.CDLL(str(library)).naive, threads)


def _elapsed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin
