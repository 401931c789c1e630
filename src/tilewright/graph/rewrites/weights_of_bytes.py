"""Weights made of constant bytes, of which few rows are products: they stay bytes, and are unpacked while they are multiplied.

With numbers q, zero points z and scales s, which are the same along blocks of steps,

    sum x (q - z) s  =  sum over blocks of s (sum within the block of x (q - z))

The right side is `graph/builders/nbits_matmul.py`, which says in which order bytes lie. The left side is a product with what maps
make of constants, through whatever reshapes: an operand is told by how its elements depend on bytes, not by who wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod

import numpy as np

from tilewright.graph.builders.nbits_matmul import (
    BLOCK,
    BYTE,
    COLUMN,
    GROUP,
    MOST_ROWS,
    PANEL,
    PANEL_COLUMNS,
    WORD_BYTES,
    PackedWeights,
    nbits_matmul,
)
from tilewright.graph.exactness import BYTES, HALVES
from tilewright.graph.expressions.index import Index, constant, floordiv, mod
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Scalar, apply
from tilewright.graph.licences import Licence
from tilewright.graph.numpy_types import is_float
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import constant_operators
from tilewright.graph.rewrites.fusion.compose import inlined, is_invertible
from tilewright.graph.rewrites.rebuild import Expansion, unused
from tilewright.graph.types import Access, Axis, AxisKind, Constant, Extent, Graph, Guard, Operator, Tensor, largest_extent
from tilewright.records import record

LARGEST_WHOLE_HALF = 256
"""Up to it, both types of two bytes hold every whole number."""
MOST_STEPS, LEAST_STEPS = 128, 16
"""Of a block: sums of few rows are cut every 128 steps (`plan/decisions/long_sums.py`); below 16, scales weigh too much."""
MIDDLE = 128
"""From int8 to uint8, which words have, and the zero point that they have where there are no others."""
INNER = frozenset(("panel", "column", "block", "group", "byte"))
"""Axes of the product with bytes, beside those of its rows."""


@record
class _Operand:
    """(number - zero) * scale: how a product reads the three. Zeros and scales may be numbers."""

    number: Access
    zero: Access | float
    scale: Access | float


@record
class _Product:
    """A product of few rows with such an operand."""

    rows: Access
    operand: _Operand
    kept: tuple[Axis, ...]
    """The axes of rows."""
    column: Axis
    step: Axis
    size: int
    """Steps of a block."""

    @property
    def columns(self) -> int:
        """So many of them."""
        return largest_extent(self.column.extent)

    @property
    def steps(self) -> int:
        """Of the sum."""
        return largest_extent(self.step.extent)

    def has_blocks_of(self, size: int) -> bool:
        """Whether steps are whole blocks of a size, each with the same zero points and scales."""
        if self.steps % size:
            return False
        extents = {self.column.name: self.columns, "block": self.steps // size, "byte": size}
        place = {self.step.name: BLOCK * size + BYTE}
        parameters = [part for part in (self.operand.zero, self.operand.scale) if isinstance(part, Access)]
        if any(not access.axes() <= {self.column.name, self.step.name} for access in parameters):
            return False
        found = (index.substitute(place, extents) for access in parameters for index in access.indices)
        return not any("byte" in index.axes() for index in found)


class WeightsOfBytes(Rewrite):
    """Legal where numbers are bytes whose maps round nothing but float32, and where zero points and scales, constants like them,
    belong to blocks of at least 16 steps. Code depends on whether all zero points are 0, and on no other value.

    More than 16 rows read weights that are unpacked ahead. Sums of a block are scaled when they are complete: rows of 2^120 may
    overflow where products with small weights would not.
    """

    licence = Licence.RANGE

    def run(self, graph: Graph) -> Graph:
        """The graph with products that read bytes."""
        types = graph.by_name
        has_bytes = any(types[name].dtype in BYTES for name, _ in graph.constants)
        return _Rewriting(graph).rewritten() if has_bytes else graph


class _Rewriting(Expansion):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        made = {operator.write.tensor: operator for operator in constant_operators(graph)}
        self.constants = {name for name, _ in graph.constants} | made.keys()
        self.values = {name: constant.array for name, constant in graph.constants if constant.decides}
        self.numbers: dict[str, Constant] = {}
        """Scales that are the same everywhere."""
        self.wholes: dict[str, tuple[int, int] | None] = {}
        self.maps = {name: operator for name, operator in made.items() if self.is_read_through(operator, made)}

    def rewritten(self) -> Graph:
        """The graph of all parts, and constants that they read."""
        expanded = self.expanded()
        return replace(expanded, constants=(*expanded.constants, *self.numbers.items())) if self.numbers else expanded

    def parts(self, operator: Operator) -> Iterator[Operator]:
        """An operator, or the packing of its weights, the product, and the change that puts columns where they belong."""
        product = self.product(operator)
        if product is None:
            yield operator
        else:
            yield from self.unpacking(operator, product)

    # What is a product with bytes

    def is_read_through(self, operator: Operator, made: Mapping[str, Operator]) -> bool:
        """Whether a map of constants gives exactly what its body says when another operator computes it."""
        reads_plainly = all(read.guard is None and not read.lookups for read in operator.reads)
        if not operator.is_map() or not reads_plainly or operator.computed_axes() or not is_invertible(operator):
            return False
        target = self.tensors[operator.write.tensor].dtype
        if operator.is_index_change() and self.tensors[operator.reads[0].tensor].dtype == target:
            return True
        if target == "float32":
            return operator.accumulator == "float32"
        whole = self.whole(operator.write.tensor, made)
        return target in HALVES and whole is not None and max(map(abs, whole)) <= LARGEST_WHOLE_HALF

    def whole(self, name: str, made: Mapping[str, Operator]) -> tuple[int, int] | None:
        """The least and the largest value of a tensor of whole numbers: of bytes, in any type, or of their differences."""
        if name not in self.wholes:
            self.wholes[name] = self._whole(name, made)
        return self.wholes[name]

    def _whole(self, name: str, made: Mapping[str, Operator]) -> tuple[int, int] | None:
        if self.tensors[name].dtype in BYTES and name not in made:
            limits = np.iinfo(self.tensors[name].dtype)
            return int(limits.min), int(limits.max)
        operator = made.get(name)
        if operator is None or not operator.is_map() or not (is_float(self.tensors[name].dtype) or operator.is_index_change()):
            return None
        bounds = [self.whole(read.tensor, made) for read in operator.reads]
        known = [pair for pair in bounds if pair is not None]
        match operator.body:
            case Load(0) if len(known) == 1 == len(bounds):
                return known[0]
            case Apply("subtract", (Load(0), Load(1))) if len(known) == 2 == len(bounds):
                (low, high), (least, most) = known
                return low - most, high - least
        return None

    def product(self, operator: Operator) -> _Product | None:
        """An operator as a product of few rows with bytes."""
        is_product = operator.is_product_sum() and is_float(self.tensors[operator.write.tensor].dtype)
        if not is_product or operator.accumulator not in ("float32", *HALVES):
            return None
        if operator.axis_names & INNER or not WeightsOfBytes.licence.permits_operators((operator,), self.tensors):
            return None
        for rows, weights in (operator.reads, operator.reads[::-1]):
            operand = self.operand(operator, weights) if rows.tensor not in self.constants and rows.is_affine() else None
            if operand is not None:
                return _product(operator, rows, operand)
        return None

    def operand(self, operator: Operator, weights: Access) -> _Operand | None:
        """How an operator gets at the bytes behind an operand."""
        if weights.tensor not in self.maps or weights.guard is not None or weights.lookups:
            return None
        reader = replace(operator, reads=(weights,), body=Load(0), reduction=None)
        while not self.maps.keys().isdisjoint(read.tensor for read in reader.reads):
            reader = inlined(reader, self.maps)
        found = _parts(reader.body)
        if found is None:
            return None
        number, zero, scale = (reader.reads[part.read] if isinstance(part, Load) else part.value for part in found)
        if not isinstance(number, Access) or self.tensors[number.tensor].dtype not in BYTES:
            return None
        is_zero = isinstance(zero, Access) and zero.tensor in self.values and not np.any(self.values[zero.tensor])
        return _Operand(number, 0.0 if is_zero else zero, scale)

    # What stands for it

    def unpacking(self, operator: Operator, product: _Product) -> Iterator[Operator]:
        """The operators that compute a product with bytes; all but the last two are those of constants."""
        packed, packing = self.packed(operator, product)
        yield from packing
        if self.tensors[product.rows.tensor].dtype != "float32":
            widened = self.widened(operator, product)
            yield widened
            product = replace(product, rows=widened.write)
        shape = (*(axis.extent for axis in product.kept), packed.panels, packed.columns)
        panels = self.new(f"{operator.write.tensor}_panels", shape, self.tensors[operator.write.tensor].dtype)
        kept = tuple(axis_index(axis.name) for axis in product.kept)
        yield _of_rows(operator, product, packed, Access(panels.name, (*kept, PANEL, COLUMN)))
        column = axis_index(product.column.name)
        read = Access(panels.name, (*kept, floordiv(column, packed.columns), mod(column, packed.columns)))
        parallel = tuple(axis for axis in operator.axes if axis.kind is AxisKind.PARALLEL)
        yield Operator(f"{operator.name}_columns", "reshape", parallel, (read,), operator.write, Load(0))

    def packed(self, operator: Operator, product: _Product) -> tuple[PackedWeights, list[Operator]]:
        """Weights in panels, and the operators on constants that put them there."""
        name, operand = operator.write.tensor, product.operand
        offset = MIDDLE if self.tensors[operand.number.tensor].dtype == "int8" else 0
        panels, blocks = -(-product.columns // PANEL_COLUMNS), product.steps // product.size
        by_block = (panels * blocks * PANEL_COLUMNS,)
        has_zeros = isinstance(operand.zero, Access) or operand.zero + offset != MIDDLE
        weights = PackedWeights(
            numbers=self.new(f"{name}_words", (by_block[0] * product.size,), "uint8"),
            scales=self.new(f"{name}_scales", by_block, "float32"),
            zeros=self.new(f"{name}_zeros", by_block, "float32") if has_zeros else None,
            middle=float(MIDDLE),
            panels=panels,
            blocks=blocks,
            words=product.size // WORD_BYTES,
            columns=PANEL_COLUMNS,
        )
        pairs = [(operand.number, weights.numbers, offset), (operand.scale, weights.scales, 0)]
        pairs += [] if weights.zeros is None else [(operand.zero, weights.zeros, offset)]
        packing = []
        for source, target, shift in pairs:
            if isinstance(source, Access):
                packing.append(_packing(source, target, weights, product, shift))
            else:
                self.numbers[target.name] = Constant(np.full(by_block, source + shift, np.float32))
        return weights, packing

    def widened(self, operator: Operator, product: _Product) -> Operator:
        """Rows in float32."""
        axes = (*product.kept, replace(product.step, kind=AxisKind.PARALLEL))
        tensor = self.new(f"{operator.write.tensor}_rows", tuple(axis.extent for axis in axes), "float32")
        write = Access(tensor.name, tuple(axis_index(axis.name) for axis in axes))
        return Operator(f"{operator.name}_rows", "cast", axes, (product.rows,), write, Load(0))

    def new(self, name: str, shape: tuple[Extent, ...], dtype: str) -> Tensor:
        """A tensor that there was not."""
        tensor = Tensor(unused(name, self.tensors), shape, dtype)
        self.tensors[tensor.name] = tensor
        return tensor


def _parts(body: Scalar) -> tuple[Load | Literal, Load | Literal, Load | Literal] | None:
    """Number, zero point and scale in the body of a map that dequantises; where one is left out, the number that it is."""
    centred = body
    scale: Load | Literal = Literal(1.0)
    match body:
        case Apply("multiply", (Load() as first, Load() | Literal() as second)):
            return first, Literal(0.0), second
        case Apply("multiply", (factor, Load() | Literal() as second)):
            centred, scale = factor, second
    match centred:
        case Load():
            return centred, Literal(0.0), scale
        case Apply("subtract", (Load() as number, Load() | Literal() as zero)):
            return number, zero, scale
    return None


def _product(operator: Operator, rows: Access, operand: _Operand) -> _Product | None:
    """The product of an operand, where it has one axis of columns and one of steps, and its rows are few."""
    own, summed = operand.number.axes(), operator.reduction_axes()
    kept = tuple(axis for axis in operator.axes if axis.kind is AxisKind.PARALLEL and axis.name not in own)
    columns = [axis for axis in operator.axes if axis.kind is AxisKind.PARALLEL and axis.name in own]
    if len(columns) != 1 or len(summed) != 1 or summed[0].name not in own or columns[0].name in rows.axes():
        return None
    (column,), (step,) = columns, summed
    if prod(largest_extent(axis.extent) for axis in kept) > MOST_ROWS or not {type(column.extent), type(step.extent)} <= {int}:
        return None
    found = _Product(rows, operand, kept, column, step, 0)
    size = next((size for size in range(MOST_STEPS, LEAST_STEPS - 1, -WORD_BYTES) if found.has_blocks_of(size)), None)
    return None if size is None else replace(found, size=size)


def _packing(source: Access, target: Tensor, weights: PackedWeights, product: _Product, shift: int) -> Operator:
    """The map that puts numbers, zero points or scales into panels; columns that there are not are 0."""
    is_number = source is product.operand.number
    extents = {"panel": weights.panels, "block": weights.blocks, "column": weights.columns}
    extents |= {"group": weights.words, "byte": WORD_BYTES} if is_number else {}
    inside = GROUP * WORD_BYTES + BYTE if is_number else Index()
    column = PANEL * weights.columns + COLUMN
    place = {product.column.name: column, product.step.name: BLOCK * product.size + inside}
    last = constant(product.columns - 1) - column
    guard = Guard((last,), 0.0) if product.columns % weights.columns else None
    read = Access(source.tensor, tuple(index.substitute(place, extents) for index in source.indices), guard)
    write = Access(target.name, (weights.by_byte() if is_number else weights.by_block(),))
    order = ("panel", "block", "group", "column", "byte")
    axes = tuple(Axis(name, extents[name]) for name in order if name in extents)
    body = apply("add", Load(0), Literal(float(shift))) if shift else Load(0)
    return Operator(f"{target.name}_packing", "pack", axes, (read,), write, body, None, "int32" if is_number else "float32")


def _of_rows(operator: Operator, product: _Product, packed: PackedWeights, write: Access) -> Operator:
    """The product of the rows that an operator reads with packed weights."""
    rows = Tensor(product.rows.tensor, (1, product.steps))
    unpacking, _ = nbits_matmul(rows, packed, name=f"{operator.name}_unpacking", result=write.tensor)

    def read(access: Access) -> Access:
        if access.tensor != rows.name:
            return access
        return product.rows.mapped(lambda index: index.substitute({product.step.name: access.indices[1]}))

    axes = tuple(axis for axis in unpacking.axes if axis.name != "row")
    return replace(unpacking.with_reads(read), axes=(*product.kept, *axes), write=write)
