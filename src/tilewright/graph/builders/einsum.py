"""Contractions: einsum, and matmul of floats and of integers.

Einstein summation of one or two operands: contractions, sums and permutations, all by their index maps.

Source of the notation: `numpy.einsum`. Letters of the user become the names of the axes.

Matrix products with batch dimensions, as the array API defines `matmul`: contractions built through einsum.

Matrix products of integers less their zero points, summed in 32 bits, or in 64: one operator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.builders.elementwise import accumulator_of, broadcast_index
from tilewright.graph.builders.zero_points import with_zero_points, zero_read
from tilewright.graph.expressions.index import axis
from tilewright.graph.expressions.scalar import Load, Scalar, apply
from tilewright.graph.shapes import broadcast_extents, broadcast_shapes, shape_text
from tilewright.graph.types import SUM, Access, Axis, AxisKind, Extent, Operator, Tensor
from tilewright.records import record


@record
class Subscripts:
    """Which axis each dimension of each operand and of the result has. Those under an ellipsis are
    named `b0`, `b1`, ... from the last outwards."""

    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]

    def text(self) -> str:
        """In einsum's notation; the ellipsis dimensions are written out.

        >>> parse("...ij,jk", [3, 2]).text()
        'b0ij,jk->b0ik'
        """
        return ",".join("".join(labels) for labels in self.operands) + "->" + "".join(self.result)


def parse(subscripts: str, ranks: Sequence[int]) -> Subscripts:
    """Understand einsum's subscripts for operands of the given ranks.

    Without `->` the result has the ellipsis dimensions and then, in alphabetical order, the letters that occur once.
    Raises `ShapeError` for subscripts that do not fit the ranks or contradict themselves. A letter that stands twice in an
    operand is a diagonal of it (`diagonals.py`).

    >>> parse("ij,jk", [2, 2])
    Subscripts(operands=(('i', 'j'), ('j', 'k')), result=('i', 'k'))
    """
    left, arrow, right = subscripts.replace(" ", "").partition("->")
    parts = left.split(",")
    where = f"einsum {subscripts!r}"
    if len(parts) != len(ranks):
        raise ShapeError(f"the subscripts name {len(parts)} operands, but {len(ranks)} were given", where=where)
    operands = tuple(_operand_labels(part, rank, where) for part, rank in zip(parts, ranks, strict=True))
    ellipsis = tuple(sorted({label for labels in operands for label in labels if len(label) > 1}, key=lambda x: -int(x[1:])))
    result = _result_labels(right, ellipsis, operands, where) if arrow else _implicit_result(ellipsis, operands)
    return Subscripts(operands, result)


def pairwise(subscripts: Subscripts) -> tuple[Subscripts, ...]:
    """Fold more than two operands from left to right: step i takes the result of step i - 1 and operand i + 1.

    >>> [step.text() for step in pairwise(parse("ij,jk,kl->il", [2, 2, 2]))]
    ['ij,jk->ik', 'ik,kl->il']
    """
    if len(subscripts.operands) <= 2:
        return (subscripts,)
    first, second, *rest = subscripts.operands
    needed = {label for labels in (*rest, subscripts.result) for label in labels}
    kept = tuple(label for label in dict.fromkeys((*first, *second)) if label in needed)
    remainder = Subscripts((kept, *rest), subscripts.result)
    return (Subscripts((first, second), kept), *pairwise(remainder))


def einsum(
    subscripts: str | Subscripts,
    operands: Sequence[Tensor],
    *,
    name: str,
    result: str,
    kind: str = "einsum",
    dtype: str | None = None,
) -> tuple[Operator, Tensor]:
    """One or two operands multiplied point by point and summed over every axis that the result lacks.

    An extent of 1 broadcasts against any other, as in NumPy. Two operands with something to sum give a contraction
    (`Operator.is_contraction`). `dtype` defaults to the operands' common type. Raises `ShapeError` for extents that differ.

    >>> operator, tensor = einsum("ij,jk->ik", [Tensor("a", (2, 3)), Tensor("b", (3, 4))], name="product", result="c")
    >>> operator.is_contraction(), tensor.shape
    (True, (2, 4))
    """
    labels = parse(subscripts, [len(t.shape) for t in operands]) if isinstance(subscripts, str) else subscripts
    extents = _extents(labels, operands)
    kept = set(labels.result)
    axes = tuple(
        Axis(label, extent, AxisKind.PARALLEL if label in kept else AxisKind.REDUCTION) for label, extent in extents.items()
    )
    shape = tuple(extents[label] for label in labels.result)
    output = Tensor(result, shape, dtype or np.result_type(*(tensor.dtype for tensor in operands)).name)
    body: Scalar = Load(0) if len(operands) == 1 else apply("multiply", Load(0), Load(1))
    reads = tuple(_read(tensor, along, extents) for tensor, along in zip(operands, labels.operands, strict=True))
    write = Access(result, tuple(axis(label) for label in labels.result))
    reduction = SUM if len(kept) < len(extents) else None
    return Operator(name, kind, axes, reads, write, body, reduction, accumulator_of(output.dtype)), output


def _read(tensor: Tensor, labels: Sequence[str], extents: dict[str, Extent]) -> Access:
    indices = (broadcast_index(extent, extents[label], label) for label, extent in zip(labels, tensor.shape, strict=True))
    return Access(tensor.name, tuple(indices))


def _operand_labels(part: str, rank: int, where: str) -> tuple[str, ...]:
    before, dots, after = part.partition("...")
    _check_letters(before + after, where)
    spare = rank - len(before) - len(after)
    if spare < 0 or (spare > 0 and not dots):
        raise ShapeError(f"{part!r} does not fit an operand with {rank} dimensions", where=where)
    return (*before, *(f"b{position}" for position in reversed(range(spare))), *after)


def _result_labels(right: str, ellipsis: tuple[str, ...], operands: Sequence[Sequence[str]], where: str) -> tuple[str, ...]:
    before, dots, after = right.partition("...")
    _check_letters(before + after, where)
    result = (*before, *(ellipsis if dots else ()), *after)
    known = {label for labels in operands for label in labels}
    unknown = [label for label in result if label not in known]
    if unknown or len(set(result)) != len(result):
        why = f"{unknown[0]!r} is in no operand" if unknown else "a letter stands twice in it"
        raise ShapeError(f"the result {right!r} is not possible", where=where, why=why)
    if ellipsis and not dots:
        raise ShapeError(f"the result {right!r} lacks the ellipsis of the operands", where=where, hint="write '...' in it")
    return result


def _implicit_result(ellipsis: tuple[str, ...], operands: Sequence[Sequence[str]]) -> tuple[str, ...]:
    counts = Counter(label for labels in operands for label in labels)
    return (*ellipsis, *sorted(label for label, count in counts.items() if count == 1 and label not in ellipsis))


def _check_letters(letters: Iterable[str], where: str) -> None:
    wrong = [letter for letter in letters if not (letter.isascii() and letter.isalpha())]
    if wrong:
        raise ShapeError(f"{wrong[0]!r} is not an index", where=where, hint="use the letters a-z and A-Z, ',', '->' and '...'")


def _extents(labels: Subscripts, operands: Sequence[Tensor]) -> dict[str, Extent]:
    found: dict[str, list[Extent]] = {}
    for operand_labels, tensor in zip(labels.operands, operands, strict=True):
        for label, extent in zip(operand_labels, tensor.shape, strict=True):
            found.setdefault(label, []).append(extent)
    result: dict[str, Extent] = {}
    for label, extents in found.items():
        common = broadcast_extents(extents)
        if common is None:
            shapes = ", ".join(f"{tensor.name} {shape_text(tensor.shape)}" for tensor in operands)
            raise ShapeError(
                f"index {label!r} has extents {' and '.join(map(str, extents))}",
                where=f"einsum {labels.text()!r}",
                why=f"the operands are {shapes}",
                hint="an index has the same extent in every operand; transpose or rename indices",
            )
        result[label] = common
    return result


def matmul(left: Tensor, right: Tensor, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """`left (..., m, k) @ right (..., k, n)`; batch dimensions broadcast.

    A 1-D operand is a row (left) or a column (right), and its dimension is not in the result. Raises `ShapeError` for 0-d
    operands, different k, or batches that do not broadcast. Axes are m, n, k, and b0, b1, ... from the last batch
    dimension outwards.

    >>> operator, tensor = matmul(Tensor("a", (8, 2, 3)), Tensor("b", (3, 4)), name="product", result="c")
    >>> tensor.shape, [axis.name for axis in operator.axes]
    ((8, 2, 4), ['b0', 'm', 'k', 'n'])
    """
    _check(left, right)
    rows = ("m", "k") if len(left.shape) > 1 else ("k",)
    columns = ("k", "n") if len(right.shape) > 1 else ("k",)
    left_labels = (*_batch(len(left.shape) - len(rows)), *rows)
    right_labels = (*_batch(len(right.shape) - len(columns)), *columns)
    batch = max(_batch(len(left.shape) - len(rows)), _batch(len(right.shape) - len(columns)), key=len)
    subscripts = Subscripts((left_labels, right_labels), (*batch, *rows[:-1], *columns[1:]))
    return einsum(subscripts, [left, right], name=name, result=result, kind="matmul")


def _batch(rank: int) -> tuple[str, ...]:
    return tuple(f"b{position}" for position in reversed(range(rank)))


def _check(left: Tensor, right: Tensor) -> None:
    shapes = f"{shape_text(left.shape)} by {shape_text(right.shape)}"
    if not left.shape or not right.shape:
        raise ShapeError(f"cannot multiply {shapes}", where="matmul", why="a 0-d operand is no matrix", hint="use * for scaling")
    depth = (left.shape[-1], right.shape[-2] if len(right.shape) > 1 else right.shape[0])
    if depth[0] != depth[1]:
        hint = "transpose one operand (.mT), or use einsum"
        raise ShapeError(f"cannot multiply {shapes}", where="matmul", why=f"{depth[0]} != {depth[1]}", hint=hint)
    batches = (left.shape[:-2], right.shape[:-2])
    if any(broadcast_extents(pair) is None for pair in zip(reversed(batches[0]), reversed(batches[1]), strict=False)):
        broadcast_shapes(batches, where=f"matmul of {shapes}: batch dimensions")


def integer_matmul(
    left: Tensor,
    right: Tensor,
    left_zero: Tensor | None = None,
    right_zero: Tensor | None = None,
    *,
    name: str,
    result: str,
    dtype: str = "int32",
) -> tuple[Operator, Tensor]:
    """`(left - left_zero) @ (right - right_zero)` in int32, which wraps, or int64. Zero points broadcast to their operand.

    They are the same along the dimension that is summed: numbers, columns of numbers (..., m, 1) for the rows of `left`, or rows
    of numbers (..., 1, n) for the columns of `right`. Raises `ShapeError` for others, and as `matmul` does.

    >>> a, b, zero = Tensor("a", (2, 3), "uint8"), Tensor("b", (3, 4), "int8"), Tensor("zero", (2, 1), "uint8")
    >>> operator, tensor = integer_matmul(a, b, zero, name="product", result="c")
    >>> tensor, len(operator.reads)
    (Tensor(name='c', shape=(2, 4), dtype='int32'), 3)
    """
    operator, output = matmul(left, right, name=name, result=result)
    pairs = ((left, left_zero), (right, right_zero))
    zeros = [zero_read(operator, place, tensor, zero) for place, (tensor, zero) in enumerate(pairs)]
    return with_zero_points(operator, zeros, dtype), replace(output, dtype=dtype)
