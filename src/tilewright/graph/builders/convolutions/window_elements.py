"""The elements that windows see, one by one: where they lie, and their numbers in an image, to reduce whole windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from tilewright.graph.builders.convolutions.windows import Window, elements_seen
from tilewright.graph.builders.elementwise import REDUCTIONS
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import AxisValue, Literal, Scalar, apply, fold
from tilewright.graph.types import Access, Axis, AxisKind, Extent, Guard, Operator, Tensor
from tilewright.records import record


@record
class WindowElements:
    """Every element of every window over the last dimensions of an image."""

    shape: tuple[Extent, ...]
    """Of a result with one element for every window."""
    taps: tuple[Axis, ...]
    """Over which a window is reduced, a dimension each."""
    access: Access
    """Of an element of the image, where it lies inside."""
    limits: tuple[Index, ...]
    """What is not negative where it does."""
    number: Scalar
    """Of an element among those of its plane, row by row."""

    @staticmethod
    def of(x: Tensor, shape: Sequence[Extent], window: Window) -> WindowElements:
        """Of an image, whose windows give a result of this shape: dimensions d0, d1, ..."""
        first = len(shape) - window.rank
        indices = [axis_index(f"d{d}") for d in range(len(shape))]
        taps = tuple(Axis(f"k{d}", extent, AxisKind.REDUCTION) for d, extent in enumerate(window.kernel))
        sizes = {f"d{d}": extent for d, extent in enumerate(window.outputs, first)}
        sizes |= {f"k{d}": extent for d, extent in enumerate(window.kernel)}
        places, limits = elements_seen(window, indices[first:], [axis_index(tap.name) for tap in taps], sizes)
        number = sum((place * prod(window.extents[d + 1 :]) for d, place in enumerate(places)), Index())
        access = Access(x.name, (*indices[:first], *places))
        return WindowElements(tuple(shape), taps, access, limits, _value(number))

    def read(self, otherwise: float) -> Access:
        """An element, or another value outside of the image."""
        return replace(self.access, guard=Guard(self.limits, otherwise) if self.limits else None)

    def of_window(self, result: Tensor) -> Access:
        """The element of a tensor that has one for every window."""
        return Access(result.name, self._outputs())

    def least(
        self, body: Scalar, reads: Sequence[Access], accumulator: str, dtype: str, *, name: str, result: str
    ) -> tuple[Operator, Tensor]:
        """The least value of an expression over every window."""
        axes = (*(Axis(f"d{d}", extent) for d, extent in enumerate(self.shape)), *self.taps)
        write = Access(result, self._outputs())
        operator = Operator(name, "window", axes, tuple(reads), write, body, REDUCTIONS["min"], accumulator)
        return operator, Tensor(result, self.shape, dtype)

    def _outputs(self) -> tuple[Index, ...]:
        return tuple(axis_index(f"d{d}") for d in range(len(self.shape)))


def _value(index: Index) -> Scalar:
    """An affine index as a number."""
    parts = [apply("multiply", AxisValue(str(name)), Literal(float(factor))) for name, factor in index.terms]
    return fold("add", [Literal(float(index.constant)), *parts])
