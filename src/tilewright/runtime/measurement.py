"""The rates of one core of this machine, measured by loops in C (`native/calibration.c`) that Python times.

A call into C takes about a microsecond and a sample some milliseconds, so timing from Python costs no precision.
Rates are best-of: whatever disturbs a sample makes it slower.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from tilewright.machine.machine import Machine
from tilewright.records import record
from tilewright.runtime import native, pool
from tilewright.runtime.compilation import libraries
from tilewright.runtime.native import building
from tilewright.runtime.store import cache as kernel_cache

SAMPLE_S = 2e-3
MIN_SAMPLES = 3
READ_MULTIPLE_BYTES = 512
"""Eight vectors of the widest kind, which is what `read_bytes` takes per step."""
FACTORS = (0.999, 0.001)
"""x and y of a = a*x + y: the accumulators converge to 1 and never become denormal."""
REGIONS_PER_SAMPLE = 100
EXPORTED = ("read_bytes", "flush_bytes", "run_regions")
"""What the library always has; peaks depend on the machine."""


@record
class Measurer:
    """Measures with a compiled library; a test may put something else in its place."""

    library: ctypes.CDLL
    line_bytes: int

    def element_types(self) -> tuple[str, ...]:
        """The element types whose peak can be measured here."""
        known = ("float32", "float64", "float16", "bfloat16", "int8")
        return tuple(dtype for dtype in known if self.has_peak(dtype))

    def has_peak(self, dtype: str) -> bool:
        """Whether there is a loop for products of that type; of some that is so although no calibration measures them."""
        return hasattr(self.library, f"peak_{dtype}")

    def peak_flops_per_s(self, dtype: str, seconds: float) -> float:
        """Multiplies and adds per second of one core, in about `seconds`."""
        run = self.peak_loop(dtype)
        trips = _per_sample(run, 1000)
        flops = run(trips)
        samples = _samples(lambda: run(trips), seconds)
        return float(flops / min(samples))

    def peak_loop(self, dtype: str) -> Callable[[int], int]:
        """A function that runs so many trips of the loop of multiply-adds, and returns their flops."""
        run = getattr(self.library, f"peak_{dtype}")
        run.argtypes = (ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
        run.restype = ctypes.c_long
        factors, sink = np.array(FACTORS, np.float32), _aligned(64)
        pointers = factors.ctypes.data, sink.ctypes.data
        return lambda trips: (int(run(trips, *pointers)), factors, sink)[0]

    def bandwidth_bytes_per_s(self, size_bytes: int, uncached: bool, seconds: float) -> float:
        """Read bandwidth of one core over that many bytes, from memory if `uncached`, in about `seconds`."""
        size_bytes = max(size_bytes // READ_MULTIPLE_BYTES, 1) * READ_MULTIPLE_BYTES
        data = _aligned(size_bytes)
        begin = data.ctypes.data
        if uncached:
            flush = partial(self._flush, begin, size_bytes)
            return size_bytes / min(_samples(lambda: self._read(begin, size_bytes, 1), seconds, flush))
        passes = _per_sample(lambda count: self._read(begin, size_bytes, count), 1)
        return size_bytes * passes / min(_samples(lambda: self._read(begin, size_bytes, passes), seconds))

    def parallel_region_s(self, threads: int, seconds: float) -> float:
        """Cost of an empty parallel region, in about `seconds`."""
        runtime = native.library()
        address = pool.get(threads).address
        runtime.tw_pool_enter(ctypes.c_void_p(address))
        run = self.library.run_regions
        run.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_long)
        run.restype = None
        function = ctypes.cast(runtime.tw_parallel_for, ctypes.c_void_p)
        samples = _samples(lambda: run(function, address, threads, REGIONS_PER_SAMPLE), seconds)
        return min(samples) / REGIONS_PER_SAMPLE

    def _read(self, begin: int, size_bytes: int, passes: int) -> None:
        self.library.read_bytes(ctypes.c_void_p(begin), ctypes.c_long(size_bytes), ctypes.c_long(passes))

    def _flush(self, begin: int, size_bytes: int) -> None:
        self.library.flush_bytes(ctypes.c_void_p(begin), ctypes.c_long(size_bytes), ctypes.c_long(self.line_bytes))


def text() -> str:
    """The C of the loops, complete."""
    return native.source("calibration.c")


def compiled(machine: Machine) -> Measurer:
    """The loops, compiled for the machine's features and cached like a kernel.

    Raises `ToolchainError` or `CacheError`.
    """
    ours = building.artifact("read_bytes", text(), machine.architecture, machine.features)
    _, library = libraries.opened(ours, kernel_cache.default(), EXPORTED, ctypes.CDLL)
    return Measurer(library, machine.levels[0].line_bytes)


def _aligned(size_bytes: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """64-byte aligned memory, written once: untouched pages would all be the same page of zeros."""
    memory = np.full(size_bytes + 64, 1, np.uint8)
    return memory[-memory.ctypes.data % 64 :][:size_bytes]


def _per_sample(run: Callable[[int], object], count: int) -> int:
    """How often to repeat so that one sample takes about `SAMPLE_S`."""
    while (sample_s := elapsed_s(partial(run, count))) < SAMPLE_S / 4:
        count *= 2
    return max(1, round(count * SAMPLE_S / sample_s))


def _samples(run: Callable[[], object], seconds: float, prepare: Callable[[], object] = lambda: None) -> list[float]:
    """Times of single runs, preparation not counted, until `seconds` are over."""
    deadline = time.perf_counter() + seconds
    times: list[float] = []
    while len(times) < MIN_SAMPLES or time.perf_counter() < deadline:
        prepare()
        times.append(elapsed_s(run))
    return times


def elapsed_s(run: Callable[[], object]) -> float:
    """The seconds of one call."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin
