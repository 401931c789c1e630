"""The nodes that programs grow by: one function per kind, each of which adds a node or a few."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from onnx import TensorProto

from tests.support.random.discontinuities.growing import LARGEST, Growing, Unfit

INTEGERS = {
    np.dtype(name): getattr(TensorProto, name.upper())
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
}
COMPARISONS = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")


def arithmetic(g: Growing) -> None:
    """With a number, a vector, or an array that a call gives."""
    x = g.pick()
    shape = g.array(x).shape
    kept = [extent if g.chance(0.6) else 1 for extent in shape][int(g.random.integers(len(shape) + 1)) :]
    shape = () if g.chance(0.5) else tuple(kept)
    y = g.given(g.bases_in(shape), is_constant=g.chance(0.7))
    operator = g.choose(("Div", "Div", "Div", "Mul", "Mul", "Add", "Sub"))
    g.add(operator, *((x, y) if operator == "Div" or g.chance(0.8) else (y, x)))


def there_and_back(g: Growing) -> None:
    """x * c / c, x / c * c, x + c - c, and such."""
    x, c = g.pick(), g.number(g.base())
    first, second = g.choose((("Mul", "Div"), ("Div", "Mul"), ("Add", "Sub"), ("Sub", "Add"), ("Div", "Div"), ("Mul", "Mul")))
    g.add(second, g.add(first, x, c), c if g.chance(0.7) else g.number(g.base()))


def affine(g: Growing) -> None:
    """x * c + d, with numbers or vectors."""
    x = g.pick()
    shape = g.choose(((), g.array(x).shape[-1:]))
    factor, summand = (g.given(g.bases_in(shape), is_constant=True) for _ in range(2))
    first, second = g.choose((("Mul", "Add"), ("Div", "Add"), ("Sub", "Div"), ("Sub", "Mul"), ("Mul", "Sub")))
    g.add(second, g.add(first, x, factor), summand)


def pair(g: Growing) -> None:
    """Of two arrays of one shape."""
    x = g.pick()
    y = g.pick(lambda value: value.array.shape == g.array(x).shape)
    g.add(g.choose(("Add", "Sub", "Mul", "Max", "Min")), x, y)


def unary(g: Growing) -> None:
    operator = g.choose(("Neg", "Abs", "Relu", "Softsign", "HardSwish"))
    g.add(operator, g.pick())


def activation(g: Growing) -> None:
    x, alpha = g.pick(), float(np.float32(g.choose((0.01, 0.1, 0.5, 1 / 3))))
    match g.random.integers(4):
        case 0:
            g.add("LeakyRelu", x, alpha=alpha)
        case 1:
            g.add("PRelu", x, g.given(g.bases_in(g.array(x).shape[-1:]), is_constant=True))
        case 2:
            g.add("HardSigmoid", x, alpha=alpha, beta=float(np.float32(g.choose((0.5, 0.3)))))
        case _:
            g.add("Clip", x, g.number(-g.base()), g.number(3 * g.base()))


def root(g: Growing) -> None:
    x = g.pick(lambda value: value.is_discrete)
    if g.chance(0.5) and (g.array(x) != 0).all():
        g.add("Reciprocal", x)
    else:
        g.add("Sqrt", g.add("Abs", x))


def smooth(g: Growing) -> None:
    """For readers that are no discontinuous functions."""
    g.add(g.choose(("Tanh", "Sigmoid")), g.pick())


def reduction(g: Growing) -> None:
    x = g.pick(lambda value: value.rank >= 2)
    rank = g.values[x].rank
    axes = sorted(int(axis) for axis in g.random.choice(rank, int(g.random.integers(1, rank)), replace=False))
    operator = g.choose(("ReduceMean", "ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"))
    g.add(operator, x, g.whole(*axes), keepdims=int(g.chance(0.7)))


def over_row(g: Growing) -> None:
    """Of a row and its largest element, its sum or its mean, or a share of these: how numbers are quantised by hand."""
    x = g.pick(lambda value: value.rank >= 2)
    axis = g.choose((-1, g.values[x].rank - 1, 0))
    source = g.add("Abs", x) if g.chance(0.5) else x
    row = g.add(g.choose(("ReduceMax", "ReduceSum", "ReduceMean")), source, g.whole(axis), keepdims=1)
    if g.chance(0.4):
        row = g.add("Div", row, g.number(g.choose((127.0, 255.0, 3.0, 41.0))))
    if g.chance(0.7) and (g.array(row) != 0).all() and g.values[row].is_exact:
        g.add("Div", x, row)
    else:
        g.add(g.choose(("Sub", "Max", "Mul")), x, row)


def product(g: Growing) -> None:
    x = g.pick(lambda value: value.rank >= 2)
    columns = int(g.choose((1, 3, 8, 16, 20)))
    w = g.given(g.small((g.array(x).shape[-1], columns)), is_constant=g.chance(0.8))
    if g.values[x].rank == 2 and not g.is_traced and g.chance(0.4):
        bias = g.given(g.small((columns,)), is_constant=True)
        alpha, beta = (float(np.float32(g.choose((1.0, 1.0, 0.5, 0.1, 1 / 3)))) for _ in range(2))
        y = g.add("Gemm", x, w, bias, alpha=alpha, beta=beta)
    else:
        y = g.add("MatMul", x, w)
    _behind_sums(g, y, (columns,))


def convolution(g: Growing) -> None:
    x = g.image()
    channels, size = g.array(x).shape[1], int(g.choose((1, 1, 3)))
    filters = int(g.choose((1, 4, 8, 16)))
    w = g.given(g.small((filters, channels, size, size), 2), is_constant=g.chance(0.9))
    bias = [g.given(g.small((filters,)), is_constant=True)] if g.chance(0.5) else []
    y = g.add("Conv", x, w, *bias, pads=[size // 2] * 4)
    _behind_sums(g, y, (filters, 1, 1))


def _behind_sums(g: Growing, y: str, shape: tuple[int, ...]) -> None:
    """A factor per column, as it could move into weights; a shift; a rectifier."""
    if g.chance(0.6):
        y = g.add(g.choose(("Mul", "Div")), y, g.given(g.bases_in(shape if g.chance(0.7) else ()), is_constant=True))
    if g.chance(0.3):
        y = g.add("Add", y, g.given(g.bases_in(shape), is_constant=True))
    if g.chance(0.3):
        g.add("Relu", y)


def batch_norm(g: Growing) -> None:
    x = g.pick(lambda value: value.rank in (3, 4))
    channels = g.array(x).shape[1]
    scale, bias, mean = (g.given(g.bases_in((channels,)), is_constant=True) for _ in range(3))
    var = g.given(g.random.choice([1.0, 4.0, 9.0, 2.0], channels).astype(np.float32), is_constant=True)
    g.add("BatchNormalization", x, scale, bias, mean, var, epsilon=float(np.float32(1e-5)))


def pool(g: Growing) -> None:
    x = g.image()
    kernel = [int(g.random.integers(1, min(extent, 5) + 1)) for extent in g.array(x).shape[2:]]
    strides = [int(g.choose((1, 1, 2))) for _ in kernel]
    pads = [k // 2 if g.chance(0.3) else 0 for k in kernel] * 2
    match g.random.integers(3):
        case 0:
            g.add("MaxPool", x, kernel_shape=kernel, strides=strides, pads=pads)
        case 1:
            g.add("GlobalAveragePool", x)
        case _:
            counted = int(g.chance(0.4))
            g.add("AveragePool", x, kernel_shape=kernel, strides=strides, pads=pads, count_include_pad=counted)


def move(g: Growing) -> None:
    x = g.pick()
    shape = g.array(x).shape
    axis = int(g.random.integers(len(shape))) if shape else 0
    match g.random.integers(6):
        case 0:
            g.add("Transpose", x, perm=[int(one) for one in g.random.permutation(len(shape))])
        case 1:
            g.add("Reshape", x, g.whole(*_other_shape(g, shape)))
        case 2 if shape and shape[axis] > 1:
            steps = g.choose(((0, 1 << 40, 2), (1, 1 << 40, 1), (-1, -(1 << 40), -1), (0, shape[axis] // 2, 1)))
            g.add("Slice", x, *(g.whole(one) for one in (steps[0], steps[1], axis, steps[2])))
        case 3 if shape:
            y = g.pick(lambda value: value.array.shape == shape)
            g.add("Concat", x, y, axis=axis)
        case 4 if shape:
            positions = g.random.integers(0, shape[axis], int(g.choose((1, 3, 7))))
            g.add("Gather", x, g.given(positions, is_constant=True), axis=axis)
        case _:
            g.add("Expand", x, g.whole(int(g.choose((2, 3))), *shape))


def _other_shape(g: Growing, shape: tuple[int, ...]) -> list[int]:
    size, made = math.prod(shape), []
    for _ in range(int(g.random.integers(0, 3))):
        made.append(int(g.choose([d for d in range(1, size + 1) if size % d == 0])))
        size //= made[-1]
    return [*made, size]


def rounding(g: Growing) -> None:
    operator = g.choose(("Floor", "Floor", "Ceil", "Round", "Sign"))
    g.add(operator, g.exact())


def remainder(g: Growing) -> None:
    x, divisor = g.exact(), g.number(g.base())
    if g.is_traced:
        g.add(g.choose(("FloorDivide", "Remainder")), x, divisor)
    else:
        g.add("Mod", x, divisor, fmod=1)


def threshold(g: Growing) -> None:
    bound = float(np.float32(g.base()))
    if g.chance(0.5):
        g.add("ThresholdedRelu", g.exact(), alpha=bound)
    else:
        g.add("Shrink", g.exact(), lambd=bound, bias=float(np.float32(g.choose((0.0, 0.5, 3.0)))))


def comparison(g: Growing) -> None:
    """With a value that is there, so that equal ones are met, or with another array; what is chosen may be anything."""
    x = g.exact()
    other = g.number(float(g.random.choice(g.array(x).ravel())))
    if g.chance(0.3):
        other = g.pick(lambda value: value.is_exact and value.array.shape == g.array(x).shape)
    is_so = g.add(g.choose(COMPARISONS), *((x, other) if g.chance(0.7) else (other, x)))
    if g.chance(0.2):
        is_so = g.add("Not", is_so)
    yes, no = (x if g.chance(0.3) else g.number(g.choose((0.0, 1.0, -2.0, 0.5))) for _ in range(2))
    g.add("Where", is_so, yes, no)


def cast(g: Growing) -> None:
    """To integers, truth values, and back."""
    x = g.exact()
    low, high = g.array(x).min(), g.array(x).max()
    types = [dtype for dtype in INTEGERS if np.iinfo(dtype).min <= low and high <= min(np.iinfo(dtype).max, LARGEST)]
    made = g.add("Cast", x, to=INTEGERS[g.choose(types)] if types and g.chance(0.9) else TensorProto.BOOL)
    if g.chance(0.7):
        g.add("Cast", made, to=TensorProto.FLOAT)


def position(g: Growing) -> None:
    x, rows = g.exact(), int(g.choose((3, 8, 30)))
    inside = g.add("Clip", x, g.number(0.0), g.number(rows - 1.0))
    indices = g.add("Cast", inside, to=TensorProto.INT64)
    if g.chance(0.6):
        g.add("Gather", g.given(g.small((rows,), 50), is_constant=g.chance(0.5)), indices, axis=0)
    else:
        g.add(
            "OneHot", indices, g.given(np.int64(rows), is_constant=True), g.given(np.array([0, 2], np.float32), is_constant=True)
        )


def quantise(g: Growing) -> None:
    x = g.exact()
    if g.chance(0.1) and g.values[x].largest > 0:
        g.add("Cast", g.add("DynamicQuantizeLinear", x), to=TensorProto.FLOAT)
        return
    scale = g.number(g.base() * float(g.choose((1.0, 0.5, 0.1))))
    zero = g.given(g.choose((np.uint8(0), np.uint8(100), np.int8(0), np.int8(-5))), is_constant=True)
    made = g.add("QuantizeLinear", x, scale, zero)
    g.add("DequantizeLinear", made, scale, zero)


KINDS: Sequence[tuple[Callable[[Growing], None], float]] = (
    *((arithmetic, 5), (there_and_back, 2), (affine, 2), (pair, 2), (unary, 1), (activation, 2), (root, 0.5), (smooth, 0.7)),
    *((reduction, 2), (over_row, 2), (product, 1.5), (convolution, 1.5), (batch_norm, 0.7), (pool, 1.5), (move, 4)),
    *((rounding, 4), (remainder, 1.5), (threshold, 1), (comparison, 3), (cast, 3), (position, 1), (quantise, 2)),
)
"""With how often each of them is tried."""


def grow(g: Growing, count: int, patience: int = 60) -> None:
    """Add nodes until there are so many."""
    makers = [maker for maker, _ in KINDS]
    shares = np.array([share for _, share in KINDS])
    unfit = 0
    while len(g.nodes) < count and unfit < patience:
        try:
            makers[int(g.random.choice(len(makers), p=shares / shares.sum()))](g)
        except Unfit:
            unfit += 1
