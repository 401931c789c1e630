"""Operators of an input that read constants which are computed: products, convolutions, tables, norms, maps."""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto

from tests.support.random.constants.parts import part, positions
from tests.support.random.onnx.growing import Growing

DEPTH = 3
"""Operators in a row, at most, that make a constant."""


def scaled_part(g: Growing, shape: tuple[int, ...], terms: int) -> str:
    """A constant that keeps a sum of so many terms near 1."""
    made = part(g, shape, g.whole(1, DEPTH))
    if g.chance(0.3):
        return made
    return str(g.add("Mul", made, g.constant(np.float32(2.0 ** -round(math.log2(max(terms, 1)) / 2)))))


def matmul(g: Growing) -> str:
    x = g.pick("f", lambda value: value.rank > 1 and value.shape[-1] is not None)
    depth = g.shape(x)[-1] or 1
    return str(g.add("MatMul", x, scaled_part(g, (depth, g.choose([3, 8, 17, 40])), depth), terms=depth))


def left_matmul(g: Growing) -> str:
    x = g.pick("f", lambda value: value.rank > 1 and value.shape[-2] is not None)
    depth = g.shape(x)[-2] or 1
    return str(g.add("MatMul", scaled_part(g, (g.choose([4, 9, 24]), depth), depth), x, terms=depth))


def gemm(g: Growing) -> str:
    x = g.pick("f", lambda value: value.rank == 2 and value.shape[1] is not None)
    depth, columns, turned = g.shape(x)[1] or 1, g.choose([3, 8, 17]), g.whole(0, 1)
    weight = scaled_part(g, (columns, depth) if turned else (depth, columns), depth)
    bias = [part(g, g.choose([(columns,), (1, columns)]), g.whole(0, 2))] if g.chance(0.6) else []
    return str(g.add("Gemm", x, weight, *bias, terms=depth, transB=turned))


def conv(g: Growing) -> str:
    x = g.pick("f", lambda value: value.rank == 4 and None not in value.shape[1:])
    channels, *extents = (extent or 1 for extent in g.shape(x)[1:])
    groups = g.choose([1, 1, channels])
    filters = channels if groups > 1 else g.choose([3, 8, 12])
    kernel = [g.whole(1, min(3, extent)) for extent in extents]
    terms = channels // groups * math.prod(kernel)
    weight = scaled_part(g, (filters, channels // groups, *kernel), terms)
    bias = [part(g, (filters,), g.whole(0, 2))] if g.chance(0.6) else []
    return str(g.add("Conv", x, weight, *bias, terms=terms, group=groups, pads=[g.whole(0, 1) for _ in range(4)]))


def batch_norm(g: Growing) -> str:
    x = g.pick("f", lambda value: value.rank > 1 and value.shape[1] is not None)
    channels = g.shape(x)[1] or 1
    variance = g.add("Abs", part(g, (channels,), 2))
    operands = [*(part(g, (channels,), g.whole(0, 2)) for _ in range(3)), variance]
    return str(g.add("BatchNormalization", x, *operands, terms=4, epsilon=0.1))


def layer_norm(g: Growing) -> str:
    x = g.pick("f", lambda value: value.rank > 1 and (value.shape[-1] or 1) > 1)
    width = g.shape(x)[-1] or 1
    return str(g.add("LayerNormalization", x, *(part(g, (width,), 2) for _ in range(g.whole(1, 2))), terms=8, epsilon=1e-2))


def arithmetic(g: Growing) -> str:
    """A map of a constant as wide as what it is applied to, or one that is broadcast."""
    x = g.pick("f", lambda value: value.rank > 0)
    shape = [extent or 1 for extent in g.shape(x)]
    shape = [extent if g.chance(0.7) else 1 for extent in shape][0 if g.chance(0.6) else g.whole(0, len(shape)) :]
    return str(g.add(g.choose(["Add", "Mul", "Sub", "Max"]), x, part(g, tuple(shape), DEPTH), terms=1))


def masked(g: Growing) -> str:
    """Softmax of what a constant mask lets through."""
    x = g.pick("f", lambda value: value.rank > 1 and None not in value.shape[-2:])
    rows, columns = (extent or 1 for extent in g.shape(x)[-2:])
    place = [g.add("Range", *(g.constant(np.int64(n)) for n in (0, count, 1))) for count in (rows, columns)]
    band = g.add("LessOrEqual", place[1], g.add("Add", g.add("Unsqueeze", place[0], g.integers(1)), g.constant(np.int64(2))))
    if g.chance(0.5):
        kept = g.add("Where", band, x, g.constant(np.float32(-1e4)))
    else:
        left_out = g.add("Sub", g.constant(np.float32(1)), g.add("Cast", band, to=TensorProto.FLOAT))
        kept = g.add("Add", x, g.add("Mul", left_out, g.constant(np.float32(-1e3))), terms=1)
    return str(g.add("Softmax", kept, terms=64))


def table(g: Growing) -> str:
    """Rows of a constant, at positions that are given."""
    ids = g.pick("i", lambda value: value.rank > 0 and value.size < 100)
    extent = g.whole(8, 20)
    return str(g.add("Gather", part(g, (extent, g.choose([3, 8, 16])), DEPTH), g.add("Mod", ids, g.constant(np.int64(extent)))))


def gathered(g: Growing) -> str:
    """Elements at constant positions."""
    x = g.pick("f", lambda value: value.rank > 0)
    axis = g.choose(g.fixed(x))
    return str(g.add("Gather", x, positions(g, g.whole(1, 20), g.shape(x)[axis] or 1), axis=axis))


def joined(g: Growing) -> str:
    """A computed constant beside what is given: a class token, a padding."""
    x = g.pick("f", lambda value: value.rank > 0 and None not in value.shape)
    axis = g.whole(0, g.values[x].rank - 1)
    shape = tuple(extent or 1 for extent in g.shape(x))
    beside = part(g, (*shape[:axis], g.whole(1, 3), *shape[axis + 1 :]), 2)
    return str(g.add("Concat", *((x, beside) if g.chance(0.5) else (beside, x)), axis=axis))


READERS = (
    matmul,
    matmul,
    left_matmul,
    gemm,
    conv,
    conv,
    batch_norm,
    layer_norm,
    arithmetic,
    arithmetic,
    masked,
    table,
    gathered,
    joined,
)
