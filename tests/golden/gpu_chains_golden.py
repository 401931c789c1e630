"""Chimera's chains (Tables IV and V) in float16 on GPUs: fused or apart by price, with both figures. All times are predicted.

Apart are kernels that begin at every product and at every softmax; maps are with what is before them. Bytes of memory are each
tensor of a kernel once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tilewright as tw
from tilewright.backends.triton_gpu.planner import GpuPlanner
from tilewright.graph.types import Operator
from tilewright.machine import Machine
from tilewright.plan.chains import make_chain
from tilewright.plan.types import ModelPlan, Plan
from tilewright.tune.shapes import TABLE_IV, TABLE_V, Shape

NAME = "gpu_chains.txt"
TARGETS = ("a100", "h100")
Case = tuple[str, Callable[..., Any], tuple[Shape, ...]]


def contents() -> dict[str, str]:
    """The files, by name."""
    lines = [line for target in TARGETS for line in lines_of(target)]
    return {NAME: "\n".join(["Predicted: nothing here was measured.", *lines]) + "\n"}


def lines_of(target: str) -> Iterator[str]:
    """A line for every chain on a target."""
    for name, function, shapes in cases():
        lowered = tw.jit(function, target=target).lower(*(tw.spec(shape, "float16") for shape in shapes))
        yield f"{target} {name:11} {_line(lowered.model_plan)}"


def cases() -> Iterator[Case]:
    """Products without and with softmax, convolutions."""
    for shape in TABLE_IV:
        yield shape.name, lambda a, b, d: (a @ b) @ d, shape.operands
    for shape in TABLE_IV:
        yield f"{shape.name} softmax", lambda q, k, v: tw.softmax(q @ k * 0.125, axis=-1) @ v, shape.operands
    for chain in TABLE_V:
        yield chain.name, _convolutions(chain.strides, chain.paddings), ((1, *chain.image), *chain.filters)


def _convolutions(strides: Sequence[int], paddings: Sequence[int]) -> Callable[..., Any]:
    def chain(x: Any, first: Any, second: Any) -> Any:
        middle = tw.relu(tw.conv2d(x, first, stride=strides[0], padding=paddings[0]))
        return tw.conv2d(middle, second, stride=strides[1], padding=paddings[1])

    return chain


def _line(model_plan: ModelPlan) -> str:
    graph, machine = model_plan.graph, model_plan.machine
    fused = _planned(model_plan, graph.operators, machine)
    apart = [_planned(model_plan, part, machine) for part in _parts(graph.operators)]
    apart_s = sum(plan.price.seconds for plan in apart)
    least, most = fused.floor.compulsory_bytes, sum(plan.floor.compulsory_bytes for plan in apart)
    tiles = " ".join(f"{axis}={tile}" for axis, tile in fused.levels[0].tiles if tile > 1)
    assert fused.operators[0].leaf is not None
    numbers = dict(fused.operators[0].leaf.numbers)
    choice = "fused" if len(model_plan.plans) == 1 else f"apart, {len(model_plan.plans)} kernels"
    return (
        f"{choice:17} fused {fused.price.seconds * 1e6:6.2f} us, apart {apart_s * 1e6:6.2f} us,"
        f" gain {apart_s / fused.price.seconds:4.2f};"
        f" memory {least / 1e6:5.2f} MB, apart {most / 1e6:5.2f} MB, {1 - least / most:3.0%} fewer;"
        f" {tiles}, {numbers['warps']:.0f} warps, {numbers['stages']:.0f} stages"
    )


def _planned(model_plan: ModelPlan, operators: Sequence[Operator], machine: Machine) -> Plan:
    return GpuPlanner().plan(make_chain(model_plan.graph, operators), machine)


def _parts(operators: Sequence[Operator]) -> list[list[Operator]]:
    """A kernel for every product and every reduction of rows, with the maps behind it."""
    parts: list[list[Operator]] = []
    for operator in operators:
        if operator.is_map() and parts:
            parts[-1].append(operator)
        else:
            parts.append([operator])
    return parts
