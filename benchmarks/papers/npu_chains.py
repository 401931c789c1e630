"""GEMM chains on a simulated Ascend 910: Figure 7 of Chimera, fused against one kernel for each product, by size.

    python -m benchmarks.papers.npu_chains [--cases G1,S2] [--softmax] [--simulate 2048] [--json FILE.json]

Cases are G1 to G12 of Table IV at batch 1 (equal ones once), as in the paper, and S1 to S4, which grow. Both sides have the tiles
of least price, of exact bytes and instructions. Nothing is measured: every time is predicted. `--simulate` runs the fused kernels
of up to so many rows through the simulator's pipes, beside the formula of the price. "M1 = N1" is the fused kernel with square
tiles, as Section V-B has them: as many blocks of 16 rows as of 16 columns, by the size of L0C, in both products.

The second table says what ends the gain: the same with one figure of the machine changed, for both sides.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.backends.npu_simulator.figures import LANES, figures_of
from tilewright.backends.npu_simulator.lowering import tiles_of
from tilewright.backends.npu_simulator.planner import apart, candidates, plan_chain, square_blocks
from tilewright.backends.npu_simulator.program import Launch
from tilewright.backends.npu_simulator.simulator import simulate
from tilewright.backends.npu_simulator.tiles import Order
from tilewright.block.memory import BufferName
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Chain
from tilewright.machine import Machine
from tilewright.plan.chains import make_chain
from tilewright.plan.types import Plan
from tilewright.records import record
from tilewright.report.layout import columns
from tilewright.tune.shapes import TABLE_IV, ChainShape

GROWING = tuple(
    ChainShape(f"S{number}", 1, side, side // 8, side // 8, side) for number, side in enumerate((1024, 2048, 4096, 8192), 1)
)
PAPER = "Chimera, Figure 7 (measured, batch 1, averages): 2.39 of TBE, which does not fuse two products; 1.14 of AKG"
PEAK_OF_PAPER = 320e12
"""Table I, in flops per second."""
US = 1e6
MOST_SOFTMAX = 2048
"""Columns of scores of which 16 whole rows fit the unified buffer."""
EDITS: Mapping[str, tuple[str, ...]] = {
    "UB": ("UB",),
    "L1": ("L1",),
    "L0A, L0B": ("L0A", "L0B"),
    "L0C": ("L0C",),
    "L1, L0C": ("L1", "L0C"),
    "memory to L1": ("memory_to_l1_bytes_per_cycle",),
    "UB to L1": ("ub_to_l1_bytes_per_cycle",),
}
"""What is doubled, by the word for it."""


@record
class Compared:
    """Predicted seconds of a chain, fused and apart."""

    name: str
    extents: tuple[int, int, int, int]
    """m, n, k, l."""
    fused: Plan
    parts: tuple[Plan, ...]
    launch_s: float
    by_rule_s: float | None
    """Fused, with M1 = N1 from L0C; None where such blocks fit no order."""

    @property
    def apart_s(self) -> float:
        """A kernel for each product."""
        return sum(part.price.seconds for part in self.parts)

    @property
    def gain(self) -> float:
        """How many times faster the fused kernel is."""
        return self.apart_s / self.fused.price.seconds

    @property
    def gain_without_launch(self) -> float:
        """The same, were launches free."""
        return (self.apart_s - len(self.parts) * self.launch_s) / (self.fused.price.seconds - self.launch_s)


def gemm_chain(shape: ChainShape, *, softmax: bool = False) -> Chain:
    """E = (A B) D, or softmax(A B) D, float16 with float32 sums."""
    builder = Builder(shape.name)
    a, b, d = (builder.input(name, of[1:], "float16") for name, of in zip("ABD", shape.operands, strict=True))
    scores = builder.matmul(a, b)
    graph = builder.graph([builder.matmul(builder.softmax(scores, -1) if softmax else scores, d).name])
    return make_chain(graph, tuple(replace(operator, accumulator="float32") for operator in graph.operators))


def compared(shape: ChainShape, machine: Machine, *, softmax: bool = False) -> Compared:
    """Both sides of a case."""
    chain, figures = gemm_chain(shape, softmax=softmax), figures_of(machine)
    parts = tuple(plan_chain(part, machine) for part in apart(chain))
    square = candidates(chain, figures, sides=(LANES * square_blocks(figures, 2),))
    by_rule_s = square[0].seconds if square else None
    extents = shape.m, shape.n, shape.k, shape.l
    return Compared(shape.name, extents, plan_chain(chain, machine), parts, figures.launch_s, by_rule_s)


def simulated_s(plan: Plan) -> float:
    """The same of the simulated pipes."""
    launch = Launch(plan.chain, tiles_of(plan))
    names = (*plan.chain.inputs, plan.chain.output)
    shapes = {name: [extent for extent in plan.chain.tensor(name).shape if isinstance(extent, int)] for name in names}
    arrays = {BufferName(name): np.empty(shape, np.float16) for name, shape in shapes.items()}
    return simulate([launch.region()], arrays, {}, figures_of(plan.machine), computes=False).predicted_seconds


def doubled(machine: Machine, names: Sequence[str]) -> Machine:
    """The machine with some spaces or limits twice as large."""
    accelerator = machine.accelerator
    assert accelerator is not None
    spaces = tuple(replace(one, size_bytes=one.size_bytes * 2) if one.name in names else one for one in accelerator.spaces)
    limits = tuple((name, value * 2 if name in names else value) for name, value in accelerator.limits)
    return replace(machine, accelerator=replace(accelerator, spaces=spaces, limits=limits))


def with_limit(machine: Machine, name: str, value: float) -> Machine:
    """The machine with another limit."""
    accelerator = machine.accelerator
    assert accelerator is not None
    limits = tuple((one, value if one == name else was) for one, was in accelerator.limits)
    return replace(machine, accelerator=replace(accelerator, limits=limits))


def curve(cases: Sequence[Compared], most_rows: int) -> list[str]:
    """Figure 7's table."""
    rows = [["case", "m", "n", "k", "l", "fused us", "simulated", "M1 = N1", "apart us", "gain", "no launch", "order", "busiest"]]
    for one in cases:
        shown = f"{simulated_s(one.fused) * US:.2f}" if one.extents[0] <= most_rows else "-"
        rule = f"{one.by_rule_s * US:.2f}" if one.by_rule_s is not None else "-"
        times = [f"{one.fused.price.seconds * US:.2f}", shown, rule, f"{one.apart_s * US:.2f}"]
        gains = [f"{one.gain:.2f}", f"{one.gain_without_launch:.2f}"]
        order = Order(tiles_of(one.fused).order).name.lower()
        rows.append([one.name, *map(str, one.extents), *times, *gains, order, busiest(one.fused)])
    return columns(rows, right=range(1, 11))


def busiest(plan: Plan) -> str:
    """The term that decides the price of a kernel, beside its launch."""
    return max((term for term in plan.price.terms if term.kind.overlaps), key=lambda term: term.seconds).name.split(": ")[-1]


def ends(shapes: Sequence[ChainShape], machine: Machine, *, softmax: bool = False) -> list[str]:
    """The gain with one figure changed, for both sides."""
    edited = {f"{word} doubled": doubled(machine, names) for word, names in EDITS.items()}
    edited["flags free"] = with_limit(machine, "flag_cycles", 1e-9)
    edited["launch free"] = with_limit(machine, "launch_s", 1e-12)
    edited["64 cores"] = replace(machine, cores=2 * machine.cores)
    edited["320 TFLOPS"] = replace(machine, frequency_hz=machine.frequency_hz * PEAK_OF_PAPER / peak(machine))
    rows = [["gain with", *(shape.name for shape in shapes)]]
    for word, changed in {"the target": machine, **edited}.items():
        rows.append([word, *(f"{compared(shape, changed, softmax=softmax).gain:.2f}" for shape in shapes)])
    return columns(rows, right=range(1, len(rows[0])))


def peak(machine: Machine) -> float:
    """Flops per second of all cubes: what cores and clock make."""
    return 2.0 * LANES**3 * machine.frequency_hz * machine.cores


def sources(machine: Machine) -> list[str]:
    """Where the machine's figures come from."""
    accelerator = machine.accelerator
    assert accelerator is not None
    spaces = ", ".join(f"{one.name} {one.size_bytes >> 10} KiB" for one in accelerator.spaces)
    known = [(name, f"{name} {value:g}") for name, value in accelerator.limits]
    sourced = [text for name, text in known if name not in accelerator.estimates]
    assumed = [text for name, text in known if name in accelerator.estimates]
    clock = f"{machine.cores} cores at {machine.frequency_hz / 1e9:g} GHz"
    rates = f"{peak(machine) / 1e12:.0f} TFLOPS, where Table I says {PEAK_OF_PAPER / 1e12:.0f}"
    return [
        f"sourced  {spaces} (Chimera, VI-A); 1200 GB/s (Table I)",
        *(f"         {text} (platform files of the family)" for text in sourced),
        *(f"assumed  {text}" for text in assumed),
        f"assumed  {clock}: {rates}; clock, cores or peak is wrong",
        "assumed  a pass of the vector unit for every function; how pipes overlap",
    ]


def report(
    cases: Sequence[Compared], shapes: Sequence[ChainShape], machine: Machine, most_rows: int, *, softmax: bool = False
) -> list[str]:
    """All of it."""
    growing = [shape for shape in shapes if shape in GROWING] or list(shapes[-1:])
    lines = [
        f"GEMM chains{' with softmax' if softmax else ''} on a simulated Ascend 910, batch 1: every time is predicted",
        "",
        *curve(cases, most_rows),
        "",
    ]
    return [
        *lines,
        PAPER,
        "",
        "what ends the gain (predicted)",
        "",
        *ends(growing, machine, softmax=softmax),
        "",
        *sources(machine),
    ]


def cases_of(names: str) -> list[ChainShape]:
    """The cases of these names, at batch 1; those that differ in their batch alone are there once."""
    known = {shape.name: replace(shape, batch=1) for shape in (*TABLE_IV, *GROWING)}
    wanted = names.split(",") if names else list(known)
    found: dict[tuple[int, ...], ChainShape] = {}
    for name in wanted:
        shape = known[name]
        found.setdefault((shape.m, shape.n, shape.k, shape.l), shape)
    return list(found.values())


def document(cases: Sequence[Compared]) -> list[dict[str, Any]]:
    """As data."""
    return [
        {
            "case": one.name,
            "extents": one.extents,
            "fused_predicted_s": one.fused.price.seconds,
            "apart_predicted_s": one.apart_s,
            "gain": one.gain,
            "gain_without_launch": one.gain_without_launch,
            "tiles": dict(tiles_of(one.fused).numbers()),
        }
        for one in cases
    ]


def main(arguments: Sequence[str]) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.npu_chains", description=__doc__)
    parser.add_argument("--cases", default="", help="names, by commas; all by default")
    parser.add_argument("--softmax", action="store_true", help="with a softmax between the products; up to 2048 columns")
    parser.add_argument("--simulate", type=int, default=2048, help="most rows of a chain that the simulator's pipes run")
    parser.add_argument("--json", type=Path, help="a file for the figures")
    options = parser.parse_args(arguments)
    machine, shapes = Machine.named("ascend910"), cases_of(options.cases)
    shapes = [shape for shape in shapes if not options.softmax or shape.l <= MOST_SOFTMAX]
    cases = [compared(shape, machine, softmax=options.softmax) for shape in shapes]
    print("\n".join(report(cases, shapes, machine, options.simulate, softmax=options.softmax)))
    if options.json is not None:
        options.json.write_text(json.dumps(document(cases), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
