"""Products with weights of 4 or 8 bits in blocks of one scale, which are unpacked while they are multiplied.

Columns stand in panels, and of a column in a panel four bytes lie side by side, a word; words of neighbouring columns are
neighbours. So vectors along columns load whole words, and all bytes of a panel are read in their order. A byte holds one number,
or two: then the lower halves of a word are four steps of the sum, and its upper halves the next four.
"""

from __future__ import annotations

from itertools import pairwise

from tilewright.errors import ShapeError
from tilewright.graph.builders.elementwise import map_of, points
from tilewright.graph.expressions.extents import times
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Scalar, apply, fold
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import SUM, Access, Axis, AxisKind, Operator, Tensor
from tilewright.records import record

WORD_BYTES = 4
PANEL_COLUMNS = 32
"""Columns that stand side by side where weights are read in the order of the sum: two vectors of 512 bits."""
MOST_ROWS = 16
"""Rows of float32 up to which it is faster to unpack weights for every few of them than to read them as float32."""
ROW, PANEL, COLUMN, BLOCK, GROUP, BYTE = (axis_index(axis) for axis in ("row", "panel", "column", "block", "group", "byte"))


@record(kw_only=True)
class PackedWeights:
    """Weights (number - zero point) * scale in panels; without zero points that is `middle` for all.

    `numbers` are [panels][blocks][words of a block][columns][4] in uint8, `scales` and `zeros` [panels][blocks][columns]. All
    three have one dimension: then generated code knows how far apart elements are.
    """

    numbers: Tensor
    scales: Tensor
    zeros: Tensor | None
    middle: float
    panels: int
    blocks: int
    words: int
    columns: int

    def by_block(self) -> Index:
        """Where scales and zero points are."""
        return (PANEL * self.blocks + BLOCK) * self.columns + COLUMN

    def by_byte(self) -> Index:
        """Where numbers are."""
        return (((PANEL * self.blocks + BLOCK) * self.words + GROUP) * self.columns + COLUMN) * WORD_BYTES + BYTE


@record(kw_only=True)
class RoundedRows:
    """Rows of 8-bit integers in blocks: `numbers` (m, blocks, block size) in int8, and by blocks (m, blocks) in float32 their
    `scales` and `shares`: the sum of a block's numbers over the count of bytes of a column's weights in a block."""

    numbers: Tensor
    scales: Tensor
    shares: Tensor


def nbits_matmul(rows: Tensor | RoundedRows, weights: PackedWeights, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """`rows @ weights`, (m, panels, columns) in float32, of `rows` (m, blocks * block size) in float32 or in 8-bit integers.

    Blocks are no dimension of floats, whose rows would be padded in memory. Of integers the sum over a block of (number - zero) *
    row is that of number * row, less zero times the sum of the row: every byte of the block brings its share of that. Raises
    `ShapeError` for shapes that do not fit.

    >>> w, s = Tensor("w", (2 * 4 * 4 * 8 * 4,), "uint8"), Tensor("s", (2 * 4 * 8,))
    >>> weights = PackedWeights(numbers=w, scales=s, zeros=None, middle=8.0, panels=2, blocks=4, words=4, columns=8)
    >>> numbers, scales = Tensor("x", (1, 4, 32), "int8"), Tensor("r", (1, 4))
    >>> for rows in (Tensor("x", (1, 128)), RoundedRows(numbers=numbers, scales=scales, shares=Tensor("t", (1, 4)))):
    ...     operator, tensor = nbits_matmul(rows, weights, name="f", result="y")
    ...     print(tensor.shape, [axis.extent for axis in operator.reduction_axes()], len(operator.reads))
    (1, 2, 8) [4, 4, 4] 4
    (1, 2, 8) [4, 4, 4] 6
    """
    numbers, parts = (rows.numbers, (rows.scales, rows.shares)) if isinstance(rows, RoundedRows) else (rows, ())
    size = _block_size(numbers, weights)
    per_byte = size // (weights.words * WORD_BYTES)
    places = [(BLOCK, place) if parts else (BLOCK * size + place,) for place in _places(per_byte)]
    reads = [
        Access(weights.numbers.name, (weights.by_byte(),)),
        *(Access(numbers.name, (ROW, *place)) for place in places),
        Access(weights.scales.name, (weights.by_block(),)),
        *(Access(part.name, (ROW, BLOCK)) for part in parts),
        *([] if weights.zeros is None else [Access(weights.zeros.name, (weights.by_block(),))]),
    ]
    zero = Literal(weights.middle) if weights.zeros is None else Load(len(reads) - 1)
    body = (body_of_integers if parts else body_of_floats)(per_byte, zero)
    kept = Axis("row", numbers.shape[0]), Axis("panel", weights.panels), Axis("column", weights.columns)
    inside = ("block", weights.blocks), ("group", weights.words), ("byte", WORD_BYTES)
    summed = tuple(Axis(axis, extent, AxisKind.REDUCTION) for axis, extent in inside)
    operator = Operator(name, "nbits_matmul", (*kept, *summed), tuple(reads), Access(result, (ROW, PANEL, COLUMN)), body, SUM)
    return operator, Tensor(result, (numbers.shape[0], weights.panels, weights.columns))


def body_of_floats(per_byte: int, zero: Scalar) -> Scalar:
    """The weighted elements of a row at one byte. The reads: bytes, `per_byte` of the row, scales, and zero points if any."""
    pairs = zip(_rows(per_byte), _every_number(Load(0), per_byte), strict=True)
    products = fold("add", [apply("multiply", row, apply("subtract", part, zero)) for row, part in pairs])
    return apply("multiply", Load(1 + per_byte), products)


def body_of_integers(per_byte: int, zero: Scalar) -> Scalar:
    """The same of integers. Behind the read of scales are those of the row's scales and shares."""
    pairs = zip(_rows(per_byte), _every_number(Load(0), per_byte), strict=True)
    products = fold("add", [apply("multiply", row, part) for row, part in pairs])
    scale = apply("multiply", Load(2 + per_byte), Load(1 + per_byte))
    return apply("multiply", scale, apply("subtract", products, apply("multiply", Load(3 + per_byte), zero)))


def numbers_of_bytes(packed: Tensor, per_byte: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The numbers of bytes in float32: (..., bytes, `per_byte`), the lowest bits first.

    >>> numbers_of_bytes(Tensor("w", (8, 4, 16), "uint8"), 2, name="f", result="y")[1].shape
    (8, 4, 16, 2)
    """
    shape = (*packed.shape, per_byte)
    *first, body = _every_number(Load(0), per_byte)
    for number in reversed(range(len(first))):
        is_it = apply("equal", AxisValue(f"d{len(packed.shape)}"), Literal(float(number)))
        body = apply("where", is_it, first[number], body)
    read = Access(packed.name, points(len(packed.shape)))
    return map_of("numbers_of_bytes", shape, [read], body, "float32", name, result)


def _places(per_byte: int) -> list[Index]:
    """Where in a block of a row the elements are that the numbers of a byte are multiplied by."""
    first: Index = GROUP * (WORD_BYTES * per_byte) + BYTE
    return [first + WORD_BYTES * half for half in range(per_byte)]


def _rows(per_byte: int) -> list[Scalar]:
    return [Load(1 + half) for half in range(per_byte)]


def _every_number(byte: Scalar, per_byte: int) -> list[Scalar]:
    """The numbers of a byte, the lowest bits first."""
    size = 2.0 ** (8 // per_byte)
    above = [byte, *(apply("floor", apply("multiply", byte, Literal(size**-n))) for n in range(1, per_byte))]
    lower = [apply("subtract", own, apply("multiply", up, Literal(size))) for own, up in pairwise(above)]
    return [*lower, above[-1]]


def _block_size(rows: Tensor, weights: PackedWeights) -> int:
    """The steps of a block. Raises `ShapeError` where they do not fit the weights."""
    by_block, count = weights.panels * weights.blocks * weights.columns, weights.words * WORD_BYTES
    is_right = weights.numbers.shape == (by_block * count,) and weights.scales.shape == (by_block,)
    for size in (count, 2 * count):
        if is_right and times(*rows.shape[1:]) == weights.blocks * size:
            return size
    shapes = ", ".join(shape_text(tensor.shape) for tensor in (rows, weights.numbers, weights.scales))
    raise ShapeError(f"rows, packed numbers and scales of {shapes}", where="nbits matmul", why="their blocks differ")
