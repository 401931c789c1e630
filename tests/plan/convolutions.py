"""Chains of two convolutions as index maps: planning tests need the maps, not the operators of the graph room."""

from __future__ import annotations

from tilewright.graph.index import axis
from tilewright.graph.scalar import Load, apply
from tilewright.graph.types import SUM, Access, Axis, AxisKind, Chain, Graph, Operator, Tensor
from tilewright.plan.chains import make_chain


def convolution_chain(height: int, width: int, channels: tuple[int, int, int], kernels: tuple[int, int]) -> Chain:
    """Two convolutions without padding, channels last, whose results are `height` and `width` pixels at the end."""
    edges = (kernels[0] + kernels[1] - 2, kernels[1] - 1, 0)
    sizes = [(height + edge, width + edge) for edge in edges]
    first = _convolution("Y", "X", "F", sizes[1], channels[0], channels[1], kernels[0])
    second = _convolution("Z", "Y", "G", sizes[2], channels[1], channels[2], kernels[1])
    tensors = (
        Tensor("X", (1, *sizes[0], channels[0])),
        Tensor("F", (kernels[0], kernels[0], channels[0], channels[1])),
        Tensor("Y", (1, *sizes[1], channels[1])),
        Tensor("G", (kernels[1], kernels[1], channels[1], channels[2])),
        Tensor("Z", (1, *sizes[2], channels[2])),
    )
    graph = Graph("convolutions", tensors, (first, second), ("X", "F", "G"), ("Z",))
    return make_chain(graph, graph.operators)


def _convolution(name: str, read: str, weights: str, size: tuple[int, int], inner: int, outer: int, kernel: int) -> Operator:
    sizes = {"n": 1, "h": size[0], "w": size[1], "o": outer, "y": kernel, "x": kernel, "c": inner}
    sums = ("y", "x", "c")
    axes = tuple(Axis(a, extent, AxisKind.REDUCTION if a in sums else AxisKind.PARALLEL) for a, extent in sizes.items())
    window = (axis("h") + axis("y"), axis("w") + axis("x")) if kernel > 1 else (axis("h"), axis("w"))
    image = Access(read, (axis("n"), *window, axis("c")))
    filters = Access(weights, tuple(axis(letter) for letter in "yxco"))
    write = Access(name, tuple(axis(letter) for letter in "nhwo"))
    return Operator(name, "convolution", axes, (image, filters), write, apply("multiply", Load(0), Load(1)), SUM)
