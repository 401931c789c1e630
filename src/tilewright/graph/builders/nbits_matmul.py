"""Products of floats with weights of 4 or 8 bits in blocks of one scale, which are unpacked while they are multiplied."""

from __future__ import annotations

from tilewright.errors import ShapeError
from tilewright.graph.extents import times
from tilewright.graph.index import axis as axis_index
from tilewright.graph.scalar import AxisValue, Literal, Load, Scalar, apply
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import SUM, Access, Axis, AxisKind, Operator, Tensor


def nbits_matmul(
    rows: Tensor, packed: Tensor, scales: Tensor, zeros: Tensor | None, middle: float, *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """`rows @ weights` where a weight is (its number - the block's zero point) times the block's scale, `middle` without zeros.

    `rows` (m, blocks, block size) in float32. Columns stand in panels, so that a kernel reads all bytes of one in their order:
    `packed` (panels, blocks, bytes of a block, columns) in uint8 holds one number a byte, or, where a block has half as many
    bytes as numbers, two: the even one in the lower half. `scales` and `zeros` are (panels, blocks, columns). The result is
    (m, panels, columns) in float32. Raises `ShapeError` for shapes that do not fit.

    >>> x, s = Tensor("x", (1, 4, 32)), Tensor("s", (2, 4, 8))
    >>> operator, tensor = nbits_matmul(x, Tensor("w", (2, 4, 16, 8), "uint8"), s, None, 8.0, name="f", result="y")
    >>> tensor.shape, [axis.extent for axis in operator.reduction_axes()]
    ((1, 2, 8), [4, 16])
    """
    per_byte = _numbers_in_a_byte(rows, packed, scales)
    (m, *_), (panels, blocks, count, columns) = rows.shape, packed.shape
    row, panel, column, block, byte = (axis_index(axis) for axis in ("row", "panel", "column", "block", "byte"))
    reads = [Access(packed.name, (panel, block, byte, column))]
    reads += [Access(rows.name, (row, block, byte * per_byte + place)) for place in range(per_byte)]
    reads.append(Access(scales.name, (panel, block, column)))
    zero: Scalar = Literal(middle) if zeros is None else Load(len(reads))
    if zeros is not None:
        reads.append(Access(zeros.name, (panel, block, column)))
    body = apply("multiply", Load(1 + per_byte), _products(per_byte, zero))
    kept = Axis("row", m), Axis("panel", panels), Axis("column", columns)
    summed = Axis("block", blocks, AxisKind.REDUCTION), Axis("byte", count, AxisKind.REDUCTION)
    write = Access(result, (row, panel, column))
    operator = Operator(name, "nbits_matmul", (*kept, *summed), tuple(reads), write, body, SUM)
    return operator, Tensor(result, (m, panels, columns))


def numbers_of_bytes(packed: Tensor, per_byte: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The numbers of bytes in float32: (..., bytes, `per_byte`), of two the lower half first.

    >>> numbers_of_bytes(Tensor("w", (8, 4, 16), "uint8"), 2, name="f", result="y")[1].shape
    (8, 4, 16, 2)
    """
    shape = (*packed.shape, per_byte)
    axes = tuple(Axis(f"d{place}", extent) for place, extent in enumerate(shape))
    *places, half = (axis_index(axis.name) for axis in axes)
    low, high = _halves(Load(0))
    body = Load(0) if per_byte == 1 else apply("where", apply("equal", AxisValue(axes[-1].name), Literal(0.0)), low, high)
    write = Access(result, (*places, half))
    return Operator(name, "numbers_of_bytes", axes, (Access(packed.name, tuple(places)),), write, body), Tensor(result, shape)


def _products(per_byte: int, zero: Scalar) -> Scalar:
    """The products of a byte's numbers, less the zero point, with elements of a row; float32 holds the numbers exactly."""
    byte = Load(0)
    if per_byte == 1:
        return apply("multiply", Load(1), apply("subtract", byte, zero))
    parts = [apply("multiply", Load(1 + place), apply("subtract", half, zero)) for place, half in enumerate(_halves(byte))]
    return apply("add", *parts)


def _halves(byte: Scalar) -> tuple[Scalar, Scalar]:
    """The number in the lower half of a byte, and that in the upper one."""
    high = apply("floor", apply("multiply", byte, Literal(1 / 16)))
    return apply("subtract", byte, apply("multiply", high, Literal(16.0))), high


def _numbers_in_a_byte(rows: Tensor, packed: Tensor, scales: Tensor) -> int:
    (_, blocks, size), (panels, packed_blocks, count, columns) = rows.shape, packed.shape
    if packed_blocks != blocks or scales.shape != (panels, blocks, columns) or size not in (count, times(2, count)):
        shapes = ", ".join(shape_text(tensor.shape) for tensor in (rows, packed, scales))
        raise ShapeError(f"rows, packed numbers and scales of {shapes}", where="nbits matmul", why="their blocks differ")
    return 1 if size == count else 2
