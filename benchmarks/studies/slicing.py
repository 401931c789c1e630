"""Input- or weight-stationary: Convolution Slicing Analysis against measured times, and where the SConv paper's decisions appear.

    python -m benchmarks.studies.slicing region
    python -m benchmarks.studies.slicing measure [--model resnet_50] [--layers 3x3_64-64_56 ...] [--rounds 15]
    python -m benchmarks.studies.slicing packing [the same options]

`region` calculates alone: tiles of 16 windows x 8 filters (POWER10's) and of more filters than windows (x86's), caches of 32K,
1M and 4M, over shares of L2 and L3 that tiles take and over latencies. Each cell is the share of the 393 convolutions of the
paper's seven models that its model keeps input-stationary on POWER10, and weight-stationary on x86.

`measure` plans every distinct convolution of a model by one algorithm with its pixels along lanes (windows by columns, pointwise,
or im2col where windows move by more than one), and its product with the loops of both stationary orders on this machine
(`stationary.py`), and times whole calls in turns on one thread. Beside the times: the decision of Equations 1 to 14, that of
the planner's price of both plans, the planner's own plan of the same algorithm, and that of its choice of algorithm.

`packing` times the copy of a row of taps read in place against windows packed on demand, in both orders.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

import tilewright as tw
from benchmarks.papers.slicing_choices import slicing_choice
from benchmarks.papers.stationary import Stays, with_stationary_orders
from benchmarks.studies.forced_algorithms import forced
from tilewright import compiler
from tilewright.backends import loading
from tilewright.kernels.registry import registered
from tilewright.machine import Machine
from tilewright.plan.slicing import ConvolutionSizes, SlicingMachine, Stationary
from tilewright.plan.types import ModelPlan
from tilewright.report.layout import columns
from tilewright.tune.timing import seconds_per_call
from tilewright_bench.cases.conv_models import MODELS, layers
from tilewright_bench.cases.conv_shapes import ConvShape
from tilewright_bench.tables.means import geometric_mean

CACHES = (32 << 10, 1 << 20, 4 << 20)
"""Of both machines (the paper's Table 1)."""
POWER10 = (16, 8)
X86 = ((8, 16), (4, 16), (6, 64))
"""More filters than windows; the paper's numbers are lost in the text. The last is our AVX-512 tile with filters along lanes."""
SHARES = (1.0, 0.5, 0.25, 0.125)
"""Of L2 and L3, that tiles may take; of L1 always all."""
LATENCIES = ((50, 50, 200), (14, 50, 200), (4, 50, 200), (1, 50, 200), (14, 200, 800), (1, 200, 800))
"""Cycles of an access that L2, L3 and memory serve."""
ORDERS = tuple(product(Stays, (False, True)))
"""Stationary operands, with windows in place and packed on demand."""


def sizes(shape: ConvShape) -> ConvolutionSizes:
    """What the analysis knows of a layer."""
    return ConvolutionSizes(prod(shape.output), shape.filters, shape.channels, prod(shape.kernel))


def all_layers() -> Counter[ConvShape]:
    """How often each shape occurs in the seven models."""
    return sum((layers(model) for model in MODELS), Counter())


def share_of(stationary: Stationary, tile: tuple[int, int], share: float, cycles: tuple[float, float, float]) -> float:
    """The share of all convolutions that the paper's model (its halving, its costs) schedules so."""
    capacities = CACHES[0], CACHES[1] * share, CACHES[2] * share
    machine, shapes = SlicingMachine(capacities, cycles, *tile), all_layers()
    chosen = {shape: slicing_choice(sizes(shape), machine, halving=True).chosen.stationary for shape in shapes}
    return sum(count for shape, count in shapes.items() if chosen[shape] is stationary) / sum(shapes.values())


def region() -> Iterator[list[str]]:
    """A row for every share and latency."""
    yield ["share", "L2", "L3", "memory", "POWER10 16x8 input", *(f"x86 {w}x{f} weight" for w, f in X86)]
    for share, cycles in product(SHARES, LATENCIES):
        found = [
            share_of(Stationary.INPUT, POWER10, share, cycles),
            *(share_of(Stationary.WEIGHT, tile, share, cycles) for tile in X86),
        ]
        yield [f"{share:.2f}", *map(str, cycles), *(f"{part:.0%}" for part in found)]


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer with its plans by name."""

    shape: ConvShape
    algorithm: str
    plans: dict[str, ModelPlan]

    @property
    def priced(self) -> Stationary:
        """The decision of the planner's price."""
        by_columns, by_rows = (self.plans[stays].predicted_seconds for stays in Stays)
        return Stationary.INPUT if by_columns <= by_rows else Stationary.WEIGHT


def pixels_along_lanes(shape: ConvShape, machine: Machine) -> tuple[str, ModelPlan]:
    """The planner's plan of a layer by the algorithm whose columns are pixels, and the name of that."""
    name = "pointwise" if shape.is_pointwise else "windows by columns" if set(shape.stride) == {1} else "im2col"
    with forced(name):
        return name, least_price(shape, machine)


def least_price(shape: ConvShape, machine: Machine) -> ModelPlan:
    """The planner's plan of a layer whose filters are constants."""
    filters = np.random.default_rng(0).standard_normal(shape.filter_shape, np.float32)

    def convolution(x: Any) -> Any:
        return tw.conv2d(x, filters, stride=shape.stride, padding=shape.padding)

    return tw.jit(convolution, target=machine).lower(tw.spec(shape.image_shape)).model_plan


def analysed(shape: ConvShape, model_plan: ModelPlan) -> Stationary:
    """The decision of the exact search, for the machine and the micro kernel of a plan whose columns are pixels."""
    used = [operator.micro_kernel for plan in model_plan.plans for operator in plan.operators]
    (kernel,) = (kernel for kernel in registered() if kernel.name in used)
    return slicing_choice(sizes(shape), SlicingMachine.of(model_plan.machine, kernel.columns, kernel.rows)).chosen.stationary


def planned(shape: ConvShape, machine: Machine) -> Layer:
    """The plans of a layer: both orders, the planner's of the same algorithm, and the planner's own."""
    name, same = pixels_along_lanes(shape, machine)
    orders = {stays.value: with_stationary_orders(same, stays) for stays in Stays}
    return Layer(shape, name, {**orders, "same algorithm": same, "chosen": least_price(shape, machine)})


def call_of(model_plan: ModelPlan, shape: ConvShape, result: np.ndarray[Any, Any]) -> Callable[[], object]:
    """A call of a plan, on one thread, into `result`."""
    given = replace(model_plan.graph, constants=model_plan.given)
    executable, constants = loading.load(compiler.generate(model_plan), given, model_plan.machine, threads=1)
    x = np.random.default_rng(1).standard_normal(shape.image_shape, np.float32)
    return lambda: executable.run((x, *constants), (result,))


def times(layer: Layer, rounds: int) -> dict[str, float]:
    """The least seconds of each plan, in turns. Raises `AssertionError` where results differ."""
    results = {name: np.full(layer.shape.result_shape, np.nan, np.float32) for name in layer.plans}
    calls = {name: call_of(plan, layer.shape, results[name]) for name, plan in layer.plans.items()}
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            least[name] = min(least[name], seconds_per_call(call))
    wanted = results["chosen"]
    for name, found in results.items():
        assert np.abs(found - wanted).max() <= 1e-4 * np.abs(wanted).max(), f"{name} of {layer.shape.name} is wrong"
    return least


def measured(shapes: Sequence[ConvShape], rounds: int) -> Iterator[list[str]]:
    """A row for each layer, then the means."""
    yield ["layer", "algorithm", "input ms", "weight ms", "faster", "analysis", "price", "same algorithm", "chosen"]
    lost: dict[str, list[float]] = {"analysis": [], "price": []}
    for shape in shapes:
        layer = planned(shape, Machine.detect())
        seconds = times(layer, rounds)
        by_order = {Stationary.INPUT: seconds[Stays.COLUMNS], Stationary.WEIGHT: seconds[Stays.ROWS]}
        decisions = {"analysis": analysed(shape, layer.plans[Stays.COLUMNS]), "price": layer.priced}
        for model, decision in decisions.items():
            lost[model].append(by_order[decision] / min(by_order.values()))
        faster = min(by_order, key=lambda order: by_order[order])
        yield [
            *(shape.name, layer.algorithm, *(f"{one * 1e3:.3f}" for one in by_order.values()), faster.name.lower()),
            *(_text(decision, faster) for decision in decisions.values()),
            *(f"{seconds[name] * 1e3:.3f}" for name in ("same algorithm", "chosen")),
        ]
    for model, ratios in lost.items():
        right, mean = sum(ratio == 1 for ratio in ratios), geometric_mean(ratios)
        print(f"{model}: {right} of {len(ratios)} right; over the faster order {mean:.3f}, worst {max(ratios):.3f}")


def packing(shapes: Sequence[ConvShape], rounds: int) -> Iterator[list[str]]:
    """A row for each layer whose windows overlap and move by one: windows in place, and packed on demand."""
    yield ["layer", "order", "in place ms", "packed on demand ms", "ratio"]
    for shape in shapes:
        if set(shape.stride) == {1} and not shape.is_pointwise:
            _, same = pixels_along_lanes(shape, Machine.detect())
            plans = {(stays, packs): with_stationary_orders(same, stays, packs_on_demand=packs) for stays, packs in ORDERS}
            layer = Layer(shape, "", {f"{stays} {packs}": plan for (stays, packs), plan in plans.items()} | {"chosen": same})
            seconds = times(layer, rounds)
            for stays in Stays:
                in_place, packed = (seconds[f"{stays} {packs}"] for packs in (False, True))
                yield [shape.name, stays, f"{in_place * 1e3:.3f}", f"{packed * 1e3:.3f}", f"{packed / in_place:.2f}"]


def _text(decision: Stationary, faster: Stationary) -> str:
    return decision.name.lower() + ("" if decision is faster else " (wrong)")


def main(words: Sequence[str] | None = None) -> None:
    """Print one of the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.slicing", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("region", "measure", "packing"))
    parser.add_argument("--model", choices=sorted(MODELS), default="resnet_50")
    parser.add_argument("--layers", nargs="+", help="names of layers (default: every distinct one of the model)")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(words)
    of_model = {shape.name: shape for shape in layers(options.model)}
    if unknown := [name for name in options.layers or () if name not in of_model]:
        parser.error(f"{options.model} has no {', '.join(unknown)}; its layers: {', '.join(of_model)}")
    shapes = [of_model[name] for name in options.layers or of_model]
    timed = {"measure": measured, "packing": packing}
    rows = list(timed[options.what](shapes, options.rounds) if options.what in timed else region())
    print(*columns(rows, right=range(0 if options.what == "region" else 2, len(rows[0]))), sep="\n")


if __name__ == "__main__":
    main()
