"""What an algorithm is: a way to compute one operator by a small graph of operators, and the accuracy that it keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Operator, Tensor
from tilewright.machine.machine import Machine
from tilewright.precision import Precision


class Accuracy(StrEnum):
    """How results differ from those of the operator as it is written; the value is the text that `explain` prints."""

    SAME = "the same operations"
    EXACT = "the same results, by other operations"
    REORDERED = "the same products, added in another order"
    CHECKED = "products of sums over a tile of the image; results that are not finite are computed again without"
    TILED = "products of sums over a tile of the image: errors are relative to its largest element"

    @property
    def precision(self) -> Precision:
        """The precision that an algorithm of this accuracy needs."""
        return {Accuracy.CHECKED: Precision.FLOAT32, Accuracy.TILED: Precision.FAST}.get(self, Precision.STRICT)


@dataclass(frozen=True, slots=True)
class Problem:
    """An operator to be computed, with what an algorithm may decide by: types, not values."""

    operator: Operator
    tensors: Mapping[str, Tensor]
    """By name; at least those that the operator reads and writes."""
    constants: frozenset[str]
    """Tensors that do not change between calls: what operators make of them is computed once, when a kernel is loaded."""
    machine: Machine

    def operand(self, read: int) -> Tensor:
        """The tensor that a read looks into."""
        return self.tensors[self.operator.reads[read].tensor]

    @property
    def result(self) -> Tensor:
        """The tensor that the operator writes."""
        return self.tensors[self.operator.write.tensor]

    def is_constant(self, read: int) -> bool:
        """Whether a read looks into a tensor that does not change between calls."""
        return self.operator.reads[read].tensor in self.constants


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A way to compute an operator. A file of this folder that defines `ALGORITHM` is found by the registry.

    `applies` says whether `expand` may be called. `expand` records operators that compute the problem's result, and returns a
    tensor of the result's shape and element type; all tensors of the problem are known to the builder. An expansion may read
    itself as an alternative of one operator to another, so it must not depend on the operators around it.
    """

    name: str
    """As `explain` prints it."""
    accuracy: Accuracy
    applies: Callable[[Problem], bool]
    expand: Callable[[Problem, Builder], Tensor]
    reads_tiles: bool = False
    """Whether it reads its operands by tiles that overlap by half or more: then these lie in memory, and chains end before it.
    What makes them would run again for each tile, which no price has favoured, and looking for it takes most of the planning."""
