"""Nodes of layers: products, convolutions, pooling, resizes, norms."""

from __future__ import annotations

import math

import numpy as np

from tests.support.random.onnx.growing import Growing, Unfit
from tests.support.random.onnx.program import Value


def weights(g: Growing, *shape: int, terms: int) -> str:
    """Constants that keep a sum of so many terms near 1."""
    return g.floats(*shape, scale=1 / math.sqrt(max(terms, 1)))


def linear(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank > 1 and value.shape[-1] is not None)
    depth = g.shape(x)[-1] or 1
    width = g.choose([1, 2, 3, 8, 16, 33])
    product = g.add("MatMul", x, weights(g, depth, width, terms=depth), terms=depth)
    if g.chance(0.5):
        g.add("Add", product, g.floats(width), terms=1)


def product(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank > 0 and value.shape[-1] is not None)
    depth = g.shape(x)[-1] or 1

    def fits(other: Value) -> bool:
        leading = zip(reversed(other.names[:-2]), reversed(g.values[x].names[:-2]), strict=False)
        inner = other.shape[-2 if other.rank > 1 else -1] if other.rank else None
        return inner == depth and all(a == b or 1 in (a, b) for a, b in leading)

    scale = g.constant(np.float32(1 / math.sqrt(depth)))
    g.add("MatMul", g.add("Mul", x, scale, terms=1), g.pick("f", fits), terms=depth)


def product_with_itself(g: Growing) -> None:
    """Scores of attention: x times its transpose."""
    x = g.pick("f", lambda value: value.rank > 1 and value.shape[-1] is not None)
    rank, depth = g.values[x].rank, g.shape(x)[-1] or 1
    turned = g.add("Transpose", x, perm=[*range(rank - 2), rank - 1, rank - 2])
    scores = g.add("MatMul", g.add("Mul", x, g.constant(np.float32(1 / depth)), terms=1), turned, terms=depth)
    if g.chance(0.6):
        g.add("MatMul", g.add("Softmax", scores, terms=64), x, terms=64)


def gemm(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank == 2)
    across = g.whole(0, 1)
    depth, other = g.shape(x)[1 - across], g.choose([1, 3, 8, 17])
    if depth is None:
        raise Unfit
    turned = g.whole(0, 1)
    weight = weights(g, *((other, depth) if turned else (depth, other)), terms=depth)
    bias = g.choose([g.floats(other), g.floats(1), g.floats(1, other)])
    more = {"alpha": 0.5, "beta": 2.0} if g.chance(0.3) else {}
    g.add("Gemm", x, weight, *([bias] if g.chance(0.7) else []), terms=depth, transA=across, transB=turned, **more)


def einsum(g: Growing) -> None:
    """Of a value and a constant that share some of their letters; the result has some of all letters, in any order."""
    x = g.pick("f", lambda value: 0 < value.rank < 5)
    letters = "abcdefg"[: g.values[x].rank]
    extents = dict(zip(letters, g.shape(x), strict=True))
    shared = g.some([letter for letter in letters if extents[letter] is not None])
    new = {"x": g.whole(1, 6)} if g.chance(0.5) else {}
    other = [str(one) for one in g.rng.permutation([*shared, *new])]
    everything = [letter for letter in [*letters, *new] if extents.get(letter, 1) is None or g.chance(0.6)]
    result = "".join(str(one) for one in g.rng.permutation(everything)) if everything else ""
    terms = math.prod(extents[letter] or 1 for letter in letters if letter not in result)
    constant = weights(g, *(new.get(letter) or extents[letter] or 1 for letter in other), terms=terms)
    g.add("Einsum", x, constant, terms=terms, equation=f"{letters},{''.join(other)}->{result}")


def einsum_of_two(g: Growing) -> None:
    equation = g.choose(
        ["bij,bjk->bik", "bij,bkj->bik", "bhid,bhjd->bhij", "ij,kj->ik", "i,j->ij", "bchw,bkhw->bck", "bic,bjc->bij"]
    )
    first, second = equation.partition("->")[0].split(",")
    x = g.pick("f", lambda value: value.rank == len(first))
    extents = dict(zip(first, g.values[x].names, strict=True))
    y = g.pick("f", lambda v: v.rank == len(second) and all(extents.get(n, e) == e for n, e in zip(second, v.names, strict=True)))
    g.add("Einsum", x, y, terms=64, equation=equation)


def images(g: Growing, rank: int = 4) -> str:
    """Images of a known size."""
    return g.pick("f", lambda value: value.rank == rank and None not in value.shape[1:])


def conv(g: Growing) -> None:
    x = images(g, g.choose([4, 4, 4, 4, 3, 5]))
    channels, *extents = (extent or 1 for extent in g.shape(x)[1:])
    kind = g.choose(["full", "full", "grouped", "depthwise", "multiplied"])
    groups = {"full": 1, "grouped": g.choose([n for n in range(1, channels + 1) if channels % n == 0])}.get(kind, channels)
    outputs = {"depthwise": channels, "multiplied": 2 * channels}.get(kind, groups * g.whole(1, max(1, 12 // groups)))
    largest = g.choose([3, 3, 3, 7])
    kernel = [g.whole(1, min(largest, extent)) for extent in extents]
    terms = channels // groups * math.prod(kernel)
    operands = [x, weights(g, outputs, channels // groups, *kernel, terms=terms), *([g.floats(outputs)] if g.chance(0.6) else [])]
    auto = {"auto_pad": g.choose(["SAME_UPPER", "SAME_LOWER", "VALID"])} if g.chance(0.2) else None
    pads = auto or {"pads": [g.whole(0, 2) for _ in range(2 * len(extents))]}
    strides = [g.choose([1, 1, 2, 3]) for _ in extents]
    dilations = [1 if auto else g.choose([1, 1, 2]) for _ in extents]
    y = g.add("Conv", *operands, terms=terms, group=groups, strides=strides, dilations=dilations, **pads)
    if g.chance(0.5):
        normalised(g, y)


def normalised(g: Growing, y: str) -> None:
    """What usually follows a convolution."""
    if g.chance(0.4):
        y = batch_norm_of(g, y)
    g.add(*g.choose([("Relu", y), ("Sigmoid", y), ("HardSwish", y), ("LeakyRelu", y)]), terms=1)


def conv_transpose(g: Growing) -> None:
    x = images(g, g.choose([4, 4, 3]))
    channels, *extents = (extent or 1 for extent in g.shape(x)[1:])
    groups = g.choose([1, 1, *(n for n in range(1, channels + 1) if channels % n == 0)])
    kernel, strides, dilations = ([g.whole(1, most) for _ in extents] for most in (3, 3, 2))
    more = {"output_padding": [g.whole(0, stride - 1) for stride in strides]} if g.chance(0.3) else {}
    terms = channels // groups * math.prod(kernel)
    weight = weights(g, channels, g.whole(1, 4), *kernel, terms=terms)
    pads = [g.whole(0, 1) for _ in range(2 * len(extents))]
    g.add("ConvTranspose", x, weight, terms=terms, group=groups, strides=strides, dilations=dilations, pads=pads, **more)


def pool(g: Growing) -> None:
    x = images(g, g.choose([4, 4, 4, 3, 5]))
    extents = [extent or 1 for extent in g.shape(x)[2:]]
    kernel = [g.whole(1, min(3, extent)) for extent in extents]
    strides = [g.choose([1, 2]) for _ in extents]
    pads = [g.whole(0, size // 2) for _ in range(2) for size in kernel]
    common = {"kernel_shape": kernel, "strides": strides, "pads": pads}
    if g.chance(0.25):  # without windows that lie behind the end: onnxruntime and ONNX's shape inference count them differently
        strides[:] = [min(pair) for pair in zip(strides, kernel, strict=True)]
        pads[len(kernel) :] = [0] * len(kernel)
        common["ceil_mode"] = 1
    match g.choose(["max", "max", "average", "average", "places", "lp"]):
        case "max":
            g.add("MaxPool", x, dilations=[g.choose([1, 1, 2]) for _ in extents], **common)
        case "places":
            g.add("MaxPool", x, results=2, **common)
        case "average":
            g.add("AveragePool", x, terms=math.prod(kernel), count_include_pad=g.whole(0, 1), **common)
        case "lp":
            g.add("LpPool", x, terms=math.prod(kernel), p=2, kernel_shape=kernel, strides=strides)


def global_pool(g: Growing) -> None:
    x = images(g)
    name = g.choose(["GlobalAveragePool", "GlobalMaxPool"])
    pooled = g.add(name, x, terms=math.prod(extent or 1 for extent in g.shape(x)[2:]))
    if g.chance(0.6):  # squeeze and excite
        g.add("Mul", x, g.add("HardSigmoid", pooled, terms=1), terms=1)


def resize(g: Growing) -> None:
    """Only by scales that fit the extents: for others, onnxruntime's corners differ from those of ONNX's reference."""
    x = images(g)
    extents = [extent or 1 for extent in g.shape(x)[2:]]
    mode = g.choose(["nearest", "nearest", "linear", "linear", "cubic"])
    place = g.choose(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
    more = {"mode": mode, "coordinate_transformation_mode": place}
    if mode == "nearest":
        more["nearest_mode"] = g.choose(["floor", "round_prefer_floor", "ceil", "round_prefer_ceil"])
    if mode == "cubic":
        more["cubic_coeff_a"] = g.choose([-0.5, -0.75])
    terms = {"nearest": 0, "linear": 4, "cubic": 16}[mode]
    if g.chance(0.5) or g.shape(x)[0] is None:
        fractions = [[one for one in (0.5, 1.5) if extent * one % 1 == 0] for extent in extents]
        scales = [g.choose([1.0, 2.0, 2.0, 3.0, *some]) for some in fractions]
        g.add("Resize", x, "", g.constant(np.array([1, 1, *scales], np.float32)), terms=terms, **more)
        return
    sizes = [g.whole(1, 2 * extent + 1) for extent in extents]
    batch, channels = (extent or 1 for extent in g.shape(x)[:2])
    g.add("Resize", x, "", "", g.integers(batch, channels, *sizes), terms=terms, **more)


def grid_sample(g: Growing) -> None:
    x = images(g)
    if None in g.shape(x):
        raise Unfit
    shape = (g.shape(x)[0] or 1, g.whole(1, 6), g.whole(1, 6), 2)
    grid = g.constant(g.rng.uniform(-1.3, 1.3, shape).astype(np.float32))
    more = {"mode": g.choose(["linear", "cubic"]), "padding_mode": g.choose(["zeros", "border", "reflection"])}
    g.add("GridSample", x, grid, terms=64, align_corners=g.whole(0, 1), **more)


def batch_norm_of(g: Growing, x: str) -> str:
    channels = g.shape(x)[1]
    if channels is None:
        raise Unfit
    scale, variance = g.floats(channels, positive=True), g.floats(channels, positive=True)
    return str(g.add("BatchNormalization", x, scale, g.floats(channels), g.floats(channels), variance, terms=4))


def batch_norm(g: Growing) -> None:
    batch_norm_of(g, g.pick("f", lambda value: value.rank > 1))


def layer_norm(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank > 0)
    axis = g.whole(0, g.values[x].rank - 1)
    shape = [extent or 1 for extent in g.shape(x)[axis:]]
    if None in g.shape(x)[axis:]:
        raise Unfit
    bias = [g.floats(*shape)] if g.chance(0.7) else []
    g.add("LayerNormalization", x, g.floats(*shape, positive=True), *bias, terms=math.prod(shape), axis=axis, epsilon=1e-2)


def channel_norm(g: Growing) -> None:
    x = images(g, g.choose([3, 4]))
    channels, *extents = (extent or 1 for extent in g.shape(x)[1:])
    scale, bias = g.floats(channels, positive=True), g.floats(channels)
    if g.chance(0.5):
        g.add("InstanceNormalization", x, scale, bias, terms=math.prod(extents), epsilon=1e-2)
        return
    groups = g.choose([n for n in range(1, channels + 1) if channels % n == 0])
    g.add("GroupNormalization", x, scale, bias, terms=math.prod(extents) * channels, num_groups=groups, epsilon=1e-2)


def other_norm(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank > 1)
    axis = g.choose(g.fixed(x))
    match g.choose(["lp", "mean_variance", "lrn"]):
        case "lp":
            g.add("LpNormalization", x, terms=64, axis=axis, p=g.whole(1, 2))
        case "mean_variance":
            g.add("MeanVarianceNormalization", x, terms=64, axes=g.some(g.fixed(x)))
        case _:
            g.add("LRN", images(g), terms=8, size=g.choose([1, 3, 5]))


def softmax(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank > 0)
    name = g.choose(["Softmax", "Softmax", "LogSoftmax"])
    g.add(name, x, terms=64, axis=g.choose(g.fixed(x)) - g.choose([0, g.values[x].rank]))


def recurrent(g: Growing) -> None:
    """Over a sequence whose batch does not change."""
    x = g.pick("f", lambda value: value.rank == 3 and None not in value.shape)
    length, _, width = (extent or 1 for extent in g.shape(x))
    if length > 16:
        raise Unfit
    name, gates = g.choose([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    hidden, directions = g.whole(1, 6), g.whole(1, 2)
    direction = "bidirectional" if directions == 2 else g.choose(["forward", "reverse"])
    into = weights(g, directions, gates * hidden, width, terms=width)
    back = weights(g, directions, gates * hidden, hidden, terms=hidden)
    bias = [g.floats(directions, 2 * gates * hidden, scale=0.2)] if g.chance(0.5) else []
    count = 3 if name == "LSTM" else 2
    g.add(name, x, into, back, *bias, terms=width + hidden, results=count, hidden_size=hidden, direction=direction)


def dequantized_weights(g: Growing) -> None:
    """A product with weights of eight bits, scaled for each column."""
    x = g.pick("f", lambda value: value.rank > 1 and value.shape[-1] is not None)
    depth, width = g.shape(x)[-1] or 1, g.choose([1, 4, 9, 16])
    kind = g.choose([np.int8, np.uint8])
    whole = g.constant(g.rng.integers(0, 100, (depth, width)).astype(kind))
    zeros = g.constant(np.full(width, 50, kind))
    scales = g.constant((g.rng.uniform(0.5, 1.5, width) / 30 / math.sqrt(depth)).astype(np.float32))
    g.add("MatMul", x, g.add("DequantizeLinear", whole, scales, zeros, axis=1), terms=depth)


LAYERS = (
    (linear, 4), (product, 2), (product_with_itself, 2), (gemm, 2), (einsum, 2), (einsum_of_two, 2), (conv, 8),
    (conv_transpose, 2), (pool, 4), (global_pool, 2), (resize, 4), (grid_sample, 1), (batch_norm, 1), (layer_norm, 2),
    (channel_norm, 2), (other_norm, 1), (softmax, 4), (recurrent, 1), (dequantized_weights, 1),
)  # fmt: skip
