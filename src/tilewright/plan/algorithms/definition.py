"""What an algorithm is: a way to compute one operator by a small graph of operators, and the licence that it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from tilewright.graph.builders.builder import Builder
from tilewright.graph.licences import Licence
from tilewright.graph.types import Operator, Tensor
from tilewright.machine.machine import Machine
from tilewright.precision import Precision

Found = TypeVar("Found")


def expected(found: Found | None) -> Found:
    """What an algorithm that applies has found of its problem, and so is there when it expands it."""
    assert found is not None
    return found


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
    licence: Licence
    """How results may differ from those of the operator as it is written. A checked one applies `report_not_finite` to them."""
    applies: Callable[[Problem], bool]
    expand: Callable[[Problem, Builder], Tensor]
    reads_tiles: bool = False
    """Whether it reads its operands by tiles that overlap by half or more: then these lie in memory, and chains end before it.
    What makes them would run again for each tile, which no price has favoured, and looking for it takes most of the planning."""
    precision: Precision = Precision.STRICT
    """What it needs at least: errors relative to the largest element of a tile are those of "float32" or, if larger, "fast"."""

    def is_allowed(self, problem: Problem, precision: Precision) -> bool:
        """Whether an operator may be computed so, whatever it is."""
        return precision.allows(self.precision) and self.licence.permits([problem.result])
