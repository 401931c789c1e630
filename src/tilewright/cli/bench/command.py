"""`tilewright bench`: how fast the kernels are, beside the libraries that are installed, in one run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.cli.bench.environment import restart_if_unfair
from tilewright.cli.parameters import choice, writable_file
from tilewright.cli.shapes import TABLE_IV
from tilewright.errors import TilewrightError

if TYPE_CHECKING:
    from tilewright.cli.bench.table import Report

CASE_NAMES = tuple(shape.name for shape in TABLE_IV)
PEER_NAMES = ("numpy", "torch", "onnxruntime", "openvino")


def _names(known: tuple[str, ...]) -> Callable[[click.Context, click.Parameter, str | None], tuple[str, ...] | None]:
    """A comma-separated list of known names."""

    def parse(context: click.Context, parameter: click.Parameter, text: str | None) -> tuple[str, ...] | None:
        if text is None:
            return None
        return tuple(choice(part.strip(), known) for part in text.split(",") if part.strip())

    return parse


@click.group()
def bench() -> None:
    """Measure kernels beside the libraries that are installed."""


@bench.command()
@click.option("--cases", callback=_names(CASE_NAMES), metavar="G1,G2,...", help="Which chains; all of Table IV by default.")
@click.option("--softmax", "kind", flag_value="softmax", help="Only with a softmax between the two products.")
@click.option("--plain", "kind", flag_value="plain", help="Only without one.")
@click.option("--both", "kind", flag_value="both", default="both", help="With and without (the default).")
@click.option(
    "--peers", callback=_names(PEER_NAMES), metavar="NAMES", help=f"Of {', '.join(PEER_NAMES)}; by default those installed."
)
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="For everyone alike.")
@click.option(
    "--repeats", type=click.IntRange(1), default=11, show_default=True, help="Rounds of turns; figures are medians over them."
)
@click.option(
    "--json",
    "json_file",
    metavar="FILE",
    callback=writable_file,
    help="Write everything as JSON; - prints that instead of the table.",
)
def chains(
    cases: tuple[str, ...] | None, kind: str, peers: tuple[str, ...] | None, threads: int, repeats: int, json_file: str | None
) -> None:
    """Batch GEMM chains of Chimera's Table IV, plain and with softmax: ms per call, share of the peak, ratio to the best peer."""
    report = measured(cases, kind, peers, threads, repeats)
    if json_file != "-":
        click.echo(report.as_text())
    if json_file is not None:
        _write(json_file, report.as_document())
    if report.wrong():
        raise TilewrightError(f"tilewright's result is wrong for {', '.join(report.wrong())}", where="bench chains")


def measured(cases: tuple[str, ...] | None, kind: str, peers: tuple[str, ...] | None, threads: int, repeats: int) -> Report:
    """Run the benchmark in a fair environment, restarting the process for that if need be, with progress on stderr."""
    restart_if_unfair(threads)
    from tilewright.cli.bench.chains import Options, run
    from tilewright.cli.bench.progress import Progress

    options = Options(cases or CASE_NAMES, kind, peers, threads, repeats)
    with Progress(options) as progress:
        return run(options, progress.update)


def _write(json_file: str, document: dict[str, Any]) -> None:
    text = json.dumps(document, indent=2)
    if json_file == "-":
        click.echo(text)
        return
    try:
        Path(json_file).write_text(text + "\n")
    except OSError as problem:
        raise TilewrightError(f"{json_file} cannot be written", where="--json", why=str(problem)) from problem
