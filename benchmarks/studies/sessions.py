"""How long a session takes to make, cold and warm, how long planning takes, and the memory of a process that runs a model once.

    python -m benchmarks.studies.sessions [--models bert_128,resnet50,vit] [--directory DIR] [--processes N]

Every figure is a median over fresh processes. *Cold* knows the machine's calibration and the compiler, and no library apart from
the runtime's own; *warm* has every library in the cache. Both read the file and pack the weights: beside them stand the seconds
of loading the file, and of a copy of its size. *Import* and *planning* are process time. *Peak* is the high-water mark of
resident memory of a process that makes a session of one thread and runs it once, imports included. Linux only.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.studies.models import exported
from benchmarks.studies.parts.publishing import RESULTS, slug
from benchmarks.studies.parts.session import Figures, creation, own_memory, peer_memory, planning, reading
from benchmarks.studies.start_up import emptied
from tilewright.machine import Machine
from tilewright.report.layout import columns
from tilewright_bench.cases.model import ModelCase
from tilewright_bench.measurement.provenance import commit

Part = Callable[[Path, Path], Figures]
LIMITS_S = {"cold": 8.0, "planning": 2.0}
WARM_S = 0.3
"""Beside reading the file and packing."""
MORE_MEMORY = 1.1
"""Of onnxruntime's peak."""


def fresh(part: Part, case: ModelCase, cache: Path) -> Figures:
    """What a part answers in a process of its own, with that cache directory."""
    feeds = cache / f"{case.name}.npz"
    if not feeds.exists():
        arrays: dict[str, Any] = case.feeds
        np.savez(feeds, **arrays)
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "benchmarks.studies.parts.session", part.__name__, str(case.path), str(feeds)]
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    figures: Figures = json.loads(answer.stdout)
    return figures


def measured(case: ModelCase, cache: Path, processes: int) -> Figures:
    """All figures of a model: seconds and bytes. The cache is calibrated already."""

    def medians(part: Part, prepare: Callable[[Path], None] = lambda cache: None) -> Figures:
        samples = []
        for _ in range(processes):
            prepare(cache)
            samples.append(fresh(part, case, cache))
        return {name: median(sample[name] for sample in samples) for name in samples[0]}

    return {
        "peak, cold": medians(own_memory, emptied)["peak"],
        "peak, warm": medians(own_memory)["peak"],
        "peak, onnxruntime": medians(peer_memory)["peak"],
        "cold": medians(creation, emptied)["creation"],
        "warm": medians(creation)["creation"],
        **medians(reading),
        **medians(planning),
    }


def lines(found: dict[str, Figures]) -> list[str]:
    """A table for people, with what is under its limit and what is not."""
    names = list(next(iter(found.values())))
    rows = [["model", *names, "over the limit"]]
    for model, figures in found.items():
        cells = [f"{v / 2**20:.0f} MiB" if name.startswith("peak") else f"{v:.2f} s" for name, v in figures.items()]
        rows.append([model, *cells, ", ".join(missed(figures)) or "-"])
    return columns(rows, right=range(1, len(names) + 1))


def missed(figures: Figures) -> list[str]:
    """The figures over their limits.

    >>> missed({"cold": 9.0, "planning": 1.0, "warm": 0.5, "reading": 0.1, "a copy": 0.1, "peak, cold": 110.0,
    ...         "peak, warm": 120.0, "peak, onnxruntime": 100.0})
    ['cold', 'peak, warm']
    """
    found = [name for name, limit_s in LIMITS_S.items() if figures[name] > limit_s]
    found += ["warm"] if figures["warm"] > WARM_S + figures["reading"] + figures["a copy"] else []
    most_bytes = MORE_MEMORY * figures["peak, onnxruntime"]
    return found + [name for name in ("peak, cold", "peak, warm") if figures[name] > most_bytes]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.sessions", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", default="bert_128,resnet50,vit")
    parser.add_argument("--directory", type=Path, help="where the models are, or are put")
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS, help="where these are written")
    parser.add_argument("--small", action="store_true", help="small models, for tests")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    """Measure in fresh processes, print a table, and write the results."""
    options = parse(arguments)
    cache = Path(tempfile.mkdtemp(prefix="tilewright-sessions-"))
    try:
        cases = exported(options.models.split(","), options.directory or cache / "models", small=options.small)
        fresh(creation, cases[0], cache)  # calibrates, finds the compiler, and writes Python's bytecode
        found = {case.name: measured(case, cache, options.processes) for case in cases}
    finally:
        shutil.rmtree(cache)
    publish(found, options.processes, options.results)


def publish(found: dict[str, Figures], processes: int, directory: Path) -> None:
    """Write `<date>-sessions-<machine>.md` and `.json`, and print the table."""
    machine, head = Machine.detect(), commit(Path(__file__).parent)
    text = [f"{machine.name}, {machine.cores} cores; medians over {processes} fresh processes; commit {head}", "", *lines(found)]
    stem = f"{datetime.date.today().isoformat()}-sessions-{slug(machine.name)}"
    (directory / f"{stem}.md").write_text("\n".join(["# Sessions", "", "```text", *text, "```"]) + "\n")
    (directory / f"{stem}.json").write_text(
        json.dumps({"machine": machine.name, "commit": head, "models": found}, indent=2) + "\n"
    )
    print("\n".join(text))


if __name__ == "__main__":
    main(sys.argv[1:])
