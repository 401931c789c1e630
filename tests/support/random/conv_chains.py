"""Random chains of convolutions with everything between them, as functions, as ONNX models, and by PyTorch in float64."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd, prod, sqrt
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

import tilewright as tw

Array = np.ndarray[Any, Any]
Pair: TypeAlias = tuple[int, int]
Pads: TypeAlias = tuple[Pair, Pair]
"""(before, behind) of rows and of columns."""
Shape: TypeAlias = tuple[int, int, int, int]
"""(batch, channels, height, width)."""
UNIT_ROUNDOFF = 2.0**-24
SAFETY = 4.0
"""Results may be off by so many times what roundings of this size add up to when they are independent of each other."""
ROUNDINGS_OF_A_FUNCTION = 32
"""In units in the last place: activations promise a relative error of 1e-6."""
STEEPEST = 1.5
"""The largest slope of an activation: hard-swish at 3."""
ACTIVATIONS = ("relu", "relu6", "hard_swish", "silu")
KERNELS = ((1, 1), (1, 1), (3, 3), (3, 3), (5, 5), (1, 3), (3, 1), (1, 5))


@dataclass(frozen=True, slots=True)
class Conv:
    """Filters of random values, whose squares add up to 1."""

    filters: int
    kernel: Pair
    stride: Pair
    dilation: Pair
    pads: Pads
    groups: int
    bias: bool


@dataclass(frozen=True, slots=True)
class Activation:
    """An element-wise function by its name."""

    name: str


@dataclass(frozen=True, slots=True)
class Residual:
    """The sum with an earlier value of the same shape; 0 is the image, 1 the first step's result."""

    earlier: int


@dataclass(frozen=True, slots=True)
class Pool:
    """Maxima ("max") or means ("avg")."""

    kind: str
    kernel: Pair
    stride: Pair
    padding: Pair
    ceil_mode: bool
    count_include_pad: bool


Step: TypeAlias = Conv | Activation | Residual | Pool


@dataclass(frozen=True)
class ConvChain:
    """Steps over an image, each over the result of the step before it."""

    image: Shape
    steps: tuple[Step, ...]
    seed: int = 0

    def shapes(self) -> list[Shape]:
        """Of the image and of every result."""
        found = [self.image]
        for step in self.steps:
            found.append(result_shape(found[-1], step))
        return found

    def x(self) -> Array:
        """The image: standard normal values."""
        return np.random.default_rng(self.seed).standard_normal(self.image).astype(np.float32)

    def weights(self) -> dict[str, Array]:
        """Filters and biases, by names: w0 and b0 of the first step."""
        generator, found = np.random.default_rng(self.seed + 1), dict[str, Array]()
        for number, (step, seen) in enumerate(zip(self.steps, self.shapes(), strict=False)):
            if isinstance(step, Conv):
                filters = generator.standard_normal((step.filters, seen[1] // step.groups, *step.kernel))
                filters /= np.sqrt((filters**2).sum(axis=(1, 2, 3), keepdims=True))
                found[f"w{number}"] = filters.astype(np.float32)
                if step.bias:
                    found[f"b{number}"] = generator.standard_normal(step.filters).astype(np.float32)
        return found

    def function(self, weights: dict[str, Array] | None = None) -> Callable[..., Any]:
        """As a user writes it: of the image, with weights as constants, or of the image and the weights in order."""

        def chain(x: Any, *given: Any) -> Any:
            known: dict[str, Any] = weights if weights is not None else dict(zip(self.weights(), given, strict=True))
            values = [x]
            for number, step in enumerate(self.steps):
                values.append(traced(step, number, values, known))
            return values[-1]

        return chain


def chain_of(image: Shape, *steps: Step) -> ConvChain:
    """The steps over an image."""
    return ConvChain(image, steps)


def conv(filters: int, kernel: int, *, stride: int = 1, dilation: int = 1, padding: int | None = None, groups: int = 1) -> Conv:
    """A square window with a bias; padding of half a window unless it is given."""
    border = dilation * (kernel // 2) if padding is None else padding
    pads = ((border, border), (border, border))
    return Conv(filters, (kernel, kernel), (stride, stride), (dilation, dilation), pads, groups, True)


def depthwise(channels: int, kernel: int, *, stride: int = 1) -> Conv:
    """A filter for each channel."""
    return conv(channels, kernel, stride=stride, groups=channels)


def pool(kind: str, kernel: int, stride: int) -> Pool:
    """A square window, padded by half of itself."""
    return Pool(kind, (kernel, kernel), (stride, stride), (kernel // 2, kernel // 2), False, True)


def residual(earlier: int) -> Residual:
    """The sum with an earlier value."""
    return Residual(earlier)


relu = Activation("relu")


def result_shape(seen: Shape, step: Step) -> Shape:
    """Of a step's result. Extents may be smaller than 1 where a window does not fit."""
    batch, channels, *points = seen
    match step:
        case Conv():
            windows = zip(points, step.kernel, step.stride, step.dilation, step.pads, strict=True)
            outputs = [(n + before + behind - d * (k - 1) - 1) // s + 1 for n, k, s, d, (before, behind) in windows]
            return batch, step.filters, outputs[0], outputs[1]
        case Pool():
            windows_of = zip(points, step.kernel, step.stride, step.padding, strict=True)
            pooled = [_pooled(n, k, s, p, step.ceil_mode) for n, k, s, p in windows_of]
            return batch, channels, pooled[0], pooled[1]
    return seen


def _pooled(extent: int, kernel: int, stride: int, padding: int, ceil_mode: bool) -> int:
    """PyTorch's: a window that begins behind the image and the padding before it is left out."""
    steps = extent + 2 * padding - kernel
    outputs = (-(-steps // stride) if ceil_mode else steps // stride) + 1
    return outputs - 1 if ceil_mode and (outputs - 1) * stride >= extent + padding else outputs


def traced(step: Step, number: int, values: Sequence[Any], weights: dict[str, Any]) -> Any:
    """A step by the functions of `tw`."""
    x = values[-1]
    match step:
        case Conv():
            options = {"stride": step.stride, "padding": step.pads, "dilation": step.dilation, "groups": step.groups}
            return tw.conv2d(x, weights[f"w{number}"], weights.get(f"b{number}"), **options)
        case Residual():
            return x + values[step.earlier]
        case Pool():
            options = {"stride": step.stride, "padding": step.padding, "ceil_mode": step.ceil_mode}
            if step.kind == "max":
                return tw.max_pool(x, step.kernel, **options)
            return tw.avg_pool(x, step.kernel, **options, count_include_pad=step.count_include_pad)
    return {
        "relu": lambda: tw.relu(x),
        "relu6": lambda: tw.clip(x, 0.0, 6.0),
        "hard_swish": lambda: x * tw.clip(x + 3.0, 0.0, 6.0) / 6.0,
        "silu": lambda: tw.silu(x),
    }[step.name]()


def onnx_model(chain: ConvChain) -> Any:
    """The chain as an ONNX model of input x and output y, with weights as initializers."""
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    names = ["x"]
    for number, step in enumerate(chain.steps):
        nodes += _nodes(step, number, names, chain.shapes()[number])
        names.append(nodes[-1].output[0])
    nodes.append(helper.make_node("Identity", [names[-1]], ["y"]))
    values = [numpy_helper.from_array(array, name) for name, array in chain.weights().items()]
    image = helper.make_tensor_value_info("x", TensorProto.FLOAT, chain.image)
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "chain", [image], [result], values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def _nodes(step: Step, number: int, names: Sequence[str], seen: Shape) -> list[Any]:
    from onnx import helper

    x, out = names[-1], f"t{number}"
    match step:
        case Conv():
            given = [x, f"w{number}", *([f"b{number}"] if step.bias else [])]
            options = {"strides": step.stride, "dilations": step.dilation, "pads": _begins_then_ends(step.pads)}
            return [helper.make_node("Conv", given, [out], kernel_shape=step.kernel, group=step.groups, **options)]
        case Residual():
            return [helper.make_node("Add", [x, names[step.earlier]], [out])]
        case Pool():
            options = {"strides": step.stride, "pads": (*step.padding, *step.padding), "ceil_mode": int(step.ceil_mode)}
            if step.kind == "max":
                return [helper.make_node("MaxPool", [x], [out], kernel_shape=step.kernel, **options)]
            counted = int(step.count_include_pad)
            return [helper.make_node("AveragePool", [x], [out], kernel_shape=step.kernel, count_include_pad=counted, **options)]
    if step.name == "silu":
        return [helper.make_node("Sigmoid", [x], [f"s{number}"]), helper.make_node("Mul", [x, f"s{number}"], [out])]
    if step.name == "relu6":
        limits = [
            helper.make_node("Constant", [], [f"{end}{number}"], value_float=value) for end, value in (("l", 0.0), ("h", 6.0))
        ]
        return [*limits, helper.make_node("Clip", [x, f"l{number}", f"h{number}"], [out])]
    return [helper.make_node({"relu": "Relu", "hard_swish": "HardSwish"}[step.name], [x], [out])]


def _begins_then_ends(pads: Pads) -> tuple[int, ...]:
    return tuple(begin for begin, _ in pads) + tuple(end for _, end in pads)


def by_torch(chain: ConvChain) -> tuple[Array, float]:
    """The result in float64, and how far one in float32 may be off.

    Roundings are taken as independent, so that those of a sum grow as the root of its length; filters, whose squares add up to 1,
    pass errors on as large as they are.
    """
    import torch

    weights = {name: torch.from_numpy(array.astype(np.float64)) for name, array in chain.weights().items()}
    values = [torch.from_numpy(chain.x().astype(np.float64))]
    errors = [0.0]
    for number, step in enumerate(chain.steps):
        y = _torch_step(step, number, values, weights)
        largest = float(max(values[-1].abs().max(), y.abs().max()))
        match step:
            case Conv():
                error = errors[-1] + sqrt(prod(weights[f"w{number}"].shape[1:]) + 8) * UNIT_ROUNDOFF * largest
            case Residual():
                error = errors[-1] + errors[step.earlier] + UNIT_ROUNDOFF * largest
            case Pool():
                error = errors[-1] + prod(step.kernel) * UNIT_ROUNDOFF * largest
            case _:
                error = STEEPEST * errors[-1] + ROUNDINGS_OF_A_FUNCTION * UNIT_ROUNDOFF * largest
        values.append(y)
        errors.append(error)
    return values[-1].numpy(), SAFETY * errors[-1]


def _torch_step(step: Step, number: int, values: Sequence[Any], weights: dict[str, Any]) -> Any:
    from torch.nn import functional

    x = values[-1]
    match step:
        case Conv():
            rows, columns = step.pads
            padded = functional.pad(x, (*columns, *rows))
            bias = weights.get(f"b{number}")
            return functional.conv2d(padded, weights[f"w{number}"], bias, step.stride, 0, step.dilation, step.groups)
        case Residual():
            return x + values[step.earlier]
        case Pool():
            if step.kind == "max":
                return functional.max_pool2d(x, step.kernel, step.stride, step.padding, ceil_mode=step.ceil_mode)
            return functional.avg_pool2d(x, step.kernel, step.stride, step.padding, step.ceil_mode, step.count_include_pad)
    named = {"relu": "relu", "relu6": "relu6", "hard_swish": "hardswish", "silu": "silu"}
    return getattr(functional, named[step.name])(x)


@st.composite
def conv_chains(draw: st.DrawFn, most_convolutions: int = 6, most_points: int = 40, most_filters: int = 40) -> ConvChain:
    """Two convolutions at least, with activations, residuals and pools behind some of them."""
    image = (
        draw(st.integers(1, 3)),
        draw(st.integers(1, most_filters // 2)),
        draw(st.integers(1, most_points // 2)),
        draw(st.integers(1, most_points)),
    )
    shapes, steps = [image], list[Step]()

    def add(step: Step) -> None:
        steps.append(step)
        shapes.append(result_shape(shapes[-1], step))

    for _ in range(draw(st.integers(2, most_convolutions))):
        add(draw(_convolutions(shapes[-1], most_filters)))
        if draw(st.booleans()):
            add(Activation(draw(st.sampled_from(ACTIVATIONS))))
        earlier = [number for number, shape in enumerate(shapes[:-1]) if shape == shapes[-1]]
        if earlier and draw(st.booleans()):
            add(Residual(draw(st.sampled_from(earlier))))
        if draw(st.integers(0, 4)) == 0:
            add(draw(_pools(shapes[-1])))
    return ConvChain(image, tuple(steps), draw(st.integers(0, 99)))


@st.composite
def _convolutions(draw: st.DrawFn, seen: Shape, most_filters: int) -> Conv:
    channels = seen[1]
    groups = draw(st.sampled_from([1, 1, 1, channels, gcd(channels, 2), gcd(channels, 3)]))
    filters = groups * draw(st.integers(1, 2 if groups == channels else max(1, most_filters // groups)))
    if draw(st.integers(0, 2)) == 0 and channels % groups == 0:
        filters = channels  # a residual may follow
    kernel = draw(st.sampled_from(KERNELS))
    stride = draw(st.sampled_from([(1, 1), (1, 1), (1, 1), (2, 2), (1, 2), (3, 2)]))
    dilation = draw(st.sampled_from([(1, 1), (1, 1), (1, 1), (2, 2), (1, 3)]))
    pads = draw(_pads(kernel, dilation))
    made = Conv(filters, kernel, stride, dilation, pads, groups, draw(st.booleans()))
    if min(result_shape(seen, made)) >= 1:
        return made
    half = tuple((d * (k - 1) // 2,) * 2 for k, d in zip(kernel, dilation, strict=True))
    return Conv(filters, kernel, stride, dilation, (half[0], half[1]), groups, made.bias)


@st.composite
def _pads(draw: st.DrawFn, kernel: Pair, dilation: Pair) -> Pads:
    """Of half a window (rather), none, or any."""
    half = [d * (k - 1) // 2 for k, d in zip(kernel, dilation, strict=True)]
    kind = draw(st.sampled_from(["half", "half", "half", "none", "any"]))
    if kind == "any":
        rows, columns = (draw(st.tuples(st.integers(0, 3), st.integers(0, 3))) for _ in kernel)
        return rows, columns
    return ((half[0], half[0]), (half[1], half[1])) if kind == "half" else ((0, 0), (0, 0))


@st.composite
def _pools(draw: st.DrawFn, seen: Shape) -> Pool:
    """Windows that fit; padding of half a window at most, as PyTorch has it."""
    kernel = tuple(min(draw(st.integers(1, 3)), extent) for extent in seen[2:])
    padding = tuple(draw(st.integers(0, k // 2)) for k in kernel)
    stride = draw(st.tuples(st.integers(1, 2), st.integers(1, 2)))
    kind, ceil, counted = draw(st.sampled_from(["max", "avg"])), draw(st.booleans()), draw(st.booleans())
    return Pool(kind, (kernel[0], kernel[1]), stride, (padding[0], padding[1]), ceil, counted)
