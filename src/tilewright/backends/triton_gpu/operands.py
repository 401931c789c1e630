"""Operands of products: the type that they are multiplied in, their bytes, and whether their loads are asynchronous."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tilewright.backends.triton_gpu.figures import Gpu
from tilewright.backends.triton_gpu.roles import Product, Roles
from tilewright.graph.exactness import HALVES
from tilewright.graph.expressions.index import Index
from tilewright.graph.types import Access, Chain, element_bytes
from tilewright.plan.reasons import NoMicroKernel, Unplannable
from tilewright.records import record

LEAST_DEPTH = {"float16": 16, "bfloat16": 16, "int8": 32, "uint8": 32}
"""Steps of a product that a tile has at least: what Triton 3.9.0 takes (`min_dot_size`), here not less than 16."""
LEAST_ASYNCHRONOUS = 4
"""Bytes of the smallest copy past registers: cp.async of the PTX ISA manual takes 4, 8 or 16."""


@record
class Operand:
    """An operand of a product."""

    read: Access
    is_input: bool
    """Whether it is loaded, and not made by an operator of the chain."""
    element_bytes: int
    """Of an element as it is loaded."""
    is_asynchronous: bool
    """Whether it is copied into shared memory while the product before is computed."""


@record
class Operands:
    """Both operands of a product, and the type in which it multiplies them."""

    product: Product
    dtype: str
    """An element type that `ProductUnit.operands` may name."""
    left: Operand
    right: Operand

    @property
    def element_bytes(self) -> int:
        """Of an element as it is multiplied."""
        return 4 if self.dtype in ("tf32", "float32") else element_bytes(self.dtype)


def operands_of(roles: Roles, gpu: Gpu, *, is_tf32: bool) -> tuple[Operands, ...]:
    """The operands of all products. Raises `Unplannable` where the device multiplies no such types."""
    return tuple(_operands(roles, product, gpu, is_tf32) for product in roles.products)


def _operands(roles: Roles, product: Product, gpu: Gpu, is_tf32: bool) -> Operands:
    left, right = (_operand(roles, product, access) for access in product.reads)
    dtype = _multiplied(roles.chain, product, is_tf32)
    if not any(unit.operands == dtype for unit in gpu.units) and not gpu.vector_rate(dtype):
        name = product.operator.name
        why = f"no unit of the device multiplies {dtype}, and its ordinary arithmetic has no rate for it"
        raise Unplannable(f"{name} has no unit of products", reason=NoMicroKernel(name), where=name, why=why)
    return Operands(product, dtype, left, right)


def _multiplied(chain: Chain, product: Product, is_tf32: bool) -> str:
    """The type in which operands are multiplied: the shorter of two. What is made in float32 is rounded to the other's type."""
    types = [chain.tensor(access.tensor).dtype for access in product.reads]
    short = [dtype for dtype in types if dtype in HALVES] or [dtype for dtype in types if dtype not in ("float32", "bool")]
    if short:
        return short[0]
    return "tf32" if is_tf32 else "float32"


def _operand(roles: Roles, product: Product, read: Access) -> Operand:
    tensor = roles.chain.tensor(read.tensor)
    is_input = read.tensor in roles.chain.inputs
    tiled = {product.row, product.column, product.depth}
    is_asynchronous = is_input and _bytes_at_once(roles.chain, read, tiled) >= LEAST_ASYNCHRONOUS
    return Operand(read, is_input, tensor.element_bytes, is_asynchronous)


def _bytes_at_once(chain: Chain, read: Access, tiled: set[str]) -> int:
    """What one thread loads at once: neighbours along a tiled axis, which start at multiples of so many elements."""
    size, inner = chain.tensor(read.tensor).element_bytes, read.innermost()
    extents: Mapping[str, int] = {axis: extent for axis, extent in chain.extents.items() if isinstance(extent, int)}
    if read.guard is not None or inner not in tiled or inner is None:
        return size
    count = 16 // size
    for atom, factor in _linear(chain, read).terms:
        while count > 1 and factor % count and not (atom == inner and factor == 1):
            count //= 2
    while count > 1 and extents[inner] % count:  # a mask must be equal for all that one load takes
        count //= 2
    return count * size


def _linear(chain: Chain, read: Access) -> Index:
    """The place of an element in a row-major tensor."""
    shape = [extent if isinstance(extent, int) else 1 for extent in chain.tensor(read.tensor).shape]
    total = Index()
    for dimension, index in enumerate(read.indices):
        total = total + index * prod(shape[dimension + 1 :])
    return total
