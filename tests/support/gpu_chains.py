"""Chains as GPUs are given them: halves are multiplied as they are, and what lies between operators is float32."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.block.integers import Variable
from tilewright.block.interpreter import run
from tilewright.block.memory import Buffer, BufferName, Content, Gather, Lifetime, View
from tilewright.block.program import Region
from tilewright.block.statements import Leaf, Statement
from tilewright.block.verifier import verify
from tilewright.block.walk import Walk, block_count
from tilewright.compiler import PLANNING_FORMS, REWRITES, rewrite
from tilewright.frontend.tracing.trace import TensorSpec, trace
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.element_types import ElementTypes
from tilewright.graph.types import Chain, Graph, Tensor
from tilewright.lower.chain import lower
from tilewright.lower.storage import Stored, dense_strides
from tilewright.plan.chains import make_chain
from tilewright.plan.types import Plan

Array = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, ...]
HALVES = ("float16", "bfloat16")


def graph_of(function: Callable[..., Any], *shapes: Shape, dtype: str = "float32") -> Graph:
    """The graph of a function, rewritten."""
    graph = trace(function, [TensorSpec(shape, dtype) for shape in shapes], name="function")
    for step in REWRITES:
        graph = _wide(graph) if isinstance(step, ElementTypes) else step.run(graph)
    return rewrite(graph, PLANNING_FORMS, marks=False)


def _wide(graph: Graph) -> Graph:
    """What lies between operators is float32."""
    ends = {*graph.inputs, *graph.outputs, *(name for name, _ in graph.constants)}
    tensors = [replace(t, dtype="float32") if t.dtype in HALVES and t.name not in ends else t for t in graph.tensors]
    operators = [replace(o, accumulator="float32") if o.accumulator in HALVES else o for o in graph.operators]
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators))


def chain_of(function: Callable[..., Any], *shapes: Shape, dtype: str = "float32") -> Chain:
    """All operators of a function as one chain."""
    graph = graph_of(function, *shapes, dtype=dtype)
    return make_chain(graph, graph.operators)


def regions_of(plan: Plan) -> tuple[Region, ...]:
    """The block program of a plan whose tensors lie in rows."""
    return lower(plan, {}, 1, {name: _stored(plan.chain.tensor(name)) for name in (*plan.chain.inputs, plan.chain.output)})


def _stored(tensor: Tensor) -> Stored:
    return Stored(BufferName(tensor.name), dense_strides(tensor.shape), (0,) * len(tensor.shape), dtype=tensor.dtype)


def inputs_of(graph: Graph, chain: Chain, seed: int = 0) -> dict[str, Array]:
    """Random inputs of a chain, its constants included."""
    generator = np.random.default_rng(seed)
    known = {name: constant.array for name, constant in graph.constants}
    return {name: known[name] if name in known else _random(generator, chain.tensor(name)) for name in chain.inputs}


def _random(generator: np.random.Generator, tensor: Tensor) -> Array:
    if tensor.dtype == "int8":
        return generator.integers(-9, 9, tensor.shape).astype(np.int8)
    return (generator.standard_normal(tensor.shape) * 0.5).astype(tensor.dtype)


def computed(plan: Plan, inputs: Mapping[str, Array]) -> Array:
    """What the verified block program of a plan makes of inputs."""
    regions, chain = regions_of(plan), plan.chain
    verify(regions, [_buffer(chain.tensor(name)) for name in chain.inputs], [_buffer(chain.tensor(chain.output))], {})
    output = np.zeros(chain.tensor(chain.output).shape, chain.tensor(chain.output).dtype)
    arrays = {BufferName(name): np.ascontiguousarray(array) for name, array in inputs.items()}
    run(regions, {**arrays, BufferName(chain.output): output}, {})
    return output


def _buffer(tensor: Tensor) -> Buffer:
    return Buffer(BufferName(tensor.name), prod(tensor.shape), tensor.dtype, Lifetime.CALL)


def expected(graph: Graph, inputs: Mapping[str, Array]) -> Array:
    """The same by the interpreter of graphs."""
    return evaluate(graph, {name: inputs[name] for name in graph.inputs})[graph.outputs[0]]


class Counted(Walk):
    """A literal walk over the blocks of a region: the distinct elements of arguments that every leaf touches, added up."""

    def __init__(self, chain: Chain) -> None:
        super().__init__(dict[Variable, int]())
        self.arguments = {*chain.inputs, chain.output}
        self.bytes: dict[str, int] = {}

    def statement(self, node: Statement) -> None:
        if not isinstance(node, Leaf):
            return
        for operand in node.accesses():
            place = operand.place
            if place.buffer.content is Content.ELEMENTS and place.buffer.tensor in self.arguments:
                size = len(self._places(place, node)) * np.dtype(place.dtype).itemsize
                self.bytes[place.buffer.tensor] = self.bytes.get(place.buffer.tensor, 0) + size

    def _places(self, place: View | Gather, leaf: Leaf) -> set[int]:
        if isinstance(place, Gather):
            return set(self._gathered(place, leaf))
        spans = [(self.at(span.size), self.at(place.stride(axis))) for axis, span in leaf.box if self.at(place.stride(axis))]
        steps = product(*(range(size) for size, _ in spans))
        return {self.at(place.offset) + sum(at * s for at, (_, s) in zip(step, spans, strict=True)) for step in steps}

    def _gathered(self, place: Gather, leaf: Leaf) -> Iterator[int]:
        axes = [axis for axis, _ in leaf.box]
        ranges = [range(self.at(span.start), self.at(span.stop)) for _, span in leaf.box]
        for point in product(*ranges):
            at = dict(zip(axes, point, strict=True))
            guard = place.guard.constraints if place.guard is not None else ()
            if all(constraint.evaluate(at) >= 0 for constraint in guard):
                indices = zip(place.indices, place.dim_strides, strict=True)
                yield self.at(place.offset) + sum(index.evaluate(at) * self.at(stride) for index, stride in indices)


def counted_bytes(plan: Plan) -> dict[str, int]:
    """Bytes by argument that the blocks of a plan move, one block after the other."""
    total: dict[str, int] = {}
    for region in regions_of(plan):
        walk = Counted(plan.chain)
        walk.blocks(region, range(block_count(region, {})))
        for tensor, size in walk.bytes.items():
            total[tensor] = total.get(tensor, 0) + size
    return total


def transposed(x: Any) -> Any:
    """With the last two dimensions exchanged."""
    return tw.swapaxes(x, -1, -2)


def _causal(length: int) -> Callable[..., Any]:
    def attention(q: Any, k: Any, v: Any) -> Any:
        at = tw.arange(length)
        scores = tw.where(at[:, None] >= at[None, :], q @ transposed(k) * 0.125, -np.inf)
        return tw.softmax(scores, axis=-1) @ v

    return attention


def _grouped(q: Any, k: Any, v: Any) -> Any:
    return tw.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def _conv(second: int, stride: int = 1) -> Callable[..., Any]:
    def convolutions(x: Any, w: Any, v: Any) -> Any:
        first = tw.relu(tw.conv2d(x, w, padding=w.shape[-1] // 2, stride=stride))
        return tw.conv2d(first, v, padding=second // 2)

    return convolutions


Program = tuple[Callable[..., Any], tuple[Shape, ...]]
PROGRAMS: Mapping[str, Program] = {
    "gemm": (lambda a, b: a @ b, ((37, 300), (300, 50))),
    "gemm, bias, relu": (lambda a, b, c: tw.relu(a @ b + c), ((37, 300), (300, 50), (50,))),
    "gemm, whole depth": (lambda a, b: a @ b, ((70, 16), (16, 17))),
    "batched chain": (lambda a, b, c: (a @ b) @ c, ((2, 33, 20), (2, 20, 60), (2, 60, 40))),
    "chain, long depth": (lambda a, b, c: (a @ b) @ c, ((33, 500), (500, 60), (60, 40))),
    "attention": (lambda q, k, v: tw.softmax(q @ transposed(k) * 0.125, axis=-1) @ v, ((2, 33, 20), (2, 90, 20), (2, 90, 24))),
    "causal attention": (_causal(41), ((2, 41, 20), (2, 41, 20), (2, 41, 24))),
    "causal attention, long": (_causal(150), ((2, 150, 20), (2, 150, 20), (2, 150, 24))),
    "mlp": (lambda x, w, c, v, e: tw.gelu(x @ w + c) @ v + e, ((37, 20), (20, 90), (90,), (90, 24), (24,))),
    "softmax, gemm": (lambda x, w: tw.softmax(x, axis=-1) @ w, ((37, 50), (50, 60))),
    "gemm, softmax": (lambda x, w: tw.softmax(x @ w, axis=-1), ((37, 50), (50, 60))),
    "norm, gemm": (lambda x, g, b, w: tw.layer_norm(x, (50,), g, b) @ w, ((37, 50), (50,), (50,), (50, 60))),
    "mlp, residual, norm": (
        lambda x, w, v, g, b: tw.layer_norm(tw.gelu(x @ w) @ v + x, (40,), g, b),
        ((37, 40), (40, 90), (90, 40), (40,), (40,)),
    ),
    "mean of pixels": (lambda x: tw.mean(x, axis=(2, 3)), ((2, 5, 7, 9),)),
    "mean of long rows": (lambda x: tw.mean(x * x, axis=-1) * 3, ((2, 40009),)),
    "relu, gemm": (lambda x, w: tw.relu(x) @ w, ((37, 300), (300, 60))),
    "softmax": (lambda x: tw.softmax(x, axis=-1), ((37, 300),)),
    "sum of columns": (lambda x: tw.sum(x, axis=0), ((300, 37),)),
    "maximum": (lambda x: tw.max(x, axis=-1), ((37, 300),)),
    "elements": (lambda x, y: tw.exp(x) * y + 1, ((37, 60), (60,))),
    "transposed elements": (lambda x, y: tw.exp(transposed(x)) * y, ((37, 60), (37,))),
    "matrix, vector": (lambda x, y: x @ y, ((37, 300), (300,))),
    "convolution": (lambda x, w: tw.conv2d(x, w, padding=1, stride=2), ((2, 5, 9, 11), (7, 5, 3, 3))),
    "convolution, 1x1": (_conv(1, 2), ((1, 5, 9, 11), (7, 5, 3, 3), (6, 7, 1, 1))),
    "1x1, convolution": (_conv(3), ((1, 5, 9, 11), (7, 5, 1, 1), (6, 7, 3, 3))),
    "two convolutions": (_conv(3), ((1, 5, 6, 7), (7, 5, 3, 3), (6, 7, 3, 3))),
}
"""Small programs, each one chain, with extents that no tile divides."""
GROUPED: Program = (_grouped, ((2, 4, 41, 20), (2, 2, 41, 20), (2, 2, 41, 20)))
