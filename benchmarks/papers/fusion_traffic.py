"""What crosses between the levels of the memory hierarchy, fused against unfused: the counterpart of Figure 8 a to c of Chimera.

    python -m benchmarks.papers.fusion_traffic [--case G1] [--machine zen5] [--cores 18] [--softmax] [--json FILE]

Every chain of Table IV is planned for a machine twice, as one kernel and operator by operator, and the generated code of both
plans is replayed line by line on that machine's caches: one thread, all batches in order, nothing sampled. Caches are empty at
first and all that is dirty at the end is written back, so that traffic with memory holds every tensor at least once; the L3 is
one core's alone, whole. Reads and writes are counted in both directions. Levels are exact LRU and not inclusive, without
prefetching (see docs/cache-simulator.md); hit rates of the L1 count a line that several steps use in a row once, so that they are
lower than a hardware counter's. "tensors" are inputs and output once: no plan moves less.

With `--cores` blocks are dealt to so many cores with private L1 and L2 and one L3 (`benchmarks.papers.cores`): a call with empty
caches, whose last results stay in them, of all cores together.

The paper compares with PyTorch, whose products are two library calls, on a Xeon Gold 6240, by hardware counters.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import tilewright as tw
from benchmarks.papers.cores.simulation import simulate_calls
from tests.oracles.cache_simulator import CacheLevel
from tests.oracles.trace_replay import simulate
from tilewright.graph.types import element_bytes
from tilewright.machine import Machine
from tilewright.render.c.program import lower_program
from tilewright.report import units
from tilewright.report.layout import columns
from tilewright.tune import chain_functions
from tilewright.tune.shapes import TABLE_IV, ChainShape, chain_shape
from tilewright_bench.tables.means import geometric_mean

MACHINES = ("zen5", "cascadelake-6240")
"""48K/12, 1M/16 and 32M/16; the paper's 32K/8, 1M/16 and 24.75M/11."""
PAPER = (1.46, 1 - 0.5975, 1 - 0.7517)
"""Chimera over PyTorch, bytes on average, from the text beside Figure 8 (section VI-C)."""


@dataclass(frozen=True, slots=True)
class Side:
    """One plan, replayed. Per level, nearest first."""

    kernels: int
    bytes_behind: tuple[int, ...]
    """Between the level and the one behind it, both ways."""
    accesses: tuple[int, ...] = ()
    hit_rates: tuple[float, ...] = ()
    """These two of one core only."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One chain on one machine. `compulsory_bytes`: inputs and outputs once."""

    case: str
    machine: str
    fused: Side
    unfused: Side
    compulsory_bytes: int

    @property
    def ratios(self) -> tuple[float, ...]:
        """Bytes fused over bytes unfused, per level."""
        return tuple(one / other for one, other in zip(self.fused.bytes_behind, self.unfused.bytes_behind, strict=True))


def caches(machine: Machine) -> list[CacheLevel]:
    """The caches of a machine as they are simulated."""
    return [CacheLevel(level.size_bytes, level.line_bytes, level.associativity) for level in machine.levels[:-1]]


def replayed(shape: ChainShape, machine: Machine, cores: int, *, fuse: bool, softmax: bool) -> Side:
    """The planner's own plan for a machine, on that machine's caches."""
    function = chain_functions.attention if softmax else chain_functions.gemm_chain
    specs = [tw.spec(operand, "float32") for operand in shape.operands]
    model_plan = tw.jit(function, target=machine, fuse=fuse).lower(*specs).model_plan
    if cores > 1:
        (call,) = simulate_calls(model_plan, cores, 1)
        return Side(len(model_plan.plans), call.crossed_bytes)
    levels = simulate(lower_program(model_plan), caches(machine)).levels
    return Side(
        kernels=len(model_plan.plans),
        bytes_behind=tuple(level.bytes_behind for level in levels),
        accesses=tuple(level.total.accesses for level in levels),
        hit_rates=tuple(level.hit_rate for level in levels),
    )


def compared(shape: ChainShape, machine: Machine, cores: int, *, softmax: bool) -> Comparison:
    """Both sides of one chain."""
    fused, unfused = (replayed(shape, machine, cores, fuse=fuse, softmax=softmax) for fuse in (True, False))
    elements = shape.batch * (shape.k + shape.n) * (shape.m + shape.l)
    return Comparison(shape.name, machine.name, fused, unfused, element_bytes("float32") * elements)


def table(machine: Machine, comparisons: Sequence[Comparison]) -> list[str]:
    """Lines for people: bytes fused and unfused with their ratio per pair of levels, then the hit rates."""
    names = [level.name for level in machine.levels]
    pairs = [f"{near}-{far}" for near, far in pairwise(names)]
    head = ["case", "tensors", *(cell for pair in pairs for cell in (pair, "unfused", "ratio"))]
    hits = [f"hits {name}" for name in names[:-1] if comparisons[0].fused.hit_rates]
    head += hits
    means = [geometric_mean([one.ratios[i] for one in comparisons]) for i in range(len(pairs))]
    rows = [head, *map(_row, comparisons)]
    for label, figures in (("geometric mean", means), ("the paper", PAPER)):
        cells = [cell for figure in figures for cell in ("", "", f"{figure:.2f}")]
        rows.append([label, "", *cells, *[""] * len(hits)])
    return columns(rows, right=range(1, len(head)))


def _row(one: Comparison) -> list[str]:
    cells = [one.case, units.size(one.compulsory_bytes)]
    for fused, unfused, ratio in zip(one.fused.bytes_behind, one.unfused.bytes_behind, one.ratios, strict=True):
        cells += [units.size(fused), units.size(unfused), f"{ratio:.2f}"]
    rates = zip(one.fused.hit_rates, one.unfused.hit_rates, strict=True)
    return [*cells, *(f"{fused:.1%}/{unfused:.1%}" for fused, unfused in rates)]


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [shape.name for shape in TABLE_IV]
    parser.add_argument("--case", choices=names, action="append", help="default: all of Table IV")
    parser.add_argument("--machine", action="append", help=f"a target with three caches (default: {', '.join(MACHINES)})")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--softmax", action="store_true", help="with a softmax between the products")
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Plan, replay, compare."""
    options = arguments(words)
    results = []
    for name in options.machine or MACHINES:
        machine, start = Machine.named(name), time.monotonic()
        shapes = [chain_shape(case) for case in options.case] if options.case else TABLE_IV
        comparisons = [compared(shape, machine, options.cores, softmax=options.softmax) for shape in shapes]
        sizes = ", ".join(f"{units.size(cache.size_bytes)}/{cache.ways}" for cache in caches(machine))
        print(
            f"{name}, {options.cores} cores: {sizes}; {time.monotonic() - start:.0f} s",
            *table(machine, comparisons),
            sep="\n",
            end="\n\n",
        )
        results += [asdict(one) for one in comparisons]
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
