"""Cache misses of convolutions against im2col and a product: the counterpart of Figure 11 of the SConv paper.

    python -m benchmarks.papers.convolution_misses [--model squeezenet] [--json FILE]

Every distinct convolution of the paper's seven models is planned for the paper's Xeon Silver 4208 (one core; an L3 of 4 MB, as
the paper says) in three ways, and the generated code is replayed line by line on its caches, whole: nothing is sampled. Misses of
a model are those of its layers, each as often as it occurs, from empty caches. All ways have the same micro kernels:

    sliced    the five loops of the paper in the order of its analysis (`stationary.py`), filters constant, pixels along lanes
    planned   the planner's least price, filters constant
    im2col    a copy of all windows, and a product of matrices as it is planned, filters arguments; pointwise convolutions with a
              step of 1 are the product alone, as in section 7.5 of the paper

Levels are exact LRU, write-allocate, not inclusive and without prefetching. An access is a vector, or a broadcast element. Those
that follow another of the same line at once are not counted, so that L1 miss rates are above a hardware counter's.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, reduce
from itertools import islice
from pathlib import Path
from typing import Any

import tilewright as tw
from benchmarks.papers.fusion_traffic import caches
from benchmarks.papers.stationary import Stays, with_stationary_orders
from benchmarks.studies.forced_algorithms import forced
from benchmarks.studies.slicing import analysed, least_price, pixels_along_lanes
from tests.oracles.trace_replay import simulate
from tilewright.machine import Machine
from tilewright.plan.slicing import Stationary
from tilewright.plan.types import ModelPlan
from tilewright.render.c.program import lower_program
from tilewright.report.layout import columns
from tilewright_bench.cases.conv_models import MODELS, layers
from tilewright_bench.cases.conv_shapes import ConvShape
from tilewright_bench.tables.means import geometric_mean

PAPER = (1.9, 5.9, 9.9)
"""Of the misses of Base those of SConv are so many times fewer: L1 (rate), L2, L3 (section 7.6)."""
PAPER_L3_BYTES = 4 << 20


def paper_machine() -> Machine:
    """The paper's Xeon with the caches of its Table 1: 32K/8, 1M/16, and an L3 of 4 MB with 16 ways."""
    machine = Machine.named("cascadelake-4208")
    levels = (
        replace(level, size_bytes=PAPER_L3_BYTES, associativity=16, shared_by_cores=1) if level.name == "L3" else level
        for level in machine.levels
    )
    return replace(machine, cores=1, levels=tuple(levels))


@dataclass(frozen=True, slots=True)
class Misses:
    """Accesses of L1 by vectors and broadcast elements, and misses of L1, L2 and L3, in lines."""

    accesses: int
    l1: int
    l2: int
    l3: int

    def __add__(self, other: Misses) -> Misses:
        return Misses(self.accesses + other.accesses, self.l1 + other.l1, self.l2 + other.l2, self.l3 + other.l3)

    def __mul__(self, count: int) -> Misses:
        return Misses(self.accesses * count, self.l1 * count, self.l2 * count, self.l3 * count)

    @property
    def l1_rate(self) -> float:
        """Misses of L1 over its accesses."""
        return self.l1 / self.accesses


@dataclass(frozen=True, slots=True)
class Sides:
    """The ways to compute a layer, or all layers of a model."""

    sliced: Misses
    planned: Misses
    im2col: Misses

    def __add__(self, other: Sides) -> Sides:
        return Sides(self.sliced + other.sliced, self.planned + other.planned, self.im2col + other.im2col)

    def __mul__(self, count: int) -> Sides:
        return Sides(self.sliced * count, self.planned * count, self.im2col * count)

    def fewer(self, way: Misses) -> tuple[float, float, float, float]:
        """L1 miss rate, L1, L2 and L3 misses of im2col over those of another way."""
        base = self.im2col
        return base.l1_rate / way.l1_rate, base.l1 / way.l1, base.l2 / way.l2, base.l3 / way.l3


def sliced(shape: ConvShape, machine: Machine) -> ModelPlan:
    """The five loops, in the order that Convolution Slicing Analysis decides for."""
    _, plan = pixels_along_lanes(shape, machine)
    stays = Stays.COLUMNS if analysed(shape, plan) is Stationary.INPUT else Stays.ROWS
    return with_stationary_orders(plan, stays)


def by_im2col(shape: ConvShape, machine: Machine) -> ModelPlan:
    """The plan of a copy of all windows and a product, filters an argument; the product alone where windows are pixels."""

    def convolution(x: Any, filters: Any) -> Any:
        return tw.conv2d(x, filters, stride=shape.stride, padding=shape.padding)

    with forced("pointwise" if shape.is_pointwise else "im2col"):
        return (
            tw.jit(convolution, target=machine, fuse=False)
            .lower(tw.spec(shape.image_shape), tw.spec(shape.filter_shape))
            .model_plan
        )


def missed(model_plan: ModelPlan, machine: Machine) -> Misses:
    """A plan, replayed."""
    levels = simulate(lower_program(model_plan), caches(machine), every_step=True).levels
    l1, l2, l3 = (level.total.misses for level in levels)
    return Misses(levels[0].total.accesses, l1, l2, l3)


@cache
def compared(shape: ConvShape) -> Sides:
    """All ways of one layer on the paper's machine."""
    machine = paper_machine()
    return Sides(*(missed(plan(shape, machine), machine) for plan in (sliced, least_price, by_im2col)))


def summed(model: str, first: int | None) -> Sides:
    """All ways of the first layers of a model, or (None) of all."""
    return reduce(Sides.__add__, (compared(shape) * count for shape, count in islice(layers(model).items(), first)))


def table(models: Sequence[str], first: int | None = None) -> Iterator[list[str]]:
    """A row for each model and way, and means."""
    yield ["model", "way", "L1 rate", "L1 misses", "L2 misses", "L3 misses", "fewer: L1 rate", "L1", "L2", "L3"]
    found: dict[str, list[tuple[float, ...]]] = {"sliced": [], "planned": []}
    for model in models:
        sides = summed(model, first)
        yield [model, *_cells("im2col", sides.im2col), *[""] * 4]
        for name, way in (("sliced", sides.sliced), ("planned", sides.planned)):
            found[name].append(sides.fewer(way))
            yield ["", *_cells(name, way), *(f"{ratio:.2f}" for ratio in found[name][-1])]
    for name, ratios in found.items():
        means = (f"{geometric_mean(list(column)):.2f}" for column in zip(*ratios, strict=True))
        yield ["geometric mean", name, *[""] * 4, *means]
    yield ["the paper", "", *[""] * 4, f"{PAPER[0]}", "", f"{PAPER[1]}", f"{PAPER[2]}"]


def _cells(name: str, way: Misses) -> list[str]:
    return [name, f"{way.l1_rate:.1%}", f"{way.l1:,}", f"{way.l2:,}", f"{way.l3:,}"]


def main(words: Sequence[str] | None = None) -> None:
    """Plan, replay, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", choices=sorted(MODELS), action="append", help="default: all seven")
    parser.add_argument("--layers", type=int, help="only the first ones of each model")
    parser.add_argument("--json", type=Path, help="write every layer's figures to this file")
    options = parser.parse_args(words)
    models, start = options.model or list(MODELS), time.monotonic()
    rows = list(table(models, options.layers))
    print(*columns(rows, right=range(2, len(rows[0]))), sep="\n")
    print(f"{time.monotonic() - start:.0f} s; 'fewer' is im2col over the way, as in the paper")
    if options.json:
        shapes = dict.fromkeys(shape for model in models for shape in islice(layers(model), options.layers))
        options.json.write_text(json.dumps({shape.name: asdict(compared(shape)) for shape in shapes}, indent=1) + "\n")


if __name__ == "__main__":
    main()
