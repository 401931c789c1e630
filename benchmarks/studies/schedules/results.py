"""Results of schedule measurements: files that grow case by case, so that a run can be taken up where another one ended."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.studies.parts.publishing import RESULTS, slug
from tilewright.runtime import calibration
from tilewright.runtime.compilation import toolchain
from tilewright.tune.schedules.cases import CASES, Case
from tilewright_bench.environment import restart_if_unfair
from tilewright_bench.measurement.provenance import provenance

Document = dict[str, Any]
"""What JSON can hold."""


def parsed(what: str, description: str, arguments: list[str], cases: str | None = None) -> argparse.Namespace:
    """The options of a program that measures case after case; `cases` are measured where none are named (default: all)."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{what}", description=description.splitlines()[0])
    parser.add_argument("--cases", default=cases)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--missing", action="store_true")
    return parser.parse_args(arguments)


def case_named(name: str) -> Case:
    """The case whose name, or whose first word of it, this is. `KeyError` if there is none."""
    return {**{case.name.split()[0]: case for case in reversed(CASES)}, **{case.name: case for case in CASES}}[name]


def chosen_cases(names: str | None) -> Sequence[Case]:
    """The cases of a comma-separated list, all of them for None."""
    return CASES if names is None else tuple(case_named(name.strip()) for name in names.split(","))


def default_path(what: str) -> Path:
    """`<date>-<what>-<machine>.json` among the results."""
    return RESULTS / f"{datetime.date.today().isoformat()}-{what}-{slug(calibration.ensure().name)}.json"


def load(path: Path) -> Document:
    """What a file has; an empty document with this machine's rates if there is none."""
    if path.exists():
        content: Document = json.loads(path.read_text())
        return content
    machine = calibration.ensure()
    levels = {level.name: level.bandwidth_bytes_per_s for level in machine.levels}
    rates = {"name": machine.name, "peak_flops_per_s": machine.peak("float32"), "hz": machine.frequency_hz, "levels": levels}
    return {"head": provenance(machine, toolchain.find(), (), 1).lines(), "machine": rates, "cases": []}


def save(path: Path, found: Document) -> Document:
    """Put one case into a file, in the place of what it had of it; the whole document."""
    content = load(path)
    content["cases"] = [*(case for case in content["cases"] if case["case"] != found["case"]), found]
    path.write_text(json.dumps(content) + "\n")
    return content


def has(path: Path, case: str) -> bool:
    """Whether a file has that case."""
    return path.exists() and any(found["case"] == case for found in load(path)["cases"])


def study(
    what: str,
    description: str,
    arguments: list[str],
    measure: Callable[[Case, int, int], Document],
    heading: str,
    lines: Callable[[Document], Sequence[str]],
    cases: str | None = None,
) -> None:
    """A program that measures case after case, saves after each, prints its lines, and writes them beside the file.

    `what` is its module below `benchmarks`; `measure` is given a case, the count and the seed.
    """
    options = parsed(what, description, arguments, cases)
    restart_if_unfair(1)
    path = options.out or default_path(what.rpartition(".")[2].replace("_", "-"))
    for case in chosen_cases(options.cases):
        if options.missing and has(path, case.name):
            continue
        start = time.perf_counter()
        found = {**measure(case, options.count, options.seed), "wall_s": time.perf_counter() - start}
        save(path, found)
        print(f"{case.name}: {found['wall_s']:.1f} s", file=sys.stderr, flush=True)
    content = load(path)
    text = "\n".join([*content["head"], *lines(content)])
    path.with_suffix(".md").write_text(f"# {heading}\n\n```text\n{text}\n```\n")
    print(text)


def errors(content: Document, source: str | None = None, *, beside: bool = False) -> list[float]:
    """|predicted - measured| / measured of every plan that is timed and that the model does not refuse.

    With `beside`, predictions are scaled from the calibrated peak to the one measured beside the plans.
    """
    found = []
    for case in content["cases"]:
        factor = content["machine"]["peak_flops_per_s"] / case["peak_flops_per_s"] if beside else 1.0
        for plan in case["plans"]:
            if plan["measured_s"] and plan["predicted_s"] and source in (None, plan["source"]):
                found.append(abs(factor * plan["predicted_s"] / plan["measured_s"] - 1))
    return found


def median_or_nan(values: list[float]) -> float:
    """The median, NaN of nothing."""
    return median(values) if values else float("nan")
