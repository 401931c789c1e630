"""Figures 5 and 10 of Chimera on the paper's machine, simulated: 18 cores that share the L3 and the bandwidth of memory.

    python -m benchmarks.papers.paper_cores [--cases G1,C3_relu] [--ablation G2,G5] [--count 3] [--cores 18] [--json FILE]

Nothing is measured: `benchmarks.papers.cores` simulates the cores of `cascadelake-6240` for plans that were made for it. Figure 5
(section VI-B): each chain of Tables IV and V in one kernel (as few as there is a plan for), and every operator apart, called in a
loop, and once with empty caches. The paper compares with PyTorch, Relay, Ansor and oneDNN, which are not simulated.

Figure 10 (section VI-E): a baseline without cost model, fusion and micro kernels, and each of them added alone:

    baseline        both products apart, portable micro kernels, and of `--count` random tilings for every order of outer loops of
                    each product the best (the paper: 100, measured)
    cost model      the baseline, with the planner's choice instead of random tilings
    fusion          one fused kernel, the best of as many random tilings, portable micro kernels
    micro kernel    the baseline with the machine's micro kernels
    all             the whole system

The best is that by simulation of the five random tilings that the price finds cheapest on so many cores: one simulation takes
seconds. Beside it the cost model over one random tiling, the median of all by price: what a tiling takes that nobody chose.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import cycle, islice
from math import ceil
from pathlib import Path

import tilewright as tw
from benchmarks.papers.ablation import random_plans
from benchmarks.papers.cores.cases import CONV_CHAINS, GEMM_CHAINS, RELU, SOFTMAX, case_named
from benchmarks.papers.cores.simulation import simulate_calls, simulate_cores
from tilewright.kernels.registry import registered
from tilewright.machine import Machine
from tilewright.plan.types import ModelPlan, Plan
from tilewright.plan.whole_model.partition import partition
from tilewright.report.layout import columns
from tilewright.tune.schedules.cases import choice
from tilewright_bench.tables.means import geometric_mean

MACHINE = "cascadelake-6240"
KINDS = {
    "a) batch GEMM chains": GEMM_CHAINS,
    "b) with softmax": tuple(name + SOFTMAX for name in GEMM_CHAINS),
    "c) convolution chains": CONV_CHAINS,
    "d) with ReLU": tuple(name + RELU for name in CONV_CHAINS),
}
HEAD = ("case", "kernels", "us fused", "apart", "chosen", "apart/fused", "/chosen", "cold: /fused", "/chosen", "bytes")
FINALISTS = 5
"""Random tilings that are simulated."""
FIGURE_10 = {"cost model": 2.37, "fusion": 1.89, "micro kernel": 1.61}
"""Speed-ups over the baseline."""


@dataclass(frozen=True, slots=True)
class Side:
    """One plan of a chain, on all cores."""

    kernels: int
    warm_s: float
    """Of a call in a loop."""
    cold_s: float
    """Of a call with empty caches."""
    cold_bytes: int
    """Between the L3 and memory in such a call, both ways."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One chain: fused into as few kernels as there is a plan for, every operator apart, and as the price chooses."""

    case: str
    fused: Side
    apart: Side
    chosen: Side

    @property
    def ratios(self) -> tuple[float, ...]:
        """Apart over fused and over chosen: in a loop, with empty caches; bytes of memory, apart over fused."""
        warm, cold = ([getattr(side, name) for side in (self.fused, self.chosen)] for name in ("warm_s", "cold_s"))
        times = [*(self.apart.warm_s / seconds for seconds in warm), *(self.apart.cold_s / seconds for seconds in cold)]
        return (*times, self.apart.cold_bytes / self.fused.cold_bytes)

    def cells(self) -> list[str]:
        """A row of the table."""
        sides = (self.fused, self.apart, self.chosen)
        times = [f"{side.warm_s * 1e6:.1f}" for side in sides]
        return [self.case, "/".join(str(side.kernels) for side in sides), *times, *(f"{ratio:.2f}" for ratio in self.ratios)]


@dataclass(frozen=True, slots=True)
class Ablation:
    """Figure 10 for one chain: seconds of each system; of the baseline with the median tiling of each product."""

    case: str
    seconds: dict[str, float]
    typical_s: float


def planned(name: str, machine: Machine, *, fuse: bool | None) -> ModelPlan:
    """The plan of a case."""
    function, operands = case_named(name)
    return tw.jit(function, target=machine, fuse=fuse).lower(*operands).model_plan


def compared(name: str, machine: Machine, cores: int) -> Comparison:
    """Figure 5 for one chain."""
    fused, apart, chosen = (planned(name, machine, fuse=fuse) for fuse in (True, False, None))
    sides = {id(plan): side(plan, cores) for plan in (fused, apart)}
    same = next((plan for plan in (fused, apart) if plan.plans == chosen.plans), None)
    return Comparison(name, sides[id(fused)], sides[id(apart)], sides[id(same)] if same is not None else side(chosen, cores))


def side(plan: ModelPlan, cores: int) -> Side:
    """A plan, simulated."""
    cold, warm = simulate_calls(plan, cores)
    return Side(len(plan.plans), warm.seconds, cold.seconds, cold.crossed_bytes[-1])


def ablation(name: str, machine: Machine, cores: int, count: int, seed: int = 0) -> Ablation:
    """Figure 10 for one chain."""
    apart, whole = (planned(name, machine, fuse=fuse) for fuse in (False, True))
    portable = {fuse: with_portable_kernels(whole, machine, fuse=fuse) for fuse in (False, True)}
    drawn = random_tilings(portable[False], cores, count, seed)
    seconds = {
        "baseline": best_of(portable[False], drawn, cores),
        "cost model": sum(simulate_cores(portable[False], cores).chains_s),
        "fusion": best_of(portable[True], random_tilings(portable[True], cores, count, seed), cores),
        "micro kernel": best_of(apart, random_tilings(apart, cores, count, seed), cores),
        "all": sum(simulate_cores(planned(name, machine, fuse=None), cores).chains_s),
    }
    middle = tuple(plans[len(plans) // 2] for plans in drawn)
    return Ablation(name, seconds, sum(simulate_cores(replace(portable[False], plans=middle), cores).chains_s))


def with_portable_kernels(plan: ModelPlan, machine: Machine, *, fuse: bool) -> ModelPlan:
    """The same graph with the portable micro kernels only."""
    kernels = tuple(kernel for kernel in registered() if not kernel.features)
    return partition(plan.graph, machine, fuse=fuse, kernels=kernels)


def random_tilings(model: ModelPlan, cores: int, count: int, seed: int) -> list[list[Plan]]:
    """For every chain `count` random tilings of each order of its outer loops, the cheapest on so many cores by price first."""
    drawn = [[one.plan for one in random_plans(choice(plan), count, seed)] for plan in model.plans]
    return [sorted(plans, key=partial(_even_seconds, cores=cores)) for plans in drawn]


def _even_seconds(plan: Plan, cores: int) -> float:
    """Seconds on so many cores, were all blocks equally long."""
    blocks = plan.price.blocks
    return plan.predicted_seconds * ceil(blocks / cores) / blocks


def best_of(model: ModelPlan, tilings: Sequence[Sequence[Plan]], cores: int) -> float:
    """Simulated seconds of all chains, each with the best of its `FINALISTS` cheapest tilings."""
    rounds = zip(*(islice(cycle(plans[:FINALISTS]), FINALISTS) for plans in tilings), strict=True)
    simulated = [simulate_cores(replace(model, plans=plans), cores).chains_s for plans in rounds]
    best_s: list[float] = [min(seconds) for seconds in zip(*simulated, strict=True)]
    return sum(best_s)


def figure_5(names: Iterable[str], machine: Machine, cores: int) -> tuple[list[Comparison], list[str]]:
    """The cases, and a table with the geometric means of each part of the figure."""
    wanted, found, rows = set(names), list[Comparison](), [[*HEAD]]
    for title, kind in KINDS.items():
        part = [compared(name, machine, cores) for name in kind if name in wanted]
        if part:
            means = [geometric_mean(list(ratios)) for ratios in zip(*(one.ratios for one in part), strict=True)]
            rows += [*(one.cells() for one in part), [title, "", "", "", "", *(f"{mean:.2f}" for mean in means)]]
        found += part
    return found, columns(rows, right=range(1, len(HEAD)))


def figure_10(cases: Sequence[Ablation]) -> list[str]:
    """Speed-ups over the baseline, their geometric means, and the paper's."""
    systems = (*FIGURE_10, "all")
    rows = [["case", "baseline us", *systems, "one tiling / cost model"]]
    for one in cases:
        rows.append([one.case, f"{one.seconds['baseline'] * 1e6:.1f}", *(f"{ratio:.2f}" for ratio in _ratios(one))])
    means = [geometric_mean(list(ratios)) for ratios in zip(*map(_ratios, cases), strict=True)]
    rows.append(["geometric mean", "", *(f"{mean:.2f}" for mean in means)])
    rows.append(["Chimera, Figure 10", "", *map(str, FIGURE_10.values()), "", ""])
    return columns(rows, right=range(1, len(rows[0])))


def _ratios(one: Ablation) -> list[float]:
    speedups = [one.seconds["baseline"] / one.seconds[system] for system in (*FIGURE_10, "all")]
    return [*speedups, one.typical_s / one.seconds["cost model"]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate, print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.paper_cores", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", default=",".join(name for kind in KINDS.values() for name in kind), help="of Figure 5")
    parser.add_argument("--ablation", default=",".join(GEMM_CHAINS), help="cases of Figure 10")
    parser.add_argument("--count", type=int, default=100, help="random tilings of every order of outer loops")
    parser.add_argument("--cores", type=int, default=18)
    parser.add_argument("--json", type=Path, help="write every figure to this file")
    options = parser.parse_args(arguments)
    machine = Machine.named(MACHINE)
    fusions, lines = figure_5(filter(None, options.cases.split(",")), machine, options.cores)
    print(f"{MACHINE}, {options.cores} cores, simulated", *(lines if fusions else ()), "", sep="\n", flush=True)
    ablations = [ablation(name, machine, options.cores, options.count) for name in filter(None, options.ablation.split(","))]
    print(*(figure_10(ablations) if ablations else ()), sep="\n")
    if options.json:
        found = {"figure 5": [asdict(one) for one in fusions], "figure 10": [asdict(one) for one in ablations]}
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
