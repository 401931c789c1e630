"""Constants of a wanted shape that are computed: each maker picks an operator, and makes what that reads in turn."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support.random.onnx.growing import Growing, Unfit

Shape = tuple[int, ...]
Maker = Callable[[Growing, Shape, int], str]

SHORT_TYPES = (np.float16, np.float64, np.int8, np.int32, np.uint8)
FUNCTIONS = ("Exp", "Tanh", "Neg", "Abs", "Sigmoid", "Softsign", "Sin", "Identity")


def part(g: Growing, shape: Shape, depth: int) -> str:
    """A constant tensor of float32, made by at most so many operators in a row."""
    if depth <= 0:
        return g.choose([_stored, _stored, _filled, _cast])(g, shape, 0)
    return g.choose(MAKERS)(g, shape, depth)


def steps(g: Growing, shape: Shape, dtype: type[Any], depth: int) -> str:
    """A constant tensor of short integers, stored or moved."""
    limits = np.iinfo(dtype)
    if depth <= 0 or not shape or g.chance(0.4):
        return g.constant(g.rng.integers(limits.min, limits.max, shape, dtype, endpoint=True))
    match g.choose(["transpose", "reshape", "concat", "cast"]):
        case "transpose":
            order, source = _turned(g, shape)
            return str(g.add("Transpose", steps(g, source, dtype, depth - 1), perm=order))
        case "reshape":
            return str(g.add("Reshape", steps(g, (math.prod(shape),), dtype, depth - 1), g.integers(*shape)))
        case "concat":
            axis, at = _cut(g, shape)
            pieces = [steps(g, (*shape[:axis], size, *shape[axis + 1 :]), dtype, depth - 1) for size in (at, shape[axis] - at)]
            return str(g.add("Concat", *pieces, axis=axis))
    wide = g.constant(g.rng.integers(limits.min, limits.max, shape, np.int64, endpoint=True))
    return str(g.add("Cast", wide, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype))))


def positions(g: Growing, count: int, extent: int) -> str:
    """Constant int64 positions below an extent."""
    match g.choose(["stored", "range", "cast", "where"]):
        case "range":
            numbers = g.add("Range", *(g.constant(np.int64(n)) for n in (0, count, 1)))
            return str(g.add("Mod", numbers, g.constant(np.int64(extent))))
        case "cast":
            return str(g.add("Cast", g.constant(g.rng.integers(0, extent, count).astype(np.float32)), to=TensorProto.INT64))
        case "where":
            numbers = [g.constant(g.rng.integers(-extent, extent, count)) for _ in range(2)]
            return str(g.add("Where", g.add("Less", *numbers), *numbers))
    return g.constant(g.rng.integers(-extent, extent, count))


def _stored(g: Growing, shape: Shape, depth: int) -> str:
    return g.floats(*shape)


def _filled(g: Growing, shape: Shape, depth: int) -> str:
    value = numpy_helper.from_array(np.array([g.choose([0.02, -0.5, 1.0, 0.0])], np.float32))
    return str(g.add("ConstantOfShape", g.integers(*shape), value=value))


def _cast(g: Growing, shape: Shape, depth: int) -> str:
    dtype = g.choose(SHORT_TYPES)
    given = g.constant(g.rng.uniform(0 if dtype is np.uint8 else -3, 4, shape).astype(dtype))
    return str(g.add("Cast", given, to=TensorProto.FLOAT))


def _transpose(g: Growing, shape: Shape, depth: int) -> str:
    order, source = _turned(g, shape)
    how = {"perm": order} if order else {}
    return str(g.add("Transpose", part(g, source, depth - 1), **how))


def _dequantize(g: Growing, shape: Shape, depth: int) -> str:
    short: tuple[type[Any], ...] = (np.int8, np.uint8)
    dtype = g.choose(short)
    values = steps(g, shape, dtype, depth - 1)
    axis = g.whole(0, len(shape) - 1) if shape else 0
    blocks = [n for n in (2, 4, 8) if shape and shape[axis] % n == 0]
    match g.choose(["tensor", "axis", "axis", "block"]) if shape else "tensor":
        case "axis":
            of_scales: Shape = (shape[axis],)
            more = {"axis": axis}
        case "block":
            size = g.choose(blocks)
            of_scales = (*shape[:axis], shape[axis] // size, *shape[axis + 1 :])
            more = {"axis": axis, "block_size": size}
        case _:
            of_scales, more = (), {}
    scale = g.floats(*of_scales, scale=0.01, positive=True)
    zero = [g.constant(g.rng.integers(0, 5, of_scales).astype(dtype))] if g.chance(0.5) else []
    return str(g.add("DequantizeLinear", values, scale, *zero, terms=1, **more))


def _arithmetic(g: Growing, shape: Shape, depth: int) -> str:
    thin = tuple(1 if g.chance(0.4) else extent for extent in shape)
    thin = thin[g.whole(0, len(thin)) :] if g.chance(0.3) else thin
    operands = [part(g, shape, depth - 1), part(g, thin, depth - 2)]
    return str(g.add(g.choose(["Mul", "Add", "Sub", "Max"]), *(operands if g.chance(0.5) else operands[::-1]), terms=1))


def _quotient(g: Growing, shape: Shape, depth: int) -> str:
    return str(g.add("Div", part(g, shape, depth - 1), g.floats(*(shape[-1:] if g.chance(0.5) else ()), positive=True), terms=1))


def _function(g: Growing, shape: Shape, depth: int) -> str:
    return str(g.add(g.choose(FUNCTIONS), part(g, shape, depth - 1), terms=1))


def _concat(g: Growing, shape: Shape, depth: int) -> str:
    axis, at = _cut(g, shape)
    return str(
        g.add("Concat", *(part(g, (*shape[:axis], n, *shape[axis + 1 :]), depth - 1) for n in (at, shape[axis] - at)), axis=axis)
    )


def _reshape(g: Growing, shape: Shape, depth: int) -> str:
    size = math.prod(shape)
    first = g.choose([n for n in range(1, size + 1) if size % n == 0])
    source = g.choose([(size,), (first, size // first), shape[::-1]])
    return str(g.add("Reshape", part(g, source, depth - 1), g.integers(*shape)))


def _expand(g: Growing, shape: Shape, depth: int) -> str:
    thin = tuple(1 if g.chance(0.5) else extent for extent in shape)
    return str(g.add("Expand", part(g, thin, depth - 1), g.integers(*shape)))


def _gather(g: Growing, shape: Shape, depth: int) -> str:
    axis = _axis(g, shape)
    extent = shape[axis] + g.whole(0, 3)
    source = (*shape[:axis], extent, *shape[axis + 1 :])
    return str(g.add("Gather", part(g, source, depth - 1), positions(g, shape[axis], extent), axis=axis))


def _slice(g: Growing, shape: Shape, depth: int) -> str:
    axis, step, begin = _axis(g, shape), g.choose([1, 1, 2, -1]), g.whole(0, 2)
    last = begin + (shape[axis] - 1) * abs(step)
    source = (*shape[:axis], last + 1 + g.whole(0, 2), *shape[axis + 1 :])
    start, end = (begin, last + 1) if step > 0 else (last, begin - 1 if begin else -(2**31))
    whole = part(g, source, depth - 1)
    return str(g.add("Slice", whole, g.integers(start), g.integers(end), g.integers(axis), g.integers(step)))


def _split(g: Growing, shape: Shape, depth: int) -> str:
    axis, more = _axis(g, shape), g.whole(1, 4)
    whole = part(g, (*shape[:axis], shape[axis] + more, *shape[axis + 1 :]), depth - 1)
    return str(g.add("Split", whole, g.integers(shape[axis], more), results=2, axis=axis)[0])


def _where(g: Growing, shape: Shape, depth: int) -> str:
    condition = g.constant(g.rng.random(shape) < 0.5)
    if g.chance(0.5):
        condition = g.add("Greater", g.floats(*shape), g.constant(np.float32(0)))
    return str(g.add("Where", condition, part(g, shape, depth - 1), part(g, shape[-1:], depth - 2)))


def _range(g: Growing, shape: Shape, depth: int) -> str:
    numbers = g.add("Range", *(g.constant(np.int64(n)) for n in (0, math.prod(shape), 1)))
    wide = g.add("Cast", g.add("Reshape", numbers, g.integers(*shape)), to=TensorProto.FLOAT)
    near = g.add("Mul", wide, g.constant(np.float32(2.0**-8)))
    return str(g.add(g.choose(["Sin", "Cos", "Identity", "Tanh"]), near, terms=1))


def _if(g: Growing, shape: Shape, depth: int) -> str:
    branches = {name: _branch(g, shape, name) for name in ("then_branch", "else_branch")}
    return str(g.add("If", g.constant(np.array(g.chance(0.5))), terms=1, **branches))


def _branch(g: Growing, shape: Shape, name: str) -> onnx.GraphProto:
    given = numpy_helper.from_array(g.rng.standard_normal(shape, np.float32), f"{name}_w{len(g.values)}")
    made = helper.make_tensor_value_info(f"{name}_y{len(g.values)}", TensorProto.FLOAT, shape)
    node = helper.make_node(g.choose(["Neg", "Tanh", "Identity"]), [given.name], [made.name])
    return helper.make_graph([node], name, [], [made], [given])


def _sum(g: Growing, shape: Shape, depth: int) -> str:
    axis, more = g.whole(0, len(shape)), g.whole(2, 4)
    whole = part(g, (*shape[:axis], more, *shape[axis:]), depth - 1)
    return str(g.add(g.choose(["ReduceSum", "ReduceMean", "ReduceMax"]), whole, g.integers(axis), terms=more, keepdims=0))


def _product(g: Growing, shape: Shape, depth: int) -> str:
    if len(shape) < 2:
        raise Unfit
    *others, rows, columns = shape
    inner = g.whole(2, 6)
    left, right = part(g, (*others, rows, inner), depth - 1), part(g, (inner, columns), depth - 2)
    return str(g.add("MatMul", left, right, terms=inner))


def _padded(g: Growing, shape: Shape, depth: int) -> str:
    axis = _axis(g, shape)
    before = g.whole(0, max(0, shape[axis] - 2))
    after = g.whole(0, shape[axis] - before - 1)
    pads = [before if n == axis else 0 for n in range(len(shape))] + [after if n == axis else 0 for n in range(len(shape))]
    source = (*shape[:axis], shape[axis] - before - after, *shape[axis + 1 :])
    return str(g.add("Pad", part(g, source, depth - 1), g.integers(*pads)))


def _tile(g: Growing, shape: Shape, depth: int) -> str:
    axis = _axis(g, shape)
    times = g.choose([n for n in range(1, 5) if shape[axis] % n == 0])
    source = (*shape[:axis], shape[axis] // times, *shape[axis + 1 :])
    return str(g.add("Tile", part(g, source, depth - 1), g.integers(*(times if n == axis else 1 for n in range(len(shape))))))


def _normalised(g: Growing, shape: Shape, depth: int) -> str:
    """Softmax, or rows divided by their lengths, as weight normalisation has it."""
    x = part(g, shape, depth - 1)
    if not shape or g.chance(0.5):
        return str(g.add("Softmax", x, terms=64, axis=-1)) if shape else x
    length = g.add("ReduceL2", x, g.integers(-1), terms=shape[-1])
    return str(g.add("Div", x, g.add("Add", length, g.constant(np.float32(0.5)), terms=1), terms=1))


def _triangle(g: Growing, shape: Shape, depth: int) -> str:
    if len(shape) < 2:
        raise Unfit
    return str(g.add("Trilu", part(g, shape, depth - 1), g.constant(np.int64(g.whole(-2, 2))), upper=g.whole(0, 1)))


def _axis(g: Growing, shape: Shape) -> int:
    if not shape:
        raise Unfit
    return g.whole(0, len(shape) - 1)


def _cut(g: Growing, shape: Shape) -> tuple[int, int]:
    """An axis, and where it is cut in two."""
    axis = g.choose([axis for axis, extent in enumerate(shape) if extent > 1])
    return axis, g.whole(1, shape[axis] - 1)


def _turned(g: Growing, shape: Shape) -> tuple[list[int], Shape]:
    """A permutation, and the shape that it makes this one of."""
    order = [int(n) for n in g.rng.permutation(len(shape))]
    return order, tuple(shape[order.index(n)] for n in range(len(shape)))


MAKERS: tuple[Maker, ...] = (
    _arithmetic,
    _arithmetic,
    _cast,
    _concat,
    _dequantize,
    _dequantize,
    _expand,
    _filled,
    _function,
    _gather,
    _if,
    _normalised,
    _padded,
    _product,
    _quotient,
    _range,
    _reshape,
    _slice,
    _split,
    _sum,
    _tile,
    _transpose,
    _transpose,
    _triangle,
    _where,
)
