"""Cases: an operation with its data, and the float64 result that every contender is held against."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from tilewright_bench.cases.required import Required

FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]
DoubleArray: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
TOLERANCE = 1e-4
"""Of the largest error over the largest result. Sums of up to 512 float32 products differ by some 1e-6 between any two orders."""
SEED = 20240229
LINE_BYTES = 64
PACKINGS = {False: "nothing prepacked", True: "constant right-hand sides, prepacked where a contender can"}


class Case(Protocol):
    """What the harness needs to know."""

    @property
    def name(self) -> str:
        """Its row."""
        ...

    @property
    def table(self) -> str:
        """The title of the table that the row is in."""
        ...

    @property
    def prepacked(self) -> bool:
        """Whether all operands but the first are constants, known when the contenders are prepared."""
        ...

    @property
    def flops(self) -> int:
        """Of one execution; a multiply and an add count as two."""
        ...

    @property
    def moved_bytes(self) -> int:
        """Inputs and result, each once."""
        ...

    @property
    def required(self) -> Required | None:
        """What it must reach; None where that is not the case's to say."""
        ...

    @property
    def even(self) -> str:
        """The name of the case of even sizes whose share must be kept; empty for all others."""
        ...

    def error(self, result: np.ndarray[Any, Any]) -> float:
        """The largest difference to the reference, relative to its largest magnitude; infinite for another shape or NaN."""
        ...


@runtime_checkable
class MaySaturate(Protocol):
    """A case whose products libraries add up in 16 bits with saturation, where a CPU has nothing better (`vpmaddubsw`)."""

    def saturated_error(self, result: np.ndarray[Any, Any]) -> float:
        """As `error`, to what such sums give, relative to the largest right result."""
        ...


def aligned(shape: tuple[int, ...]) -> FloatArray:
    """Uninitialised memory that begins at a multiple of 64 bytes."""
    memory: FloatArray = aligned_of(shape, np.dtype(np.float32))
    return memory


def aligned_of(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """The same for elements of any type."""
    size_bytes = dtype.itemsize * int(np.prod(shape))
    room = np.empty(size_bytes + LINE_BYTES, np.uint8)
    skipped = -room.ctypes.data % LINE_BYTES
    return room[skipped : skipped + size_bytes].view(dtype).reshape(shape)


def integers(shape: tuple[int, int], lowest: int, highest: int, dtype: type, generator: np.random.Generator) -> Any:
    """Evenly distributed numbers, both ends included, in such memory."""
    array = aligned_of(shape, np.dtype(dtype))
    array[:] = generator.integers(lowest, highest, shape, dtype, endpoint=True)
    return array


def normal(shape: tuple[int, ...], scale: float, generator: np.random.Generator) -> FloatArray:
    """Normally distributed numbers of that deviation, in such memory."""
    array = aligned(shape)
    generator.standard_normal(dtype=np.float32, out=array)
    array *= np.float32(scale)
    return array


def relative_error(result: np.ndarray[Any, Any], reference: DoubleArray) -> float:
    """The largest difference, relative to the reference's largest magnitude; infinite for another shape or NaN."""
    if result.shape != reference.shape or not np.isfinite(result).all():
        return float("inf")
    return float(np.abs(result - reference).max() / np.abs(reference).max())
