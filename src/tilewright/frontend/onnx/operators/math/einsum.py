"""Einsum: any number of operands, and indices repeated inside one of them (diagonals).

Operands are multiplied from left to right. A diagonal is an index change, and an index that only one operand has is summed before
the product, so that what is left are contractions of indices that both have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.precision import in_operand_type
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.einsum import Subscripts, einsum, pairwise, parse
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.index import axis
from tilewright.graph.scalar import Load
from tilewright.graph.types import Access, Axis, Extent, Operator, Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Einsum:
    """The sum of products, in NumPy's notation."""

    equation: str

    @in_operand_type
    def reference(self, *operands: Any) -> Any:
        return np.einsum(self.equation.replace(" ", ""), *operands)

    def lower(self, builder: Builder, *operands: Tensor) -> Tensor:
        """Diagonals, sums of single operands, and contractions from left to right."""
        equation, taken = _without_diagonals(builder, self.equation.replace(" ", ""), operands)
        subscripts = parse(equation, [len(tensor.shape) for tensor in taken])
        subscripts, (first, *rest) = _summed_alone(builder, subscripts, taken)
        steps = pairwise(subscripts)
        result = builder.record(einsum, steps[0], [first, *rest[:1]], kind="einsum")
        for step, operand in zip(steps[1:], rest[1:], strict=True):
            result = builder.record(einsum, step, [result, operand], kind="einsum")
        return result


def _diagonal(x: Tensor, labels: Sequence[str], *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The elements of x whose indices along dimensions of the same label are equal; labels stay in order of first appearance.

    >>> _diagonal(Tensor("x", (3, 5, 5)), ("b", "i", "i"), name="diagonal", result="y")[1].shape
    (3, 5)
    """
    extents: dict[str, Extent] = {}
    for label, extent in zip(labels, x.shape, strict=True):
        if extents.setdefault(label, extent) != extent:
            raise ShapeError(f"index {label!r} has extents {extents[label]} and {extent}", where="Einsum")
    axes = tuple(Axis(label, extent) for label, extent in extents.items())
    reads = (Access(x.name, tuple(axis(label) for label in labels)),)
    write = Access(result, tuple(axis(a.name) for a in axes))
    operator = Operator(name, "diagonal", axes, reads, write, Load(0), accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, tuple(extents.values()), x.dtype)


def _without_diagonals(builder: Builder, equation: str, operands: Sequence[Tensor]) -> tuple[str, list[Tensor]]:
    """The equation with every letter at most once in an operand, and what it is of."""
    left, arrow, right = equation.partition("->")
    parts, taken = left.split(","), list(operands)
    letters = [part.replace("...", "") for part in parts]
    right = right if arrow else _implicit(letters, "..." in left)
    for number, (part, used) in enumerate(zip(parts, letters, strict=True)):
        if number < len(taken) and len(set(used)) < len(used):
            labels = _labels(part, len(taken[number].shape))
            taken[number] = builder.record(_diagonal, taken[number], labels, kind="diagonal")
            kept = dict.fromkeys(labels)
            parts[number] = "".join(dict.fromkeys("..." if label.startswith("b_") else label for label in kept))
    return f"{','.join(parts)}->{right}", taken


def _implicit(letters: Sequence[str], has_ellipsis: bool) -> str:
    """The result that NumPy takes without an arrow: the ellipsis, and the letters that occur once, in alphabetical order."""
    joined = "".join(letters)
    return ("..." if has_ellipsis else "") + "".join(sorted(letter for letter in set(joined) if joined.count(letter) == 1))


def _labels(part: str, rank: int) -> tuple[str, ...]:
    before, dots, after = part.partition("...")
    spare = rank - len(before) - len(after)
    if spare < 0 or (spare and not dots):
        raise ShapeError(f"{part!r} does not fit an operand with {rank} dimensions", where="Einsum")
    return (*before, *(f"b_{position}" for position in range(spare)), *after)


def _summed_alone(builder: Builder, subscripts: Subscripts, operands: Sequence[Tensor]) -> tuple[Subscripts, list[Tensor]]:
    """Sums over the indices that one of several operands has and neither another nor the result."""
    if len(operands) == 1:
        return subscripts, list(operands)
    labels, taken = list(subscripts.operands), list(operands)
    for number, letters in enumerate(labels):
        shared = {label for position, group in enumerate(labels) if position != number for label in group}
        alone = [d for d, label in enumerate(letters) if label not in shared and label not in subscripts.result]
        if alone:
            taken[number] = builder.reduce("sum", taken[number], alone)
            labels[number] = tuple(label for d, label in enumerate(letters) if d not in alone)
    return Subscripts(tuple(labels), subscripts.result), taken


define("Einsum", Einsum, since=12)
