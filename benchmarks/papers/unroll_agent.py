"""What an agent finds that unrolls loops, beside random search, hill climbing and exhaustive search: PolyDL, section 5.1.

    python -m benchmarks.papers.unroll_agent [--sizes 16,32,64,128] [--seeds 10] [--out FILE.json]

Square products on one core, one table of speeds for each size: every legal choice of factors is compiled, checked and timed once,
and all searches ask that table. So a search is judged by what it asks for, not by noise between its measurements.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean

from benchmarks.papers.unrolled_product import GeneratedProduct
from benchmarks.studies.schedules.results import default_path
from tilewright.kernels import registry
from tilewright.kernels.f32.unrolled import is_outer_product
from tilewright.machine.machine import Machine
from tilewright.report.layout import columns
from tilewright.runtime import calibration
from tilewright.runtime.compilation import toolchain
from tilewright.tune.unroll.agent import ACTIONS, Agent, Move, UnrollEnvironment, agent_search
from tilewright.tune.unroll.searches import Factors, Registers, Searcher, Trace, at_random, hill_climbing
from tilewright_bench.environment import restart_if_unfair
from tilewright_bench.measurement.provenance import provenance

BUDGETS = (10, 20, 40)
LEARNED_UPDATES, LEARNED_EXPLORATION = 1200, 0.15
"""With moves on other tables: batches before the first move, and how much the agent explores then."""
SEARCHES: dict[str, Searcher] = {"agent": agent_search, "random": at_random, "hill climbing": hill_climbing}


def moves_on(speeds: Mapping[Factors, float], registers: Registers) -> list[Move]:
    """Every move that is possible where all speeds are known: of another size, for `agent_search` to learn from."""
    environment = UnrollEnvironment(speeds.__getitem__, registers)
    found = []
    for factors in speeds:
        for action in range(ACTIONS):
            observation, _ = environment.reset(options={"factors": factors})
            following, reward, stopped, _, _ = environment.step(action)
            found.append((observation, action, reward, following, stopped))
    return found


def learned_agent(moves: Sequence[Move], seed: int) -> Agent:
    """An agent that has learned from moves that were made elsewhere, and explores little."""
    agent = Agent(seed)
    agent.memory.extend(moves)
    agent.exploration = LEARNED_EXPLORATION
    for _ in range(LEARNED_UPDATES):
        agent.fit()
    return agent


def speeds(size: int, registers: Registers) -> dict[Factors, float]:
    """Flops per second by factors: of all that registers hold."""
    product = GeneratedProduct(size, size, size, calibration.ensure())
    return {factors: product.speed(factors) for factors in registers.all_factors()}


def shares(table: dict[Factors, float], registers: Registers, search: Searcher, seeds: int) -> list[float]:
    """The mean share of the best speed that a search has found after each budget."""
    best = max(table.values())
    found = []
    for seed in range(seeds):
        trace = Trace(table.__getitem__, max(BUDGETS))
        search(trace, registers, seed)
        found.append([table[trace.best(budget)] / best for budget in BUDGETS])
    return [fmean(of_budget) for of_budget in zip(*found, strict=True)]


def searches_of(size: int, tables: dict[int, dict[Factors, float]], registers: Registers, start: Factors) -> dict[str, Searcher]:
    """Searches by name: those of `SEARCHES`, the agent when it knows other sizes, and hill climbing from the planner's kernel."""
    others = [move for other, table in tables.items() if other != size for move in moves_on(table, registers)]

    def from_kernel(trace: Trace, registers: Registers, seed: int) -> None:
        trace.start = start
        hill_climbing(trace, registers, seed)

    learned = {"agent, other sizes first": partial(agent_search, new_agent=partial(learned_agent, others))} if others else {}
    return {**SEARCHES, **learned, "hill, planner's kernel first": from_kernel}


def kernel_factors(machine: Machine, registers: Registers) -> Factors:
    """The factors of the planner's first micro kernel."""
    kernel = next(one for one in registry.for_machine(machine) if is_outer_product(one))
    own = Factors(kernel.rows, kernel.columns, kernel.depth)
    return own if registers.holds(own) else registers.first


def rows(sizes: Sequence[int], seeds: int, most_registers: int) -> list[list[str]]:
    """One row for each size and search; factors are those that so many registers hold, if there are as many."""
    machine, tables = calibration.ensure(), dict[int, dict[Factors, float]]()
    every = GeneratedProduct(1, 1, 1, machine).registers
    registers = replace(every, count=min(every.count, most_registers))
    for size in sizes:
        tables[size] = speeds(size, registers)
        print(f"{size}: {len(tables[size])} products measured", file=sys.stderr, flush=True)
    start, found = kernel_factors(machine, registers), []
    for size, table in tables.items():
        best = max(table, key=table.__getitem__)
        for name, search in searches_of(size, tables, registers, start).items():
            of_search = [f"{share:.3f}" for share in shares(table, registers, search, seeds)]
            peak = f"{100 * table[best] / machine.peak('float32'):.0f}%"
            found.append([str(size), name, *of_search, "x".join(map(str, best)), f"{table[best] / 1e9:.1f}", peak])
    return found


def main(arguments: list[str]) -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.papers.unroll_agent", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))), default=(16, 32, 64, 128))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--registers", type=int, default=sys.maxsize, help="at most so many hold the products")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    restart_if_unfair(1)
    head = ["M = N = K", "search", *(f"after {budget}" for budget in BUDGETS), "best factors", "GFLOP/s", "of peak"]
    table = [head, *rows(options.sizes, options.seeds, options.registers)]
    lines = [*provenance(calibration.ensure(), toolchain.find(), (), 1).lines(), "", *columns(table, right=range(2, len(head)))]
    path = options.out or default_path("unroll-agent")
    path.write_text(json.dumps({"rows": table}) + "\n")
    text = "\n".join([*lines, "", f"share of the best speed of all legal factors, mean of {options.seeds} seeds"])
    path.with_suffix(".md").write_text(f"# Unrolling by an agent\n\n```text\n{text}\n```\n")
    print(text)


if __name__ == "__main__":
    main(sys.argv[1:])
