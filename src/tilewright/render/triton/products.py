"""Sums: matrix products of tiles, and sums of whatever a body gives, that go on from block to block of their reduction."""

from __future__ import annotations

from tilewright.block.statements import Leaf
from tilewright.graph.exactness import BYTES
from tilewright.render.triton.refusals import refused
from tilewright.render.triton.rows import masked, reduced_dims, summed
from tilewright.render.triton.scalars import is_float, number, scalar_text
from tilewright.render.triton.sizes import ProductRoles, product_type, roles_of
from tilewright.render.triton.tiles import Tile, spread, type_text
from tilewright.render.triton.values import Writer, computed_type, dims_of, operands, values_of

TF32 = "tf32"
"""The number of a binding that says that float32 operands may be rounded to 10 bits behind the point."""


def write_sum(writer: Writer, leaf: Leaf) -> None:
    """A plain sum: a matrix product where its axes have the roles of one."""
    roles = roles_of(leaf)
    if roles is None:
        _write_general(writer, leaf)
    else:
        _write_product(writer, leaf, roles)


def _write_product(writer: Writer, leaf: Leaf, roles: ProductRoles) -> None:
    element_type = product_type(leaf.reads[roles.left].dtype, leaf.reads[roles.right].dtype)
    if (sum_type(leaf) == "int32") != (element_type in BYTES):
        types = " and ".join(read.dtype for read in leaf.reads)
        raise refused(f"the product {leaf.operator.name}", f"its dots take two operands of bytes of one type, not {types}")
    left = _operand(writer, leaf, roles.left, (roles.row, roles.depth), element_type)
    right = _operand(writer, leaf, roles.right, (roles.depth, roles.column), element_type)
    dims = (left.dims[0], right.dims[1])
    zero = (left.zero & {roles.row}) | (right.zero & {roles.column})
    sums = f", {spread(writer.registers.read(leaf.write, leaf.box), dims)}" if leaf.accumulate != 0 else ""
    text = f"tl.dot({left.text}, {right.text}{sums}{_precision(leaf, element_type)})"
    writer.write(leaf.write, leaf.box, Tile(text, dims, sum_type(leaf), zero))


def sum_type(leaf: Leaf) -> str:
    """The type of sums: int32 of products of bytes, else that which the leaf computes in."""
    dtypes = {read.dtype for read in leaf.reads}
    return "int32" if dtypes <= BYTES and leaf.operator.is_product_sum() else computed_type(leaf)


def _precision(leaf: Leaf, element_type: str) -> str:
    if element_type in BYTES:
        return ", out_dtype=tl.int32"
    if element_type != "float32":
        return ""
    return f', input_precision="{TF32 if dict(leaf.leaf.numbers).get(TF32) else "ieee"}"'


def _operand(writer: Writer, leaf: Leaf, read: int, axes: tuple[str, str], element_type: str) -> Tile:
    """A matrix in the type that is multiplied. What lies behind the end of the depth is 0."""
    place = leaf.reads[read]
    tile = writer.read(place, leaf.box, axes)
    names = {dim.axis: dim for dim in tile.dims}
    if names.keys() != set(axes):
        raise refused(f"the product {leaf.operator.name}", f"its operand {place.buffer} has the shape {tile.shape}")
    dims = tuple(names[axis] for axis in axes)
    depth = next(axis for axis in axes if axis in {one.name for one in leaf.operator.reduction_axes()})
    text = spread(tile, dims)
    if depth not in tile.zero:
        text = masked(writer, leaf, text, dims, (depth,), number(0.0, is_whole=element_type in BYTES))
    text = text if tile.dtype == element_type else f"({text}).to({type_text(element_type)})"
    return Tile(text, dims, element_type, tile.zero)


def _write_general(writer: Writer, leaf: Leaf) -> None:
    """A sum of what a body gives, along all tiles of its reduction."""
    tiles = operands(writer, leaf)
    dims, dtype = dims_of(writer, leaf, tiles), sum_type(leaf)
    point = writer.assign("x", scalar_text(leaf.operator.body, values_of(writer, leaf, tiles, dims)), dims, dtype)
    along = reduced_dims(leaf, dims)
    text = masked(writer, leaf, point.text, dims, [dim.axis for dim in along], number(0.0, is_whole=not is_float(dtype)))
    total = summed(Tile(text, dims, dtype), along, "add")
    if leaf.accumulate != 0:
        sums = writer.registers.read(leaf.write, leaf.box)
        new = writer.assign("added", total.text, total.dims)
        total = Tile(f"{sums.text} + {spread(new, sums.dims)}", sums.dims, dtype)
    writer.write(leaf.write, leaf.box, total)
