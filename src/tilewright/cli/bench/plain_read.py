"""A plain read (`plain_read.c`) of the bytes that bind a case, which has its turns like a contender but computes nothing."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path

from tilewright.cli.bench.cases import DoubleArray, FloatArray
from tilewright.cli.bench.contender import PLAIN_READ, TURN_S, Contender
from tilewright.codegen.artifact import Artifact, Signature
from tilewright.machine.machine import Machine
from tilewright.runtime import cache as kernel_cache
from tilewright.runtime import libraries, toolchain

SLOWEST_BYTES_PER_S = 2e11
"""Less than this in one call would end before `TURN_S`: several threads are not woken again for every execution."""


def prepare(arrays: Sequence[FloatArray], reference: DoubleArray, threads: int) -> Iterator[Contender]:
    """The reader of these arrays by so many threads; none where there are no arrays. It passes the check of results as it is."""
    if not arrays:
        return
    count = max(1, int(TURN_S * SLOWEST_BYTES_PER_S / sum(array.nbytes for array in arrays))) if threads > 1 else 1
    parts = [part for array in arrays for part in _parts(array, threads)]
    workers = ThreadPoolExecutor(threads)

    def call() -> None:
        if threads == 1:
            _read(parts, count)
        else:
            list(workers.map(partial(_read, count=count), (parts[number::threads] for number in range(threads))))

    yield Contender(PLAIN_READ, call, lambda: reference, count)


def _parts(array: FloatArray, threads: int) -> list[tuple[FloatArray, int, int]]:
    """The array with the first element and the number of elements of each thread; parts begin at lines."""
    flat = array.reshape(-1)
    size = -(-flat.size // threads // 64) * 64
    return [(flat, begin, min(size, flat.size - begin)) for begin in range(0, flat.size, size)]


def _read(parts: Sequence[tuple[FloatArray, int, int]], count: int) -> None:
    function = _library().read_floats
    for _ in range(count):
        for array, begin, size in parts:
            function(ctypes.c_void_p(array.ctypes.data + 4 * begin), ctypes.c_long(size), ctypes.c_long(1))


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    text = Path(__file__).with_suffix(".c").read_text(encoding="utf-8")
    machine = Machine.detect()
    artifact = Artifact("read_floats", text, (), platform.machine(), machine.features, Signature((), (), ()))
    library = libraries.load(libraries.build(artifact, toolchain.find(), kernel_cache.default()), ctypes.CDLL)
    library.read_floats.restype = ctypes.c_float
    return library
