"""Diagonals, as einsum names them by a letter that stands twice in an operand: index changes."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.errors import ShapeError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.einsum import Subscripts, einsum, pairwise
from tilewright.graph.builders.elementwise import accumulator_of
from tilewright.graph.expressions.index import axis
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Access, Axis, Extent, Operator, Tensor


def diagonal(x: Tensor, labels: Sequence[str], *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The elements of x whose indices along dimensions of the same label are equal; labels stay in order of first appearance.

    Raises `ShapeError` for extents of a label that differ; 1 is no exception, as in NumPy.

    >>> diagonal(Tensor("x", (3, 5, 5)), ("b", "i", "i"), name="diagonal", result="y")[1].shape
    (3, 5)
    """
    extents: dict[str, Extent] = {}
    for label, extent in zip(labels, x.shape, strict=True):
        if extents.setdefault(label, extent) != extent:
            text = f"index {label!r} has extents {extents[label]} and {extent}"
            raise ShapeError(text, where="einsum", why=f"it stands twice in an operand of shape {shape_text(x.shape)}")
    axes = tuple(Axis(label, extent) for label, extent in extents.items())
    reads = (Access(x.name, tuple(axis(label) for label in labels)),)
    write = Access(result, tuple(axis(a.name) for a in axes))
    operator = Operator(name, "diagonal", axes, reads, write, Load(0), accumulator=accumulator_of(x.dtype))
    return operator, Tensor(result, tuple(extents.values()), x.dtype)


def contracted(builder: Builder, subscripts: Subscripts, operands: Sequence[Tensor]) -> Tensor:
    """The sum of products of any number of operands, which are multiplied from left to right."""
    result, rest = operands[0], list(operands[1:])
    for number, step in enumerate(pairwise(subscripts)):
        taken = [result, *rest[number : number + 1]]
        result = builder.record(einsum, step, taken, kind="einsum")
    return result


def without_diagonals(builder: Builder, subscripts: Subscripts, operands: Sequence[Tensor]) -> tuple[Subscripts, list[Tensor]]:
    """Subscripts with every label at most once in an operand, and what they are of."""
    taken = [
        operand if len(set(labels)) == len(labels) else builder.record(diagonal, operand, labels, kind="diagonal")
        for labels, operand in zip(subscripts.operands, operands, strict=True)
    ]
    return Subscripts(tuple(tuple(dict.fromkeys(labels)) for labels in subscripts.operands), subscripts.result), taken
