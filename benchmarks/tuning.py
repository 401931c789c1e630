"""What tuning by measurement gains over the planner's choice, and what rankers and searches find of it: PolyDL and Chimera, VI-E.

    python -m benchmarks.tuning measure [--problems G7,C8] [--first 500] [--others 100] [--full 2000]
    python -m benchmarks.tuning features [--sixteen] [--count 150]    # working sets of the first variants, for rankers that learn
    python -m benchmarks.tuning judge                                 # every method on every table
    python -m benchmarks.tuning finals [--problems G7,C8]             # what methods found, in pairs with the planner's choice
    python -m benchmarks.tuning headlines [--problems 64x64x64] [--threads 2]    # products beside naive loops and peers
    python -m benchmarks.tuning gains [--problems G7,C8]              # `tilewright tune` itself, with a hundred trials
    python -m benchmarks.tuning report                                # tables, printed, and put among the results
    python -m benchmarks.tuning all                                   # all of it, in this order: about ten hours

`measure` fills tables of variants, the sixteen problems of `studies.tuned.problems.EXHAUSTIVE` first, in three passes. It
can be stopped at any time and goes on where it was, as can `finals`, `headlines` and `gains`. All methods ask the same
tables, so that a method is judged by what it asks for, and not by noise between its measurements. All commands take
`--directory`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.studies.schedules.results import default_path
from benchmarks.studies.tuned import tables
from benchmarks.studies.tuned.features import compute
from benchmarks.studies.tuned.finals import Series
from benchmarks.studies.tuned.measuring import measure
from benchmarks.studies.tuned.problems import Problem, problem_named, problems
from benchmarks.studies.tuned.records import File
from tilewright import settings
from tilewright.runtime import calibration
from tilewright.runtime.compilation import toolchain
from tilewright.tune.schedules.cases import NoSchedules
from tilewright_bench.environment import restart_if_unfair
from tilewright_bench.measurement.provenance import provenance

FULL = 2000
"""Variants of a whole table."""
ATTEMPTS = 3
"""At a problem whose process ends with an error."""
PARALLEL = 2
"""Threads of the parallel headlines."""


def passes(first: int, others: int, full: int) -> Iterator[tuple[Problem, int]]:
    """What to measure, in the order of importance: the sixteen in part, all others, the sixteen as a whole."""
    every = problems()
    sixteen = [one for one in every if one.is_exhaustive]
    rest = sorted((one for one in every if not one.is_exhaustive), key=lambda one: one.flops)
    yield from ((one, first) for one in sixteen)
    yield from ((one, others) for one in rest)
    yield from ((one, full) for one in sixteen)


def run_passes(options: argparse.Namespace) -> None:
    """Every problem in a process of its own: its arrays and libraries go with it."""
    chosen = None if options.problems is None else set(options.problems.split(","))
    for problem, count in passes(options.first, options.others, options.full):
        is_chosen = chosen is None or problem.name in chosen
        if is_chosen and len(File(options.directory, problem.name).records()) < count:
            words = ["one", problem.name, str(count), "--directory", str(options.directory)]
            for _ in range(ATTEMPTS):
                if not subprocess.run([sys.executable, "-m", "benchmarks.tuning", *words], check=False).returncode:
                    break


def run_one(options: argparse.Namespace) -> None:
    """One pass of one problem."""
    problem = problem_named(options.problem)
    try:
        measured = measure(problem, options.count, File(options.directory, problem.name))
    except NoSchedules as why:
        print(f"{problem.name}: {why}", flush=True)
    else:
        print(f"{problem.name}: {measured} variants", flush=True)


def run_features(options: argparse.Namespace) -> None:
    """Working sets of all problems, as far as their tables go."""
    for problem in problems():
        if problem.is_exhaustive != options.sixteen:
            continue
        count = options.count
        try:
            compute(problem, count, options.directory / f"{problem.name}.features.jsonl")
        except NoSchedules as why:
            print(f"{problem.name}: {why}", flush=True)


def run_judge(options: argparse.Namespace) -> None:
    """All methods, into one file."""
    from benchmarks.studies.tuned.judging import files, judge_all

    found = judge_all(files(options.directory, [one.name for one in problems()]))
    _write(options.directory / "judged.json", found)


def run_finals(options: argparse.Namespace) -> None:
    """Those that have no pairs yet, the smallest first, each problem in a process of its own."""
    judged = _read(options.directory / "judged.json")
    for problem in sorted(_chosen(options.problems), key=lambda one: one.flops):
        if problem.name in judged and File(options.directory, problem.name).read("finals") is None:
            words = ["final", problem.name, "--directory", str(options.directory)]
            subprocess.run([sys.executable, "-m", "benchmarks.tuning", *words], check=False)


def run_final(options: argparse.Namespace) -> None:
    """One problem."""
    from benchmarks.studies.tuned import finals
    from benchmarks.studies.tuned.judging import digests

    problem, judged = problem_named(options.problem), _read(options.directory / "judged.json")[options.problem]
    count = max(count for one, count in passes(0, judged["table"], FULL) if one.name == problem.name)
    series = finals.measure(problem, digests(judged), count)
    File(options.directory, problem.name).write("finals", asdict(series))
    print(f"{problem.name}: choice/best {1 / series.best()[1]:.3f}", flush=True)


def run_headlines(options: argparse.Namespace) -> None:
    """Products that have none yet, each in a process of its own."""
    for problem in sorted(_chosen(options.problems), key=lambda one: one.flops):
        if problem.gemm is not None and File(options.directory, problem.name).read(_headlines(options.threads)) is None:
            words = ["headline", problem.name, "--threads", str(options.threads), "--directory", str(options.directory)]
            subprocess.run([sys.executable, "-m", "benchmarks.tuning", *words], check=False)


def run_headline(options: argparse.Namespace) -> None:
    """One product."""
    from benchmarks.studies.tuned import headlines

    problem = problem_named(options.problem)
    assert problem.gemm is not None
    found = headlines.measure(problem.gemm, options.threads)
    File(options.directory, problem.name).write(_headlines(options.threads), found)
    print(problem.name, flush=True)


def run_gains(options: argparse.Namespace) -> None:
    """Problems that have none yet, the smallest first, each in a process of its own. Tuned plans stay in the directory."""
    for problem in sorted(_chosen(options.problems), key=lambda one: one.flops):
        if File(options.directory, problem.name).read("gains") is None:
            words = ["gain", problem.name, "--directory", str(options.directory)]
            subprocess.run(
                [sys.executable, "-m", "benchmarks.tuning", *words],
                check=False,
                env={**os.environ, "TILEWRIGHT_CACHE_DIR": str(options.directory / "cache")},
            )


def run_gain(options: argparse.Namespace) -> None:
    """One problem."""
    from benchmarks.studies.tuned import gains

    found = gains.measure(problem_named(options.problem))
    File(options.directory, options.problem).write("gains", found)
    print(f"{options.problem}: kept {found['kept']} of {found['chains']}, calls {found['calls']:.3f}", flush=True)


def _headlines(threads: int) -> str:
    """What products on so many threads are written under."""
    return "headlines" if threads == 1 else f"headlines-{threads}"


def run_report(options: argparse.Namespace) -> None:
    """Print the tables, and write them among the results."""
    rows, products = list(_rows(options.directory)), dict(_products(options.directory))
    parallel = dict(_products(options.directory, PARALLEL))
    tuned = dict(_found(options.directory, "gains"))
    lines = [*provenance(calibration.ensure(), toolchain.find(), (), 1).lines(), "", *_report(rows, products, parallel)]
    if tuned:
        from benchmarks.studies.tuned import gains

        lines += ["", f"what `tilewright tune --trials {gains.TRIALS}` gains", "", *gains.table(tuned)]
    path = default_path("tuning")
    document = {"problems": [_document(row) for row in rows], "products": products, "parallel": parallel, "gains": tuned}
    _write(path, document)
    path.with_suffix(".md").write_text("\n".join(["# What tuning gains", "", "```text", *lines, "```", ""]))
    print("\n".join(lines))


def run_all(options: argparse.Namespace) -> None:
    """Every command, in a process of its own, with what it has by default."""
    commands = ["measure", "features", "features --sixteen --count 1000", "judge", "finals", "headlines", "headlines --threads 2"]
    for command in (*commands, "gains", "report"):
        words = [*command.split(), "--directory", str(options.directory)]
        subprocess.run([sys.executable, "-m", "benchmarks.tuning", *words], check=True)


def _report(
    rows: list[tables.Row], products: dict[str, dict[str, float]], parallel: dict[str, dict[str, float]]
) -> Iterator[str]:
    yield "choice/best: in pairs that did not elect the best; methods: the share of the best speed of the table"
    yield from ("", *tables.fractions(rows), "", *tables.bound(rows), "")
    yield from ("processor seconds, of planning and compiling the choice, and of each method", "", *tables.costs(rows), "")
    yield from ("Spearman's correlation of orders and times", "", *tables.correlations(rows), "")
    yield from ("products beside naive loops (-O3) and peers, one thread", "", *tables.headlines(products), "")
    yield from (f"the same on {PARALLEL} threads, peak of one core", "", *tables.headlines(parallel), "")
    yield from ("the papers' headlines", "", *tables.papers(rows, products, parallel))


def _rows(directory: Path) -> Iterator[tables.Row]:
    """Of problems that have finals."""
    judged = _read(directory / "judged.json")
    for problem in problems():
        file = File(directory, problem.name)
        header, pairs = file.header(), file.read("finals")
        if header is not None and isinstance(pairs, dict) and problem.name in judged:
            series = Series(**pairs)
            yield tables.Row(problem.name, problem.flops, problem.is_exhaustive, header, judged[problem.name], series)


def _products(directory: Path, threads: int = 1) -> Iterator[tuple[str, dict[str, float]]]:
    return _found(directory, _headlines(threads))


def _found(directory: Path, what: str) -> Iterator[tuple[str, dict[str, float]]]:
    for problem in problems():
        found = File(directory, problem.name).read(what)
        if isinstance(found, dict):
            yield problem.name, found


def _document(row: tables.Row) -> dict[str, Any]:
    return {**asdict(row), "regret": row.regret}


def _chosen(names: str | None) -> list[Problem]:
    return problems() if names is None else [problem_named(name) for name in names.split(",")]


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content) + "\n")


def parsed(arguments: list[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)
    runs = {
        "measure": run_passes,
        "one": run_one,
        "features": run_features,
        "judge": run_judge,
        "finals": run_finals,
        "final": run_final,
        "headlines": run_headlines,
        "headline": run_headline,
        "gains": run_gains,
        "gain": run_gain,
        "report": run_report,
        "all": run_all,
    }
    found = {name: commands.add_parser(name) for name in runs}
    for name, command in found.items():
        command.set_defaults(run=runs[name])
        command.add_argument("--directory", type=Path, default=settings.current().cache_dir / "tuning-study")
    for name in ("measure", "finals", "headlines", "gains"):
        found[name].add_argument("--problems")
    for name in ("one", "final", "headline", "gain"):
        found[name].add_argument("problem")
    for name in ("headlines", "headline"):
        found[name].add_argument("--threads", type=int, choices=(1, PARALLEL), default=1)
    found["one"].add_argument("count", type=int)
    found["features"].add_argument("--count", type=int, default=150)
    found["features"].add_argument("--sixteen", action="store_true")
    for name, count in (("--first", 500), ("--others", 100), ("--full", FULL)):
        found["measure"].add_argument(name, type=int, default=count)
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    """Measure or report."""
    options = parsed(arguments)
    restart_if_unfair(getattr(options, "threads", 1))
    options.run(options)


if __name__ == "__main__":
    main(sys.argv[1:])
