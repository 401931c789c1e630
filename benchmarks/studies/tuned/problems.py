"""The forty problems of `benchmarks.tuning`: products, Chimera's chains, convolutions of ResNet-50."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.graph.expressions.extents import planned_extent
from tilewright.graph.interpreter import evaluate
from tilewright.plan.types import ModelPlan
from tilewright.tune.chain_functions import gemm_chain
from tilewright.tune.schedules.cases import Case, product
from tilewright.tune.shapes import TABLE_IV, ConvChainShape, conv_chain_shape
from tilewright_bench.cases.conv_chain_shapes import of_table_v
from tilewright_bench.cases.conv_shapes import ConvShape, named_shape
from tilewright_bench.cases.gemm_shapes import SQUARES, TABLE_1, GemmShape

CONVOLUTIONS = (
    "7x7_3-64_224_s2",
    "1x1_64-64_56",
    "1x1_64-256_56",
    "3x3_64-64_56",
    "1x1_512-128_28",
    "3x3_256-256_14",
    "1x1_1024-256_14",
    "3x3_512-512_7",
)
"""Of ResNet-50: the first, and those of its blocks, each stage once or twice."""
CONV_CHAINS = ("C2", "C5", "C7", "C8")
"""Of Table V: those that the planner computes without constants of its own (matrices of Winograd's algorithm)."""
EXHAUSTIVE = (
    *("96x96x96", "128x128x128", "128x2048x4096", "2048x4096x32", "35x8457x2560", "84x1024x4096", "2048x1x128", "256x256x2048"),
    *("G4", "G7", "G10", "G12"),
    *("1x1_64-64_56", "1x1_64-256_56", "1x1_512-128_28", "1x1_1024-256_14"),
)
"""The sixteen, all under 5 GFLOP, of which a whole table of variants is measured."""
MOST_FLOPS = 5e9
"""Of a problem that is measured as often as others; larger ones have fewer variants and fewer calls."""
REFERENCE_ELEMENTS = 1 << 25
"""At most so many of the left operand are converted to float64 at a time."""


@dataclass(frozen=True)
class Problem:
    """What is tuned."""

    case: Case
    family: str
    """Of the table: "Table 1", "squares", "Table IV", "ResNet-50", "Table V"."""
    flops: int
    gemm: GemmShape | None = None
    """Of products."""

    @property
    def name(self) -> str:
        """As in commands and tables."""
        return self.case.name

    @property
    def is_exhaustive(self) -> bool:
        """Whether it is one of the sixteen."""
        return self.name in EXHAUSTIVE


class ProductCase(Case):
    """One product. Its reference is summed in parts by BLAS in float64: the interpreter would take minutes for the largest."""

    @cached_property
    def reference(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The result in float64."""
        a, b = self.inputs
        part = max(1, REFERENCE_ELEMENTS // a.shape[0])
        result = np.zeros((a.shape[0], b.shape[1]))
        for begin in range(0, a.shape[1], part):
            result += a[:, begin : begin + part].astype(np.float64) @ b[begin : begin + part].astype(np.float64)
        return result


@dataclass(frozen=True)
class DirectCase(Case):
    """A convolution that is summed as it is written: trials do not pack the constants that Winograd's algorithm has."""

    result_shape: tuple[int, ...] = ()

    @cached_property
    def reference(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The result in float64. The graph takes the points of an image as one dimension where it can."""
        graph = self.graph
        arrays = {
            name: array.reshape([planned_extent(extent) for extent in graph.tensor(name).shape])
            for name, array in zip(graph.inputs, self.inputs, strict=True)
        }
        return evaluate(graph, arrays, dtype="float64")[graph.outputs[0]].reshape(self.result_shape)

    def model_plan(self, *, fuse: bool | None = True) -> ModelPlan:
        """The planner's decisions for this machine, of precision `strict`."""
        return tw.jit(self.function, fuse=fuse, precision="strict").lower(*map(tw.spec, self.shapes)).model_plan


def products(shapes: tuple[GemmShape, ...], family: str) -> list[Problem]:
    """Single products (M x N x K)."""
    return [Problem(ProductCase(shape.name, product, shape.operands), family, shape.flops, shape) for shape in shapes]


def convolution(name: str) -> Problem:
    """Filters are an argument: trials do not pack constants."""
    shape = named_shape(name)
    operands = (shape.image_shape, shape.filter_shape)
    return Problem(DirectCase(name, _convolution(shape), operands, result_shape=shape.result_shape), "ResNet-50", shape.flops)


def conv_chain(name: str) -> Problem:
    """A row of Table V without relu; filters are arguments."""
    shape = conv_chain_shape(name)
    operands = ((1, *shape.image), *shape.filters)
    chain = of_table_v(shape, with_relu=False)
    return Problem(DirectCase(name, _conv_chain(shape), operands, result_shape=chain.result_shape), "Table V", chain.flops)


def problems() -> list[Problem]:
    """All forty, by family."""
    return [
        *products(TABLE_1, "Table 1"),
        *products(SQUARES, "squares"),
        *(Problem(Case(shape.name, gemm_chain, shape.operands, shape.network), "Table IV", shape.flops) for shape in TABLE_IV),
        *map(convolution, CONVOLUTIONS),
        *map(conv_chain, CONV_CHAINS),
    ]


def problem_named(name: str) -> Problem:
    """`KeyError` if there is none."""
    return {one.name: one for one in problems()}[name]


def _convolution(shape: ConvShape) -> Any:
    return lambda image, filters: tw.conv2d(image, filters, stride=shape.stride, padding=shape.padding)


def _conv_chain(shape: ConvChainShape) -> Any:
    def chain(image: Any, first: Any, second: Any) -> Any:
        middle = tw.conv2d(image, first, stride=shape.strides[0], padding=shape.paddings[0])
        return tw.conv2d(middle, second, stride=shape.strides[1], padding=shape.paddings[1])

    return chain
