"""A benchmark of `tilewright bench`, run as a script that keeps its report as a result of this repository."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks.studies.parts.bounds import explained
from tilewright_bench.tables.report import Report

RESULTS = Path(__file__).parents[2] / "results"


def measure_and_publish(
    what: str, title: str, command: click.Command, measured: Callable[..., Report], arguments: Sequence[str]
) -> None:
    """Measure as `python -m benchmarks.studies.<what>` does: with the command's options, by default in three processes."""
    directory = click.Option(["--results"], type=click.Path(path_type=Path), default=RESULTS, help="Where they are written.")
    own = click.Command(command.name, params=[*command.params, directory], help=command.help)
    options = options_of(own, f"python -m benchmarks.studies.{what}", ["--processes", "3", *arguments])
    results = options.pop("results")
    publish(what, title, measured(**options), results)


def options_of(command: click.Command, prog: str, arguments: Sequence[str]) -> dict[str, Any]:
    """The options of a command of `tilewright bench` but `--json`. Help and wrong usage are printed and end the process."""
    try:
        options = command.make_context(prog, list(arguments)).params
    except click.ClickException as problem:
        problem.show()
        raise SystemExit(problem.exit_code) from None
    except click.exceptions.Exit as done:
        raise SystemExit(done.exit_code) from None
    return {name: value for name, value in options.items() if name != "json_file"}


def publish(what: str, title: str, report: Report, directory: Path) -> None:
    """Write `<date>-<what>-<machine>.md` and `.json`, and print the tables."""
    threads = report.provenance.threads
    named = what if threads == 1 else f"{what}-{threads}-threads"
    stem = f"{datetime.date.today().isoformat()}-{named}-{slug(report.provenance.machine)}"
    (directory / f"{stem}.md").write_text(markdown(title, report))
    (directory / f"{stem}.json").write_text(json.dumps(report.as_document(), indent=2) + "\n")
    print(report.as_text())


def markdown(title: str, report: Report) -> str:
    """The tables, and behind them the cases under their bounds, each with the place where it is explained."""
    lines = [f"# {title}", "", "```text", report.as_text(), "```", *explained(report)]
    return "\n".join(lines) + "\n"


def slug(machine: str) -> str:
    """A machine's name as part of a file name.

    >>> slug("Intel(R) Xeon(R) Gold 6240 (x86-64-v4)")
    'intel-r-xeon-r-gold-6240-x86-64-v4'
    """
    return re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")
