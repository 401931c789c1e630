"""Products of matrices and vectors, alone and with a summand; halves are summed in float32 and rounded once."""

from __future__ import annotations

import math
from dataclasses import replace

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.element_types import wide_type
from tilewright.frontend.torch.filled import filled
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders import einsum as einsum_operator
from tilewright.graph.builders.diagonals import contracted
from tilewright.graph.builders.elementwise import accumulator_of, map_of, points
from tilewright.graph.expressions.index import Index, mod
from tilewright.graph.expressions.scalar import Load, Scalar, apply, times
from tilewright.graph.shapes import broadcast_shapes, normalize_axis
from tilewright.graph.types import Access, Operator, Tensor


@lowers("aten.mm.default", "aten.bmm.default")
def matmul(call: Call) -> Tensor:
    """The product of two matrices, or of two lists of matrices."""
    return _product(call, call.tensor("self"), call.tensor("mat2"))


@lowers("aten.matmul.default", "aten.mv.default", "aten.dot.default", "aten.vdot.default")
def product(call: Call) -> Tensor:
    """The product of matrices or vectors."""
    right = next(name for name in ("other", "vec", "tensor") if call.has(name))
    return _product(call, call.tensor("self"), call.tensor(right))


@lowers("aten.outer.default")
def outer(call: Call) -> Tensor:
    """All products of two vectors' elements."""
    dtype = call.result.dtype
    left, right = call.tensor("self", dtype), call.tensor("vec2", dtype)
    return _multiplied(call, call.builder.reshape(left, (*left.shape, 1)), right, dtype)


def _multiplied(call: Call, left: Tensor, right: Tensor, dtype: str) -> Tensor:
    return call.builder.map("logical_and" if dtype == "bool" else "multiply", left, right, dtype=dtype)


def _product(call: Call, left: Tensor, right: Tensor, dtype: str | None = None) -> Tensor:
    """Summed over the last dimension of the left operand, in the result's type unless told."""
    builder, dtype = call.builder, dtype or call.result.dtype
    if left.shape[-1] == 0:
        front = broadcast_shapes((left.shape[:-2], right.shape[:-2]), call.overload)
        return filled(builder, 0, (*front, *left.shape[:-1][-1:], *right.shape[1:][-1:]), dtype)
    if dtype == left.dtype == right.dtype:
        return builder.matmul(left, right)
    return builder.record(_matmul_in, left, right, dtype, kind="matmul")


def _matmul_in(left: Tensor, right: Tensor, dtype: str, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The product with elements of another type."""
    operator, tensor = einsum_operator.matmul(left, right, name=name, result=result)
    return replace(operator, accumulator=accumulator_of(dtype)), replace(tensor, dtype=dtype)


@lowers("aten.addmm.default", "aten.baddbmm.default", "aten.addmv.default")
def added_product(call: Call) -> Tensor:
    """`beta * self + alpha * left @ right`; a beta of 0 ignores NaN in self."""
    left, right = next(pair for pair in (("mat1", "mat2"), ("batch1", "batch2"), ("mat", "vec")) if call.has(pair[0]))
    found = _product(call, call.tensor(left), call.tensor(right), wide_type(call.result.dtype))
    return _with_summand(call, found)


@lowers("aten.addbmm.default")
def added_products(call: Call) -> Tensor:
    """The same of the sum of the products of all matrices."""
    left, right, wide = call.tensor("batch1"), call.tensor("batch2"), wide_type(call.result.dtype)
    if left.shape[0] == 0 or left.shape[-1] == 0:
        return _with_summand(call, filled(call.builder, 0, call.result.shape, wide))
    return _with_summand(call, call.builder.einsum("bmk,bkn->mn", left, right, dtype=wide))


@lowers("aten.addr.default")
def added_outer(call: Call) -> Tensor:
    """`beta * self + alpha * outer(vec1, vec2)`."""
    dtype = call.result.dtype
    if dtype == "bool":
        raise call.refuse("truth values")
    left, right = call.tensor("vec1", dtype), call.tensor("vec2", dtype)
    alpha, beta = _scale(call, "alpha"), _scale(call, "beta")
    column = call.builder.reshape(left, (*left.shape, 1))
    products = apply("multiply", times(Load(0), alpha), Load(1))
    if beta == 0:
        return call.builder.body(products, column, right, dtype=dtype, kind="outer")
    added = apply("add", times(Load(2), beta), products)
    return call.builder.body(added, column, right, call.tensor("self", dtype), dtype=dtype, kind="outer")


def _with_summand(call: Call, found: Tensor) -> Tensor:
    """A product, scaled, and self, scaled, in one map: it is the epilogue of the product."""
    alpha, beta, dtype = _scale(call, "alpha"), _scale(call, "beta"), call.result.dtype
    if alpha == 0 and "float" in dtype:
        raise call.refuse("alpha is 0: whether NaN in the product shows is not specified")
    if found.shape != call.result.shape:
        raise call.refuse("the summand has more elements than the product")
    scaled: Scalar = times(Load(0), alpha)
    if beta == 0:
        return call.cast(found, dtype) if alpha == 1 else call.builder.body(scaled, found, dtype=dtype, kind="scale")
    added = apply("add", scaled, times(Load(1), beta))
    summand = call.tensor("self")
    if summand.dtype != dtype:
        summand = call.cast(summand, dtype)
    return call.builder.body(added, found, summand, dtype=dtype, accumulator=found.dtype, kind="add")


def _scale(call: Call, name: str) -> float:
    """A factor, of integers without its fraction, as ATen converts it."""
    value = call[name]
    if not isinstance(value, bool | int | float):
        raise call.refuse(f"{name} is no number")
    return float(value) if "float" in call.result.dtype else float(math.trunc(value))


@lowers("aten.linear.default")
def linear(call: Call) -> Tensor:
    """`input @ weight.T + bias`."""
    return linear_of(call, call.tensor("input"), call.tensor("weight"), call.optional("bias"))


def linear_of(call: Call, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """x (..., k) @ weight (n, k).T + bias (n), rounded once to the result's type."""
    turned = call.builder.transpose(weight, (1, 0)) if len(weight.shape) == 2 else weight
    if bias is None:
        return _product(call, x, turned)
    dtype = call.result.dtype
    found = _product(call, x, turned, wide_type(dtype))
    return call.builder.body(apply("add", Load(0), Load(1)), found, bias, dtype=dtype, kind="add")


@lowers("aten._int_mm.default")
def integer_product(call: Call) -> Tensor:
    """The product of int8 matrices in int32."""
    left, right = call.tensor("self"), call.tensor("mat2")
    if left.shape[-1] == 0:
        return filled(call.builder, 0, call.result.shape, "int32")
    return call.builder.record(einsum_operator.integer_matmul, left, right, kind="integer_matmul")


@lowers("aten._weight_int8pack_mm.default")
def product_with_bytes(call: Call) -> Tensor:
    """The product with the transpose of an int8 matrix, whose rows have scales; rounded once."""
    dtype = call.result.dtype
    x, weight, scales = call.tensor("self"), call.tensor("mat2", dtype), call.tensor("scales")
    found = _product(call, x, call.builder.transpose(weight, (1, 0)), wide_type(dtype))
    return call.builder.body(
        apply("multiply", Load(0), Load(1)), found, scales, dtype=dtype, accumulator=found.dtype, kind="scale"
    )


@lowers("aten._trilinear.default")
def trilinear(call: Call) -> Tensor:
    """Products of three tensors, each without some of the dimensions, summed along some: a bilinear layer."""
    operands = [call.tensor(name, call.result.dtype) for name in ("i1", "i2", "i3")]
    missing = [call[name] for name in ("expand1", "expand2", "expand3")]
    labels = "abcdefghijklmnop"[: len(operands[0].shape) + len(missing[0])]
    kept = [tuple(label for d, label in enumerate(labels) if d not in lost) for lost in missing]
    result = tuple(label for d, label in enumerate(labels) if d not in call["sumdim"])
    if any(0 in operand.shape for operand in operands):
        return filled(call.builder, 0, call.result.shape, call.result.dtype)
    if not set(labels) <= {label for each in kept for label in each}:
        raise call.refuse("dimensions that none has")
    return contracted(call.builder, einsum_operator.Subscripts(tuple(kept), result), operands)


@lowers("aten.linalg_cross.default")
def cross(call: Call) -> Tensor:
    """The cross product along a dimension of three elements: `a[i+1] b[i+2] - a[i+2] b[i+1]`."""
    dtype = call.result.dtype
    left, right = call.tensor("self", dtype), call.tensor("other", dtype)
    shape = broadcast_shapes((left.shape, right.shape), call.overload)
    return call.builder.record(_cross, left, right, shape, normalize_axis(call["dim"], len(shape)), kind="cross")


def _cross(left: Tensor, right: Tensor, shape: tuple[int, ...], axis: int, *, name: str, result: str) -> tuple[Operator, Tensor]:
    reads = [_turned(tensor, shape, axis, by) for by in (1, 2) for tensor in (left, right)]
    ahead, behind = apply("multiply", Load(0), Load(3)), apply("multiply", Load(2), Load(1))
    return map_of("cross", shape, reads, apply("subtract", ahead, behind), left.dtype, name, result)


def _turned(tensor: Tensor, shape: tuple[int, ...], axis: int, by: int) -> Access:
    """Elements at positions that lie ahead by a number, of three."""
    indices: list[Index] = []
    for d, (extent, index) in enumerate(zip(tensor.shape, points(len(shape)), strict=True)):
        moved = mod(index + by, 3) if d == axis else index
        indices.append(index * 0 if extent == 1 and shape[d] != 1 else moved)
    return Access(tensor.name, tuple(indices))
