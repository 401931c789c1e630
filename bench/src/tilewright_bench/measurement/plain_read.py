"""A plain read (`plain_read.c`) of the bytes that bind a case, which has its turns like a contender but computes nothing."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path

from tilewright.artifact import Artifact
from tilewright.entry_point import Signature
from tilewright.machine.machine import Machine
from tilewright.runtime import loader
from tilewright.runtime.compilation import libraries, toolchain
from tilewright.runtime.store import cache as kernel_cache
from tilewright.tune.timing import TURN_S
from tilewright_bench.cases.case import DoubleArray, FloatArray
from tilewright_bench.measurement.contender import PLAIN_READ, Contender

STEP = 64
"""Elements, as in the C."""
FASTEST_BYTES_PER_S = 2e11
"""One call of several threads reads what this rate takes `TURN_S` for: they are not woken for every execution."""


def prepare(arrays: Sequence[FloatArray], reference: DoubleArray, threads: int) -> Iterator[Contender]:
    """The reader of these arrays by so many threads; none where there are no arrays. It passes the check of results as it is."""
    if not arrays:
        return
    count = max(1, int(TURN_S * FASTEST_BYTES_PER_S / sum(array.nbytes for array in arrays))) if threads > 1 else 1
    shares = [[_part(array, threads, number) for array in arrays] for number in range(threads)]
    workers = ThreadPoolExecutor(threads)

    def call() -> None:
        if threads == 1:
            read(shares[0], count)
        else:
            list(workers.map(partial(read, count=count), shares))

    yield Contender(PLAIN_READ, call, lambda: reference, count)


def _part(array: FloatArray, threads: int, number: int) -> FloatArray:
    """What one of the threads reads; parts begin at lines."""
    flat = array.reshape(-1)
    size = -(-flat.size // threads // STEP) * STEP
    return flat[number * size : (number + 1) * size]


def read(parts: Sequence[FloatArray], count: int) -> float:
    """Load all parts `count` times; the sum of every sixteenth element, which keeps the loads alive."""
    begins = (ctypes.c_void_p * len(parts))(*(part.ctypes.data for part in parts))
    sizes = (ctypes.c_long * len(parts))(*(part.size for part in parts))
    return float(_library().read_arrays(begins, sizes, ctypes.c_long(len(parts)), ctypes.c_long(count)))


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    text = Path(__file__).with_suffix(".c").read_text(encoding="utf-8")
    machine = Machine.detect()
    artifact = Artifact("read_arrays", text, (), platform.machine(), machine.features, Signature((), (), ()))
    library = loader.load(libraries.build(artifact, toolchain.find(), kernel_cache.default()), ctypes.CDLL)
    library.read_arrays.restype = ctypes.c_float
    return library
