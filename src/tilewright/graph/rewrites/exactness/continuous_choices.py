"""Choices between values that are equal where their comparison changes, seen through the maps that make these values.

A leaky ReLU is a comparison, a product and a choice, three operators of most programs: the choice alone does not show what it
chooses from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tilewright.graph.discontinuities import has_comparison, is_continuous
from tilewright.graph.rewrites.fusion.compose import inlined, is_invertible
from tilewright.graph.scalar import Apply, Scalar, subexpressions
from tilewright.graph.types import Operator

MOST_STEPS = 6
"""Maps behind each other that are looked through."""
MOST_NODES = 96
"""Of an expression that is looked at."""


@dataclass(frozen=True, slots=True)
class ContinuousChoices:
    """Of the operators of a graph, by the tensors that they write."""

    operators: Mapping[str, Operator]
    whole: dict[tuple[str, int], Operator] = field(default_factory=dict)
    """Maps with what they read inside of them, by their results and so many steps."""

    def of(self, operator: Operator) -> frozenset[Scalar]:
        """The choices in the body of an operator that are continuous."""
        if not any(map(has_comparison, subexpressions(operator.body))):
            return frozenset()
        body = self._with_reads(operator, MOST_STEPS).body
        return frozenset(choice for choice, seen in _pairs(operator.body, body) if has_comparison(seen) and _is_continuous(seen))

    def _with_reads(self, operator: Operator, steps: int) -> Operator:
        able = {read.tensor for read in operator.reads if steps and _is_plain(self.operators.get(read.tensor))}
        whole = inlined(operator, {tensor: self._whole(tensor, steps - 1) for tensor in sorted(able)})
        return whole if len(subexpressions(whole.body)) <= MOST_NODES else operator

    def _whole(self, tensor: str, steps: int) -> Operator:
        if (tensor, steps) not in self.whole:
            self.whole[tensor, steps] = self._with_reads(self.operators[tensor], steps)
        return self.whole[tensor, steps]


def _is_continuous(choice: Scalar) -> bool:
    return isinstance(choice, Apply) and is_continuous(choice)


def _is_plain(producer: Operator | None) -> bool:
    """Whether an operator is a map that may be computed inside of its readers."""
    if producer is None or not producer.is_map() or not is_invertible(producer):
        return False
    return all(read.guard is None and not read.lookups for read in producer.reads)


def _pairs(scalar: Scalar, seen: Scalar) -> Iterator[tuple[Scalar, Scalar]]:
    """The parts of an expression with those that stand in their places in the same expression of more."""
    yield scalar, seen
    if isinstance(scalar, Apply) and isinstance(seen, Apply):
        for part, operand in zip(scalar.operands, seen.operands, strict=True):
            yield from _pairs(part, operand)
