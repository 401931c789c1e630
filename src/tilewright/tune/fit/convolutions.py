"""Convolutions in each of the algorithms that compute them, measured in turns: one kernel an algorithm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tilewright as tw
from tilewright import compiler
from tilewright.backends import loading
from tilewright.coefficients import coefficients_for
from tilewright.errors import TilewrightError
from tilewright.graph.types import Graph, planned_extent
from tilewright.kernels import registry
from tilewright.machine.machine import Machine
from tilewright.plan.algorithms.definition import Problem, applicable, expanded
from tilewright.plan.chains import canonical_form
from tilewright.plan.model.price_features import features
from tilewright.plan.planner import price_chain
from tilewright.plan.types import ModelPlan, Plan
from tilewright.records import record
from tilewright.runtime.memory import new_result
from tilewright.tune.fit.fitting import Kernel, OperatorRow, row_of
from tilewright.tune.schedules.timing import Runnable, timed

KIND = "convolutions"
ROUNDS = 9
TURN_S = 2e-3
TOLERANCE = 1e-3
"""Of the largest difference between two algorithms over the largest result: what an outright wrong kernel exceeds."""


@record
class Convolution:
    """A layer, one image of channels-first layout; the filter is constant, as in models."""

    channels: int
    size: int
    filters: int
    kernel: int
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    network: str = ""
    """That has such a layer."""

    def __str__(self) -> str:
        further = {"stride": self.stride, "dilation": self.dilation, "groups": self.groups}
        said = "".join(f" {name} {figure}" for name, figure in further.items() if figure > 1)
        return f"conv {self.channels}x{self.size}x{self.size} to {self.filters}, {self.kernel}x{self.kernel}{said}"

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the image."""
        return 1, self.channels, self.size, self.size

    def graph(self) -> Graph:
        """As it is written, before any rewrite."""
        shape = self.filters, self.channels // self.groups, self.kernel, self.kernel
        weight = np.random.default_rng(0).standard_normal(shape, np.float32) / np.float32(np.sqrt(np.prod(shape[1:])))
        padding = self.dilation * (self.kernel - 1) // 2

        def layer(x: Any) -> Any:
            return tw.conv2d(x, weight, stride=self.stride, padding=padding, dilation=self.dilation, groups=self.groups)

        return tw.jit(layer).lower(tw.spec(self.shape)).traced.graph


CONVOLUTIONS = (
    Convolution(64, 56, 64, 3, network="ResNet"),
    Convolution(256, 14, 1024, 1, network="ResNet"),
    Convolution(96, 56, 96, 3, groups=96, network="MobileNet"),
    Convolution(128, 28, 128, 3, stride=2, network="ResNet"),
    Convolution(256, 56, 64, 1, network="ResNet"),
    Convolution(3, 224, 64, 7, stride=2, network="ResNet"),
    Convolution(256, 14, 256, 3, network="ResNet"),
    Convolution(240, 28, 240, 5, groups=240, network="EfficientNet"),
    Convolution(64, 28, 64, 3, dilation=2, network="DeepLab"),
    Convolution(512, 7, 512, 3, network="ResNet"),
    Convolution(144, 56, 144, 3, stride=2, groups=144, network="EfficientNet"),
    Convolution(48, 35, 64, 5, network="Inception"),
    Convolution(512, 28, 128, 1, network="ResNet"),
    Convolution(128, 56, 128, 3, groups=32, network="ResNeXt"),
    Convolution(64, 112, 32, 1, network="MobileNet"),
    Convolution(3, 224, 32, 3, stride=2, network="MobileNet"),
    Convolution(960, 7, 160, 1, network="MobileNet"),
    Convolution(192, 17, 192, 3, network="Inception"),
)
"""Layers of networks, some as they are, some of the kind."""


def measure(layer: Convolution, machine: Machine) -> list[Kernel]:
    """The kernels of a layer, one an algorithm: see `measure_graph`."""
    return measure_graph(str(layer), layer.graph(), machine, frozenset((layer.network,)) if layer.network else frozenset())


def measure_graph(case: str, graph: Graph, machine: Machine, networks: frozenset[str] = frozenset()) -> list[Kernel]:
    """The kernels of a graph of one convolution of networks, one an algorithm.

    Left out are those that have no plan, no features, or a result of their own. Seconds are the least of rounds in which all have
    turns, as if the core had its calibrated peak.
    """
    image = np.random.default_rng(1).standard_normal(_planned_shape(graph, graph.inputs[0]), np.float32)
    ways = [way for name, one in graphs(graph, machine) if (way := _way(name, one, machine, image)) is not None]
    for _, _, runnable in ways:
        runnable()
    results = [runnable.result for _, _, runnable in ways]
    right = [way for way, result in zip(ways, results, strict=True) if _agree(result, results)]
    times = timed([runnable for _, _, runnable in right], ROUNDS, TURN_S)
    slower = times.peak_flops_per_s / machine.peak("float32")
    seconds = (times.least_s(number) * slower for number in range(len(right)))
    return [Kernel(case, taken_s, rows, KIND, networks, name) for (name, rows, _), taken_s in zip(right, seconds, strict=True)]


def graphs(graph: Graph, machine: Machine) -> Iterator[tuple[str, Graph]]:
    """A graph of one convolution by each algorithm that keeps float32's accuracy, by name."""
    constants, tensors = frozenset(name for name, _ in graph.constants), {tensor.name: tensor for tensor in graph.tensors}
    (problem,) = (Problem(operator, tensors, constants, machine) for operator in graph.operators if len(operator.reads) > 1)
    for algorithm in applicable(problem):
        yield algorithm.name, expanded(graph, {problem.operator.name: algorithm}, constants, machine)


def rows_of(model_plan: ModelPlan) -> tuple[OperatorRow, ...] | None:
    """What the operators of all chains cost per unit of each coefficient; None where a chain is planned without a search."""
    found: list[OperatorRow] = []
    for plan in model_plan.plans:
        available = registry.for_machine(plan.machine, element_types=None)
        priced = price_chain(canonical_form(plan.chain), plan.machine, available, coefficients_for(plan.machine))
        if isinstance(priced.searched, Plan) or priced.searched.split is not None:
            return None
        found += map(row_of, features(priced.searched.context, priced.searched.blocking).values())
    return tuple(found)


def _way(name: str, graph: Graph, machine: Machine, image: Any) -> tuple[str, tuple[OperatorRow, ...], Runnable] | None:
    """A layer compiled by an algorithm; None where the algorithm has no plan or its plan no features."""
    try:
        model_plan = compiler.plan(graph, machine)
    except TilewrightError:
        return None
    rows = rows_of(model_plan)
    if rows is None:
        return None
    executable, constants = loading.load(compiler.generate(model_plan), graph, machine, threads=1)
    result = new_result(_planned_shape(graph, graph.outputs[0]), np.dtype(np.float32))
    return name, rows, Runnable(executable, (image, *constants), result)


def _planned_shape(graph: Graph, tensor: str) -> list[int]:
    return [planned_extent(extent) for extent in graph.tensor(tensor).shape]


def _agree(result: Any, others: list[Any]) -> bool:
    """Whether a result is that of most."""
    near = [float(np.abs(result - other).max()) <= TOLERANCE * float(np.abs(other).max()) for other in others]
    return 2 * sum(near) > len(others)
