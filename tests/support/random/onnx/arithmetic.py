"""Nodes that compute elements: functions, conditions, choices, conversions, reductions, arithmetic of integers."""

from __future__ import annotations

import numpy as np

from onnx import TensorProto
from tests.support.random.onnx.growing import Growing, Unfit
from tests.support.random.onnx.program import Value

FUNCTIONS = (
    "Sigmoid", "Tanh", "Erf", "Gelu", "Softplus", "Softsign", "Sin", "Cos", "Atan", "Elu", "Selu", "Celu", "HardSigmoid",
    "HardSwish", "Mish",
)  # fmt: skip
EXACT = ("Relu", "Neg", "Abs", "LeakyRelu", "ThresholdedRelu")


def function(g: Growing) -> None:
    name = g.choose(FUNCTIONS)
    g.add(name, g.pick(), terms=1)


def exact_function(g: Growing) -> None:
    name = g.choose(EXACT)
    g.add(name, g.pick())


def positive_function(g: Growing) -> None:
    """Of what is at least 0.25."""
    x = g.pick()
    shifted = g.add("Add", g.add("Abs", x), g.constant(np.float32(0.25)), terms=1)
    name = g.choose(["Log", "Sqrt", "Reciprocal", "Pow", "Pow"])
    if name == "Pow":
        g.add("Pow", shifted, g.constant(np.float32(g.choose([0.5, -0.5, 1.5, 2.0, 3.0, -1.0]))), terms=1)
    else:
        g.add(name, shifted, terms=1)


def exponential(g: Growing) -> None:
    """Of what is at most 0: alone, or of the distance to the maximum."""
    x = g.pick("f", lambda value: value.rank > 0)
    if g.chance(0.5):
        g.add("Exp", g.add("Neg", g.add("Abs", x)), terms=1)
        return
    top = g.add("ReduceMax", x, g.integers(g.whole(0, g.values[x].rank - 1)))
    g.add(g.choose(["Exp", "Tanh", "Sigmoid"]), g.add("Sub", x, top, terms=1), terms=1)


def silu(g: Growing) -> None:
    x = g.pick()
    g.add("Mul", x, g.add("Sigmoid", x, terms=1), terms=1)


def step_function(g: Growing) -> None:
    """Whose jumps the check of twins keeps away from."""
    name = g.choose(["Floor", "Ceil", "Round", "Sign"])
    g.add(name, g.pick())


def clip(g: Growing) -> None:
    low = g.rng.uniform(-1.5, 0)
    bounds = [g.constant(np.float32(low)), g.constant(np.float32(low + g.rng.uniform(0.1, 3)))]
    g.add("Clip", g.pick(), *g.choose([bounds, bounds[:1], ["", bounds[1]]]))


def prelu(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank > 1 and value.shape[1] is not None)
    g.add("PRelu", x, g.floats(g.shape(x)[1] or 1, *[1] * (g.values[x].rank - 2)), terms=1)


def partner(g: Growing, x: str, kind: str = "f") -> str:
    """Something that broadcasts with `x`: another value, or a constant of some of its dimensions."""
    value = g.values[x]

    def fits(other: Value) -> bool:
        pairs = list(zip(reversed(other.names), reversed(value.names), strict=False))
        return other.dtype == value.dtype and all(a == b or 1 in (a, b) for a, b in pairs)

    if g.chance(0.6):
        return g.pick(kind, fits)
    shape = [1 if extent is None or g.chance(0.3) else extent for extent in value.shape]
    shape = shape[g.whole(0, len(shape)) :]
    if kind == "f":
        return g.floats(*shape)
    return g.constant(g.rng.integers(-4, 5, shape).astype(value.dtype))


def binary(g: Growing) -> None:
    x = g.pick()
    other = partner(g, x)
    operands = [x, other] if g.chance(0.5) else [other, x]
    name = g.choose(["Add", "Add", "Sub", "Sub", "Mul", "Mul", "Max", "Min"])
    g.add(name, *operands, terms=0 if name in ("Max", "Min") else 1)


def divide(g: Growing) -> None:
    x = g.pick()
    other = g.add("Add", g.add("Abs", partner(g, x)), g.constant(np.float32(0.5)), terms=1)
    g.add("Div", x, other, terms=1)


def of_several(g: Growing) -> None:
    x = g.pick()
    name = g.choose(["Sum", "Mean", "Max", "Min"])
    g.add(name, x, partner(g, x), partner(g, x), terms=2)


def compare(g: Growing) -> None:
    x = g.pick("fi")
    name = g.choose(["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"])
    if g.values[x].dtype.kind == "f":
        other = partner(g, x) if g.chance(0.5) else g.constant(np.float32(g.rng.uniform(-1, 1)))
    else:
        other = partner(g, x, "i")
    g.add(name, x, other)


def logic(g: Growing) -> None:
    x = g.pick("b")
    name = g.choose(["And", "Or", "Xor", "Not"])
    g.add(name, *([x] if name == "Not" else [x, partner_of_condition(g, x)]))


def partner_of_condition(g: Growing, x: str) -> str:
    return g.pick("b", lambda other: other.names == g.values[x].names or other.size == 1)


def where(g: Growing) -> None:
    condition = g.pick("b")
    names = g.values[condition].names

    def fits(other: Value) -> bool:
        pairs = zip(reversed(other.names), reversed(names), strict=False)
        return all(a == b or 1 in (a, b) for a, b in pairs)

    x = g.pick("f", fits)
    other = g.choose([lambda: partner(g, x), lambda: g.constant(np.float32(g.choose([0.0, -100.0, 1.0])))])()
    g.add("Where", condition, *([x, other] if g.chance(0.5) else [other, x]))


def masked_softmax(g: Growing) -> None:
    """As attention masks: where a condition fails, very small before a softmax."""
    x = g.pick("f", lambda value: value.rank > 1)
    mask = g.constant(np.triu(np.ones([extent or 1 for extent in g.shape(x)[-2:]], bool)).T)
    if None in g.shape(x)[-2:]:
        raise Unfit
    g.add("Softmax", g.add("Where", mask, x, g.constant(np.float32(-1e4))), terms=64)


def cast(g: Growing) -> None:
    x = g.pick("fib")
    kind = g.values[x].dtype.kind
    from_floats, from_integers = (
        (TensorProto.INT64, TensorProto.BOOL, TensorProto.INT32, TensorProto.INT8),
        (TensorProto.FLOAT, TensorProto.BOOL),
    )
    targets = {"f": from_floats, "i": from_integers}
    g.add("Cast", x, to=g.choose(targets.get(kind, (TensorProto.FLOAT, TensorProto.INT64))))


def weigh_by_condition(g: Growing) -> None:
    condition = g.pick("b")
    g.add("Mul", g.add("Cast", condition, to=TensorProto.FLOAT), g.pick("f", lambda x: x.names == g.values[condition].names))


def integer(g: Growing) -> None:
    """Arithmetic of positions; `int64` as exporters use it."""
    x = g.pick("i")
    name = g.choose(["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Abs", "Neg"])
    dtype = g.values[x].dtype
    if name in ("Abs", "Neg"):
        g.add(name, x)
    elif name in ("Div", "Mod"):
        g.add(name, x, g.constant(np.array(g.whole(1, 7), dtype)))
    else:
        g.add(name, x, partner(g, x, "i"))


def distances(g: Growing) -> None:
    """Differences of positions of rows and columns, as relative position biases have them."""
    count = g.whole(2, 9)
    line = g.add("Range", *(g.constant(np.int64(n)) for n in (0, count, 1)))
    column = g.add("Unsqueeze", line, g.integers(1))
    apart = g.add("Sub", line, column)
    near = g.add("Clip", apart, g.constant(np.int64(-2)), g.constant(np.int64(2)))
    places = g.add("Add", near, g.constant(np.int64(2)))
    g.add("Gather", g.floats(5, g.whole(1, 4)), places)


REDUCTIONS = (
    "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare",
    "ReduceProd",
)  # fmt: skip


def reduce(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank > 0)
    axes = g.some(g.fixed(x))
    name = g.choose(REDUCTIONS)
    terms = int(np.prod([g.shape(x)[axis] or 1 for axis in axes]))
    if name == "ReduceProd" and terms > 8:
        raise Unfit
    named = g.integers(*(axis - g.choose([0, g.values[x].rank]) for axis in axes))
    g.add(name, x, named, terms=0 if name in ("ReduceMax", "ReduceMin") else terms, keepdims=g.whole(0, 1))


def reduce_all(g: Growing) -> None:
    name = g.choose(["ReduceSum", "ReduceMean", "ReduceMax"])
    x = g.pick()
    g.add(name, x, terms=g.values[x].size, keepdims=g.whole(0, 1))


def reduce_integers(g: Growing) -> None:
    x = g.pick("i", lambda value: value.rank > 0)
    name = g.choose(["ReduceSum", "ReduceMax", "ReduceMin"])
    g.add(name, x, g.integers(g.choose(g.fixed(x))), keepdims=g.whole(0, 1))


def centre(g: Growing) -> None:
    """Minus the mean, over the deviation: a norm written out."""
    x = g.pick("f", lambda value: value.rank > 0)
    axis = g.choose(g.fixed(x))
    terms = g.shape(x)[axis] or 1
    centred = g.add("Sub", x, g.add("ReduceMean", x, g.integers(axis), terms=terms), terms=1)
    if g.chance(0.4):
        return
    variance = g.add("ReduceMean", g.add("Mul", centred, centred, terms=1), g.integers(axis), terms=terms)
    g.add("Div", centred, g.add("Sqrt", g.add("Add", variance, g.constant(np.float32(0.01))), terms=1), terms=1)


def place_of_extreme(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank > 0)
    name = g.choose(["ArgMax", "ArgMax", "ArgMin"])
    g.add(name, x, axis=g.choose(g.fixed(x)), keepdims=g.whole(0, 1), select_last_index=int(g.chance(0.2)))


def top(g: Growing) -> None:
    x = g.pick("f", lambda value: value.rank > 0)
    axis = g.choose(g.fixed(x))
    g.add("TopK", x, g.integers(g.whole(1, g.shape(x)[axis] or 1)), results=2, axis=axis, largest=g.whole(0, 1))


def running_sum(g: Growing) -> None:
    x = g.pick("fi", lambda value: value.rank > 0)
    axis = g.choose(g.fixed(x))
    terms = g.shape(x)[axis] or 1
    g.add("CumSum", x, g.constant(np.int64(axis)), terms=terms, exclusive=g.whole(0, 1), reverse=g.whole(0, 1))


def one_hot(g: Growing) -> None:
    x = g.pick("i", lambda value: value.rank < 4 and value.size <= 256)
    g.add("OneHot", x, g.constant(np.int64(g.whole(2, 6))), g.constant(np.array([0, 1], np.float32)), axis=-1)


ARITHMETIC = (
    (function, 6), (exact_function, 2), (positive_function, 2), (exponential, 2), (silu, 1), (step_function, 1), (clip, 2),
    (prelu, 1), (binary, 10), (divide, 2), (of_several, 1), (compare, 3), (logic, 2), (where, 4), (masked_softmax, 1), (cast, 3),
    (weigh_by_condition, 1), (integer, 4), (distances, 1), (reduce, 7), (reduce_all, 1), (reduce_integers, 1), (centre, 2),
    (place_of_extreme, 2), (top, 2), (running_sum, 1), (one_hot, 1),
)  # fmt: skip
