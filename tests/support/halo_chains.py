"""Chains with halos, from index maps: convolutions with stride, padding maps, maps in between, pooling, slices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.operators import PRODUCT, access, graph_of, operator
from tilewright.graph.expressions.index import Index, axis, constant
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import SUM, Access, Chain, Guard, Operator, Reduction, Tensor
from tilewright.plan.chains import make_chain


@dataclass(frozen=True)
class Stage:
    """One step over an image: "conv", "pool" (a sum of neighbours), "pad" or "relu"; sizes and steps along both dimensions."""

    kind: str
    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    channels: int = 0


def conv(kernel: int | tuple[int, int], channels: int, stride: int | tuple[int, int] = 1) -> Stage:
    return Stage("conv", _pair(kernel), _pair(stride), channels)


def pool(kernel: int | tuple[int, int], stride: int | tuple[int, int] = 1) -> Stage:
    return Stage("pool", _pair(kernel), _pair(stride))


def pad(border: int | tuple[int, int]) -> Stage:
    """Zeros on all sides."""
    return Stage("pad", _pair(border))


RELU = Stage("relu")


def halo_chain(height: int, width: int, channels: int, stages: Sequence[Stage], *, batch: int = 1, suffix: str = "") -> Chain:
    """The stages over an input `X[n, h, w, c]`; their results are T1, T2, ..., their weights F1, F2, ..."""
    shape = (batch, height, width, channels)
    tensors, operators = [Tensor("X", shape)], []
    for number, stage in enumerate(stages, 1):
        source, name = tensors[-1].name if number == 1 else f"T{number - 1}{suffix}", f"T{number}{suffix}"
        weights = f"F{number}"
        made, result = _BUILDERS[stage.kind](name, source, weights, shape, stage)
        if stage.kind == "conv":
            tensors.append(Tensor(weights, (*stage.kernel, shape[3], stage.channels)))
        operators.append(made)
        tensors.append(Tensor(name, result))
        shape = result
    return make_chain(graph_of(operators, tensors, f"halos{suffix}"), operators)


def convolution_chain(height: int, width: int, channels: tuple[int, int, int], kernels: tuple[int, int]) -> Chain:
    """Two convolutions without padding, whose results are `height` and `width` pixels at the end."""
    edge = sum(kernels) - 2
    stages = [conv(kernel, count) for kernel, count in zip(kernels, channels[1:], strict=True)]
    return halo_chain(height + edge, width + edge, channels[0], stages)


Shape = tuple[int, int, int, int]


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value


def _window(shape: Shape, stage: Stage) -> tuple[tuple[int, int], tuple[Index, Index]]:
    sizes = tuple((size - k) // s + 1 for size, k, s in zip(shape[1:3], stage.kernel, stage.stride, strict=True))
    steps = [
        axis(a) * s + (axis(k) if width > 1 else constant(0))
        for a, k, s, width in zip("hw", "yx", stage.stride, stage.kernel, strict=True)
    ]
    return (sizes[0], sizes[1]), (steps[0], steps[1])


def _conv(name: str, source: str, weights: str, shape: Shape, stage: Stage) -> tuple[Operator, Shape]:
    (h, w), window = _window(shape, stage)
    sizes = {"n": shape[0], "h": h, "w": w, "o": stage.channels, "y": stage.kernel[0], "x": stage.kernel[1], "c": shape[3]}
    reads = (Access(source, (axis("n"), *window, axis("c"))), access(f"{weights}:yxco"))
    return _over(sizes, name, stage, reads, access(f"{name}:nhwo"), PRODUCT, SUM), (shape[0], h, w, stage.channels)


def _pool(name: str, source: str, weights: str, shape: Shape, stage: Stage) -> tuple[Operator, Shape]:
    (h, w), window = _window(shape, stage)
    sizes = {"n": shape[0], "h": h, "w": w, "c": shape[3], "y": stage.kernel[0], "x": stage.kernel[1]}
    reads = (Access(source, (axis("n"), *window, axis("c"))),)
    return _over(sizes, name, stage, reads, access(f"{name}:nhwc"), Load(0), SUM), (shape[0], h, w, shape[3])


def _pad(name: str, source: str, weights: str, shape: Shape, stage: Stage) -> tuple[Operator, Shape]:
    n, h, w, c = shape
    up, left = stage.kernel
    row, column = axis("h") + -up, axis("w") + -left
    inside = (row, row * -1 + (h - 1), column, column * -1 + (w - 1))
    reads = (Access(source, (axis("n"), row, column, axis("c")), Guard(inside, 0.0)),)
    sizes = {"n": n, "h": h + 2 * up, "w": w + 2 * left, "c": c}
    return _over(sizes, name, stage, reads, access(f"{name}:nhwc"), Load(0)), (n, h + 2 * up, w + 2 * left, c)


def _relu(name: str, source: str, weights: str, shape: Shape, stage: Stage) -> tuple[Operator, Shape]:
    sizes = dict(zip("nhwc", shape, strict=True))
    body = apply("maximum", Load(0), Literal(0.0))
    return _over(sizes, name, stage, (access(f"{source}:nhwc"),), access(f"{name}:nhwc"), body), shape


def _over(
    sizes: dict[str, int],
    name: str,
    stage: Stage,
    reads: tuple[Access, ...],
    write: Access,
    body: Scalar,
    how: Reduction | None = None,
) -> Operator:
    return operator(name, stage.kind, reads, write, body, sizes, how, order="".join(sizes))


_BUILDERS = {"conv": _conv, "pool": _pool, "pad": _pad, "relu": _relu}
