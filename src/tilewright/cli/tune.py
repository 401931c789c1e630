"""`tilewright tune`: plans that are measured, and coefficients of the price that are fitted, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tilewright.cli import parameters
from tilewright.cli.parameters import Spec
from tilewright.tune.pipeline.names import AGENTS, DEFAULT_AGENT, LEARNING, PRICE, RANKED, RANKERS, SEARCHES


@click.command()
@click.argument("subject", metavar="[WHAT]", required=False)
@click.option("--arg", "arguments", multiple=True, metavar="SHAPE", callback=parameters.specs, help="As of `tilewright explain`.")
@parameters.shapes
@click.option(
    "--trials",
    type=click.IntRange(1, 100_000),
    default=100,
    show_default=True,
    help="Plans to measure: of each chain of a function, of all chains of a model.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the schedules that are drawn.")
@click.option(
    "--ranker", type=click.Choice(RANKERS), default=PRICE, show_default=True, help="Who orders the plans that are drawn."
)
@click.option(
    "--ranker-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Read a ranker that learned from this file, or save it there if there is none.",
)
@click.option("--search", type=click.Choice(SEARCHES), default=RANKED, show_default=True, help="How plans are chosen.")
@click.option(
    "--unroll",
    type=click.Choice(AGENTS),
    default=DEFAULT_AGENT,
    show_default=True,
    help="Who unrolls the best tenth.",
)
@click.option(
    "--scheduler",
    metavar="tcp://HOST:PORT",
    help="Measure on the workers of this Dask scheduler, on every kind of machine there.",
)
@click.option("--forget", is_flag=True, help="Go back to the planner's choice for WHAT; measurements stay.")
@click.option(
    "--export", "exported", type=click.Path(path_type=Path, dir_okay=False), help="Write all measurements as JSON lines."
)
@click.option("--import", "imported", type=click.Path(path_type=Path, dir_okay=False, exists=True), help="Read such a file.")
@click.option("--foreign", is_flag=True, help="With --import: take measurements of other machines, too; they are kept separate.")
@click.option("--fit", is_flag=True, help="Fit the coefficients of the price to kernels that are measured here.")
@click.option(
    "--minutes",
    type=click.FloatRange(0, 60, min_open=True),
    default=9.0,
    show_default=True,
    help="With --fit: how long to measure.",
)
@click.option("--dry-run", is_flag=True, help="With --fit: measure and print; keep nothing.")
@click.option("--ship", is_flag=True, help="With --fit: write the fit into the package, for all CPUs of this model.")
def tune(
    subject: str | None,
    arguments: tuple[Spec, ...],
    shapes: dict[str, tuple[int, ...]],
    scheduler: str | None,
    forget: bool,
    exported: Path | None,
    imported: Path | None,
    foreign: bool,
    fit: bool,
    minutes: float,
    dry_run: bool,
    ship: bool,
    **request: Any,
) -> None:
    """Measure plans of WHAT (MODEL.onnx, or as of `tilewright explain`) on this machine; use the best from now on if it wins a
    re-measurement against the planner's choice. Or fit the price to this machine (--fit). Run it while nothing else runs.

    Measurements are kept in the cache directory, batch by batch: an interrupted run goes on where it was.
    """
    _check_partners(click.get_current_context())
    if not (fit or imported or exported or subject):
        raise click.UsageError("say what to tune: WHAT, or --fit, the coefficients of the price")
    from tilewright.cli import tuning

    if fit:
        tuning.fit(minutes, dry_run, ship)
    elif imported is not None:
        tuning.take_in(imported, foreign=foreign)
    elif exported is not None:
        tuning.export(exported)
    elif subject is not None:
        tuning.tune(subject, arguments, shapes, request, forget, scheduler)


MEASURED = ("trials", "seed", "ranker", "ranker_file", "search", "unroll", "scheduler")
"""Options that mean nothing where nothing is measured."""
PARTNERS = {
    **dict.fromkeys(("minutes", "dry_run", "ship"), "fit"),
    **dict.fromkeys(("arguments", "shapes", "forget", *MEASURED), "subject"),
    "foreign": "imported",
}
"""Options that mean something beside another only."""
MODES = ("subject", "fit", "imported", "exported")


def _check_partners(context: click.Context) -> None:
    """Refuse options that nothing would be done with. Raises `UsageError`."""
    given = {name for name in context.params if context.get_parameter_source(name) == ParameterSource.COMMANDLINE}
    names = {option.name: option.opts[0] for option in context.command.params} | {"subject": "WHAT"}
    modes = [mode for mode in MODES if mode in given]
    if len(modes) > 1:
        raise click.UsageError(f"{names[modes[0]]} and {names[modes[1]]} are two commands; give them one after the other")
    for option, partner in PARTNERS.items():
        if option in given and partner not in given:
            raise click.UsageError(f"{names[option]} says something of {names[partner]} only; give both")
    if "ranker_file" in given and context.params["ranker"] not in LEARNING:
        raise click.UsageError(f"--ranker-file is of rankers that learn; give --ranker {' or '.join(LEARNING)}, too")
    if "ranker" in given and context.params["search"] != RANKED:
        raise click.UsageError(f"--ranker orders the plans of --search {RANKED}; leave one of them out")
    if "forget" in given and (idle := [option for option in MEASURED if option in given]):
        raise click.UsageError(f"--forget measures nothing; leave out {', '.join(names[option] for option in idle)}")
