"""Data for the search core: integers, reals and figures, and what it has room for."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tilewright.arrays import Quantity
from tilewright.graph.types import Chain
from tilewright.plan.schedule import planned_sizes
from tilewright.records import record

MOST_AXES = 60
MOST_OPERATORS = 60
MOST_OPERANDS = 64
MOST_LEVELS = 8
MOST_WINDOWS = 3
MOST_INDICES = 4
MOST_TABLE_AXES = 8
MOST_READINGS = 8
MOST_TERMS = 4
MOST_PLACES = 16
MOST_BUFFERS = 16
"""What the core has room for."""


class BeyondLimits(Exception):
    """A problem that the core has no room or no formula for: the Python formulas search it."""


@dataclass(slots=True)
class Data:
    """What the core reads: integers, reals, and the figures of tables."""

    integers: list[int] = field(default_factory=list)
    reals: list[float] = field(default_factory=list)
    figures: list[np.ndarray] = field(default_factory=list)
    size: int = 0

    def counted(self, numbers: Sequence[int]) -> None:
        """Integers behind their number."""
        self.integers.append(len(numbers))
        self.integers += numbers

    def table(self, figure: Quantity, rank: int) -> None:
        """A figure over so many dimensions, by its place and strides; 0 along dimensions on which it does not depend."""
        values = np.asarray(figure, dtype=np.float64)
        shape = values.shape or (1,) * rank
        step, strides = 1, [0] * rank
        for dimension in range(rank - 1, -1, -1):
            if shape[dimension] > 1:
                strides[dimension] = step
                step *= shape[dimension]
        self.integers.append(self.size)
        self.integers += strides
        self.figures.append(values.reshape(-1))
        self.size += values.size

    def counted_pairs(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Pairs of integers behind their number."""
        self.integers.append(len(pairs))
        self.integers += [number for pair in pairs for number in pair]

    def whole(self, figure: Quantity, shape: tuple[int, ...]) -> None:
        """A figure with an element for every point, by its place."""
        values = np.broadcast_to(np.asarray(figure, dtype=np.float64), shape)
        self.integers.append(self.size)
        self.figures.append(values.reshape(-1))
        self.size += values.size

    def packed(self) -> Packed:
        """The same as memory that C reads."""
        figures = np.concatenate(self.figures) if self.figures else np.zeros(1)
        return Packed(array("q", self.integers), array("d", self.reals), figures)


@record
class Packed:
    """Integers, reals and figures as C reads them."""

    integers: array[int]
    reals: array[float]
    figures: np.ndarray

    def addresses(self) -> tuple[int, int, int]:
        """Where these lie."""
        return self.integers.buffer_info()[0], self.reals.buffer_info()[0], self.figures.__array_interface__["data"][0]


class Numbers:
    """The numbers of a chain's axes, tensors and operators."""

    def __init__(self, chain: Chain) -> None:
        self.axes = {axis: number for number, axis in enumerate(chain.extents)}
        self.tensors = {tensor.name: number for number, tensor in enumerate(chain.tensors)}
        self.sizes = planned_sizes(chain)
        self.operators = {operator.name: number for number, operator in enumerate(chain.operators)}
        if len(self.axes) > MOST_AXES or len(self.operators) > MOST_OPERATORS or len(self.tensors) > MOST_AXES:
            raise BeyondLimits

    def mask(self, axes: Iterable[str]) -> int:
        """Some axes as one number."""
        return sum(1 << self.axes[axis] for axis in set(axes))

    def axis(self, axis: str | None) -> int:
        """The number of an axis, -1 for none."""
        return -1 if axis is None else self.axes[axis]
