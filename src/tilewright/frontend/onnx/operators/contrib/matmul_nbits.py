"""MatMulNBits: products with weights of 2, 4 or 8 bits, in blocks along the summed dimension with a scale and a zero point each.

Source: onnxruntime's ContribOperators.md. Weights are what they stand for, (number - zero point) times scale. `accuracy_level` is
the least accuracy: at 4, rows are rounded to 8 bits in the blocks of the weights, by steps of 1/127 of a block's largest
element, and products are sums of integers; at all others rows are float32. So an element is wrong by at most half a step at
level 4, of at least 2^-126. A row with an infinity or NaN is NaN in all results there: nothing finite is made of it.

With `g_idx`, which names the block of every step, rows are float32 at all levels, as in onnxruntime. Where it gives every block
as many steps as there is room for, steps are put into the order of blocks: constant weights ahead, rows in a call. onnxruntime
1.32 has no 8 bits with `g_idx`, and with 2 bits its results are far from its own formula there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import InvalidModel
from tilewright.frontend.onnx.definition import onnx_operator
from tilewright.frontend.onnx.operators.contrib.qlinear import MICROSOFT
from tilewright.frontend.onnx.operators.operands import completed, is_at_most
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import pad
from tilewright.graph.builders.nbits_matmul import (
    MOST_ROWS,
    PANEL_COLUMNS,
    WORD_BYTES,
    PackedWeights,
    RoundedRows,
    nbits_matmul,
    numbers_of_bytes,
)
from tilewright.graph.builders.reshape import gather
from tilewright.graph.expressions.extents import times
from tilewright.graph.positions import check_positions
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Extent, Tensor

ROUNDED = 4
"""The `accuracy_level` at which rows may be rounded to 8 bits."""
STEPS = 127.0
"""From zero to the largest of 8 bits."""
LEAST_STEP = 2.0**-126
"""The least normal float32: quotients by smaller ones would not be those of steps."""

_MIDDLE_OF_4 = 8.0
_WHERE = "MatMulNBits"


@onnx_operator("MatMulNBits", domain=MICROSOFT)
class MatMulNBits:
    """`a @ b.T` plus a bias, where b (N, K) is stored as (N, blocks, bytes of a block): of 4 bits two a byte, the even one lower.

    `scales` are (N, blocks), or flat. `zero_points` are so, too, in the type of `a`; or packed as the numbers are, each row by
    itself: (N, bytes). Without any they are in the middle, 8 or 128. `g_idx` is the block that a step's scale is taken from.
    """

    K: int
    N: int
    block_size: int
    bits: int = 4
    accuracy_level: int = 0

    def reference(self, *operands: Any) -> Any:
        a, b, scales, zero_points, g_idx, bias = completed(operands, 6)
        self._check(a, b, scales, zero_points, g_idx, bias)
        block = np.arange(self.K) // self.block_size if g_idx is None else self._checked_blocks(g_idx)
        numbers = self._numbers(b).reshape(self.N, -1)[:, : self.K].astype(np.float32)
        zeros = self._zeros(zero_points).astype(np.float32)[:, block]
        weights = (numbers - zeros) * scales.reshape(self.N, self._blocks).astype(np.float32)[:, block]
        rows = a.astype(np.float32)
        product = np.matmul(self._reference_rows(rows) if self._is_rounded and g_idx is None else rows, weights.T)
        return (product if bias is None else product + bias.astype(np.float32)).astype(a.dtype)

    def lower(self, builder: Builder, *operands: Any) -> Tensor:
        """An operator that unpacks constant weights at every row, or a product with weights that are unpacked before."""
        a, b, scales, zero_points, g_idx, bias = completed(operands, 6)
        self._check(a, b, scales, zero_points, g_idx, bias)
        rows = builder.reshape(builder.cast(a, "float32"), (times(*a.shape[:-1]), self.K))
        if g_idx is None:
            product = self._lowered(builder, rows, b, scales, zero_points)
        else:
            product = self._lowered_by_index(builder, rows, b, scales, zero_points, g_idx)
        product = product if bias is None else builder.map("add", product, builder.cast(bias, "float32"))
        return builder.cast(builder.reshape(product, (*a.shape[:-1], self.N)), a.dtype)

    def _lowered(self, builder: Builder, rows: Tensor, b: Tensor, scales: Tensor, zero_points: Tensor | None) -> Tensor:
        """The product of rows (m, K) with weights whose blocks are in order."""
        if _are_known(builder, b, scales, zero_points) and (self._is_rounded or _is_few(rows.shape[0])):
            return self._by_unpacking(builder, rows, self._numbers(builder.known[b.name]), scales, zero_points, self._is_rounded)
        weights = self._weights(builder, b, scales, zero_points, None)
        return builder.einsum("mk,nk->mn", self._rounded_floats(builder, rows) if self._is_rounded else rows, weights)

    def _lowered_by_index(
        self, builder: Builder, rows: Tensor, b: Tensor, scales: Tensor, zero_points: Tensor | None, g_idx: Tensor
    ) -> Tensor:
        """The product where `g_idx` names the block of every step.

        Few rows are put into the order of blocks where constant weights can be; else weights are float32 in their own order.
        """
        known = builder.known.get(g_idx.name)
        order = None if known is None else self._order(self._checked_blocks(known))
        if order is None or not _are_known(builder, b, scales, zero_points) or not _is_few(rows.shape[0]):
            return builder.einsum("mk,nk->mn", rows, self._weights(builder, b, scales, zero_points, g_idx))
        if not np.array_equal(order, np.arange(self.K)):
            rows = builder.record(gather, rows, builder.constant(order, "order"), 1, kind="gather")
        numbers = self._numbers(builder.known[b.name]).reshape(self.N, -1).copy()
        numbers[:, : self.K] = numbers[:, order]
        return self._by_unpacking(builder, rows, numbers, scales, zero_points, False)

    def _order(self, blocks: Any) -> Any:
        """The steps by their blocks; None where a block has another number of steps than it has room for."""
        sizes = np.bincount(np.arange(self.K) // self.block_size, minlength=self._blocks)
        is_full = np.array_equal(np.bincount(blocks, minlength=self._blocks), sizes)
        return np.argsort(blocks, kind="stable") if is_full else None

    def _checked_blocks(self, g_idx: Any) -> Any:
        """The block of every step, not negative. Raises `PositionError` for one that there is not."""
        blocks = g_idx[: self.K]
        check_positions(blocks, self._blocks, _WHERE)
        return blocks % self._blocks

    def _by_unpacking(
        self, builder: Builder, rows: Tensor, numbers: Any, scales: Tensor, zero_points: Tensor | None, is_rounded: bool
    ) -> Tensor:
        """The product where rows read the bytes of constant weights, in panels of columns.

        Numbers of 2 bits are stored as those of 4, in the middle of these where they have no zero points.
        """
        if self.bits == 2 and zero_points is None:
            numbers = numbers + np.uint8(_MIDDLE_OF_4 - self._middle)
        known, m, zeros = builder.known, rows.shape[0], None
        if zero_points is not None:
            zeros = builder.constant(_panels(self._zeros(known[zero_points.name])), zero_points.name)
        weights = PackedWeights(
            numbers=builder.constant(self._words(numbers), "words"),
            scales=builder.constant(_panels(known[scales.name].reshape(self.N, self._blocks)), scales.name),
            zeros=zeros,
            middle=_MIDDLE_OF_4 if self.bits == 2 else self._middle,
            panels=-(-self.N // PANEL_COLUMNS),
            blocks=self._blocks,
            words=self.block_size * self._stored_bits // 8 // WORD_BYTES,
            columns=PANEL_COLUMNS,
        )
        operand = self._rounded(builder, self._in_blocks(builder, rows)) if is_rounded else self._whole(builder, rows)
        product = builder.record(nbits_matmul, operand, weights, kind="nbits_matmul")
        columns = -(-self.N // PANEL_COLUMNS) * PANEL_COLUMNS
        return _first_columns(builder, builder.reshape(product, (m, columns)), self.N)

    def _in_blocks(self, builder: Builder, rows: Tensor) -> Tensor:
        """Rows (m, blocks, block size), with zeros behind them."""
        return builder.reshape(self._whole(builder, rows), (rows.shape[0], self._blocks, self.block_size))

    def _whole(self, builder: Builder, rows: Tensor) -> Tensor:
        """Rows of whole blocks, with zeros behind them."""
        behind = self._blocks * self.block_size - self.K
        return builder.record(pad, rows, ((0, 0), (0, behind)), 0.0, kind="pad") if behind else rows

    def _rounded(self, builder: Builder, blocks: Tensor) -> RoundedRows:
        """Rows in blocks as 8-bit integers. Of a block that is not finite the scale is not, and its numbers are 0."""
        size = builder.reduce("max", builder.map("abs", blocks), (2,), keepdims=True)
        scales = builder.map("maximum", builder.map("divide", size, STEPS), LEAST_STEP)
        numbers = builder.map("round", builder.map("divide", blocks, scales))
        is_finite = builder.map("less_equal", size, float(np.finfo(np.float32).max))
        numbers = builder.map("where", is_finite, numbers, 0.0)
        sums = builder.reduce("sum", numbers, (2,))
        shares = builder.map("multiply", sums, 8 / (self._stored_bits * self.block_size))
        scales = builder.reshape(scales, sums.shape)
        return RoundedRows(numbers=builder.cast(numbers, "int8"), scales=scales, shares=shares)

    def _rounded_floats(self, builder: Builder, rows: Tensor) -> Tensor:
        """Rows (m, K) of what rounded ones stand for."""
        blocks = self._in_blocks(builder, rows)
        rounded = self._rounded(builder, blocks)
        scales = builder.reshape(rounded.scales, (rows.shape[0], self._blocks, 1))
        product = builder.map("multiply", builder.cast(rounded.numbers, "float32"), scales)
        return _first_columns(builder, builder.reshape(product, (rows.shape[0], self._blocks * self.block_size)), self.K)

    def _reference_rows(self, a: Any) -> Any:
        """What rounded rows stand for."""
        behind = [(0, 0)] * (a.ndim - 1) + [(0, self._blocks * self.block_size - self.K)]
        blocks = np.pad(a, behind).reshape(*a.shape[:-1], self._blocks, self.block_size)
        size = np.abs(blocks).max(axis=-1, keepdims=True)
        scales = np.maximum(size / np.float32(STEPS), np.float32(LEAST_STEP))
        with np.errstate(invalid="ignore"):
            rounded = np.where(np.isfinite(size), np.round(blocks / scales), np.float32(0)) * scales
        return rounded.reshape(*a.shape[:-1], -1)[..., : self.K]

    @property
    def _is_rounded(self) -> bool:
        return self.accuracy_level == ROUNDED

    @property
    def _stored_bits(self) -> int:
        """Of a number in panels."""
        return max(self.bits, 4)

    def _words(self, numbers: Any) -> Any:
        """The bytes of numbers (N, K) in panels of words, [panels][blocks][words of a block][PANEL_COLUMNS][4].

        Of 4 bits, a word's lower halves are four steps of the sum, and its upper halves the next four.
        """
        numbers = numbers.reshape(self.N, self._blocks, -1, 8 // self._stored_bits, WORD_BYTES)
        words = numbers[..., 0, :] if self.bits == 8 else numbers[..., 0, :] | numbers[..., 1, :] << 4
        return np.ascontiguousarray(_in_panels(words).transpose(0, 2, 3, 1, 4)).reshape(-1)

    def _weights(self, builder: Builder, b: Tensor, scales: Tensor, zero_points: Tensor | None, g_idx: Tensor | None) -> Tensor:
        """The weights (N, K) in float32, which become constants where they are made of constants."""
        numbers = builder.record(numbers_of_bytes, b, 8 // self.bits, kind="unpack")
        factors = builder.reshape(builder.cast(scales, "float32"), (self.N, self._blocks))
        zeros: Tensor | float = self._middle if zero_points is None else self._lowered_zeros(builder, zero_points)
        if g_idx is not None:
            blocks = builder.slice(g_idx, (slice(0, self.K),))
            flat = self._in_steps(builder, numbers)
            zeros = zeros if isinstance(zeros, float) else builder.record(gather, zeros, blocks, 1, kind="gather")
            factors = builder.record(gather, factors, blocks, 1, kind="gather")
            return builder.map("multiply", builder.map("subtract", flat, zeros), factors)
        numbers, shape = builder.reshape(numbers, (self.N, self._blocks, self.block_size)), (self.N, self._blocks, 1)
        zeros = builder.reshape(zeros, shape) if isinstance(zeros, Tensor) else zeros
        weights = builder.map("multiply", builder.map("subtract", numbers, zeros), builder.reshape(factors, shape))
        return self._in_steps(builder, weights)

    def _in_steps(self, builder: Builder, weights: Tensor) -> Tensor:
        """(N, K) of what has the same elements in blocks, and others behind."""
        return _first_columns(builder, builder.reshape(weights, (self.N, self._blocks * self.block_size)), self.K)

    def _lowered_zeros(self, builder: Builder, zero_points: Tensor) -> Tensor:
        """Zero points (N, blocks) in float32."""
        if zero_points.dtype != "uint8":
            return builder.reshape(builder.cast(zero_points, "float32"), (self.N, self._blocks))
        packed = builder.reshape(zero_points, (self.N, 1, self._zero_bytes))
        numbers = builder.record(numbers_of_bytes, packed, 8 // self.bits, kind="unpack")
        return _first_columns(builder, builder.reshape(numbers, (self.N, self._zero_bytes * (8 // self.bits))), self._blocks)

    @property
    def _blocks(self) -> int:
        return -(-self.K // self.block_size)

    @property
    def _zero_bytes(self) -> int:
        """The bytes of the packed zero points of a row."""
        return -(-self._blocks * self.bits // 8)

    @property
    def _middle(self) -> float:
        return float(1 << (self.bits - 1))

    def _numbers(self, packed: Any) -> Any:
        """The numbers of bytes, along the last dimension."""
        if self.bits == 8:
            return packed
        parts = [packed >> shift & ((1 << self.bits) - 1) for shift in range(0, 8, self.bits)]
        return np.stack(parts, axis=-1).reshape(*packed.shape[:-1], -1)

    def _zeros(self, zero_points: Any) -> Any:
        """The zero points (N, blocks)."""
        if zero_points is None:
            return np.full((self.N, self._blocks), self._middle, np.float32)
        if zero_points.dtype != np.uint8:
            return zero_points.reshape(self.N, self._blocks).astype(np.float32)
        return self._numbers(zero_points.reshape(self.N, self._zero_bytes))[:, : self._blocks]

    def _check(self, a: Any, b: Any, scales: Any, zero_points: Any, g_idx: Any, bias: Any) -> None:
        """Raise `InvalidModel` for attributes and operands that do not fit together."""
        self._check_attributes()
        n, blocks = self.N, self._blocks
        if not a.shape or a.shape[-1] != self.K:
            raise InvalidModel(f"A has the shape {shape_text(a.shape)}", where=_WHERE, why=f"its last dimension is K, {self.K}")
        _check_shape("B", b.shape, [(n, blocks, self.block_size * self.bits // 8)])
        if np.dtype(b.dtype).name != "uint8":
            raise InvalidModel(f"B is of {np.dtype(b.dtype).name}", where=_WHERE, why="numbers are packed into uint8")
        _check_shape("scales", scales.shape, [(n, blocks), (n * blocks,)])
        if zero_points is not None:
            self._check_zeros(a, zero_points)
        if g_idx is not None:
            _check_shape("g_idx", g_idx.shape, [(self.K,), (blocks * self.block_size,)])
        if bias is not None:
            _check_shape("bias", bias.shape, [(n,)])

    def _check_attributes(self) -> None:
        if self.bits not in (2, 4, 8):
            raise InvalidModel(f"MatMulNBits of {self.bits} bits", where=_WHERE, why="weights of 2, 4 and 8 bits are known here")
        if self.block_size < 16 or self.block_size & (self.block_size - 1):
            raise InvalidModel(f"block_size is {self.block_size}", where=_WHERE, why="it is a power of two from 16 on")
        if self.K < 1 or self.N < 1:
            raise InvalidModel(f"K is {self.K} and N is {self.N}", where=_WHERE, why="both are numbers from 1 on")

    def _check_zeros(self, a: Any, zero_points: Any) -> None:
        name = np.dtype(zero_points.dtype).name
        if name not in ("uint8", np.dtype(a.dtype).name):
            why = f"they are packed into uint8, or of the type of A, {np.dtype(a.dtype).name}"
            hint = "store them so, or leave them out where all are in the middle"
            raise InvalidModel(f"zero_points are of {name}", where=_WHERE, why=why, hint=hint)
        count = self._zero_bytes if name == "uint8" else self._blocks
        _check_shape("zero_points", zero_points.shape, [(self.N, count), (self.N * count,)])


def _first_columns(builder: Builder, x: Tensor, count: int) -> Tensor:
    return x if x.shape[1] == count else builder.slice(x, (slice(None), slice(0, count)))


def _are_known(builder: Builder, *parts: Tensor | None) -> bool:
    return all(part is None or part.name in builder.known for part in parts)


def _is_few(rows: Extent) -> bool:
    """Whether weights are unpacked at every row."""
    return is_at_most(rows, MOST_ROWS, "rows", _WHERE)


def _check_shape(operand: str, shape: Any, allowed: list[tuple[int, ...]]) -> None:
    if tuple(shape) not in allowed:
        text, why = f"{operand} has the shape {shape_text(shape)}", "by K, N, bits and block_size it is "
        why += " or ".join(map(shape_text, allowed))
        raise InvalidModel(text, where=_WHERE, why=why, hint="quantise the model again")


def _panels(array: Any) -> Any:
    """(n, blocks) as [panels][blocks][columns of a panel]."""
    return np.ascontiguousarray(_in_panels(array).swapaxes(1, 2)).reshape(-1)


def _in_panels(array: Any) -> Any:
    """(n, ...) as (panels, columns of a panel, ...); columns that there are not are 0."""
    behind = -array.shape[0] % PANEL_COLUMNS
    padded = np.pad(array, [(0, behind)] + [(0, 0)] * (array.ndim - 1)) if behind else array
    return padded.reshape(-1, PANEL_COLUMNS, *array.shape[1:])
