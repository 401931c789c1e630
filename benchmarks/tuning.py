"""What tuning by measurement gains over the planner's choice, and what rankers and searches find of it: PolyDL and Chimera, VI-E.

    python -m benchmarks.tuning measure [--problems G7,C8] [--first 500] [--others 100] [--full 2000] [--directory DIRECTORY]
    python -m benchmarks.tuning finish [--directory DIRECTORY]     # pairs, rankers, searches; then the report among the results

`measure` fills tables of variants, the sixteen problems of `studies.tuned.problems.EXHAUSTIVE` first, in three passes. It can be
stopped at any time and goes on where it was. All methods then ask the same tables, so that a method is judged by what it asks for,
and not by noise between its measurements.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.studies.tuned.measuring import measure
from benchmarks.studies.tuned.problems import MOST_FLOPS, Problem, problem_named, problems
from benchmarks.studies.tuned.records import File
from tilewright import settings
from tilewright_bench.environment import restart_if_unfair

LARGE_COUNT = 40
"""Variants of problems above `MOST_FLOPS`: a call of theirs takes up to two seconds."""


def passes(first: int, others: int, full: int) -> Iterator[tuple[Problem, int]]:
    """What to measure, in the order of importance: the sixteen in part, all others, the sixteen as a whole."""
    every = problems()
    sixteen = [one for one in every if one.is_exhaustive]
    rest = sorted((one for one in every if not one.is_exhaustive), key=lambda one: one.flops)
    yield from ((one, first) for one in sixteen)
    yield from ((one, others if one.flops <= MOST_FLOPS else min(others, LARGE_COUNT)) for one in rest)
    yield from ((one, full) for one in sixteen)


def run_passes(options: argparse.Namespace) -> None:
    """Every problem in a process of its own: its arrays and libraries go with it."""
    chosen = None if options.problems is None else set(options.problems.split(","))
    for problem, count in passes(options.first, options.others, options.full):
        if chosen is None or problem.name in chosen:
            words = ["one", problem.name, str(count), "--directory", str(options.directory)]
            subprocess.run([sys.executable, "-m", "benchmarks.tuning", *words], check=False)


def run_one(options: argparse.Namespace) -> None:
    """One pass of one problem."""
    problem = problem_named(options.problem)
    try:
        measured = measure(problem, options.count, File(options.directory, problem.name))
    except AssertionError as why:
        print(f"{problem.name}: {why}", flush=True)
    else:
        print(f"{problem.name}: {measured} variants", flush=True)


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)
    every = commands.add_parser("measure")
    every.add_argument("--problems")
    every.add_argument("--first", type=int, default=500)
    every.add_argument("--others", type=int, default=100)
    every.add_argument("--full", type=int, default=2000)
    every.set_defaults(run=run_passes)
    one = commands.add_parser("one")
    one.add_argument("problem")
    one.add_argument("count", type=int)
    one.set_defaults(run=run_one)
    for command in (every, one):
        command.add_argument("--directory", type=Path, default=settings.current().cache_dir / "tuning-study")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    """Measure or report."""
    restart_if_unfair(1)
    options = parsed(arguments)
    options.run(options)


if __name__ == "__main__":
    main(sys.argv[1:])
