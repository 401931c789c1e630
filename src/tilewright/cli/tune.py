"""`tilewright tune`: plans that are measured, and coefficients of the price that are fitted, on this machine."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tilewright.cli import parameters, user_code
from tilewright.cli.model_feeds import require_onnx
from tilewright.cli.parameters import Spec
from tilewright.cli.tuning_progress import tuning_progress
from tilewright.coefficients import coefficients_for, to_text
from tilewright.errors import TilewrightError, needs_packages
from tilewright.machine.fit_files import FITTED
from tilewright.report.layout import columns
from tilewright.runtime import calibration
from tilewright.runtime.tuning import database
from tilewright.runtime.tuning.database import machine_key
from tilewright.tune.pipeline import tuning
from tilewright.tune.pipeline.executors import HERE, Cluster, Executor
from tilewright.tune.pipeline.ranking import LEARNING, PRICE
from tilewright.tune.pipeline.ranking import NAMES as RANKERS
from tilewright.tune.pipeline.tuning import RANKED, SEARCHES, Judgement, Plans, Request, Result
from tilewright.tune.pipeline.unrolling import AGENTS, DEFAULT
from tilewright.tune.schedules.cases import Case
from tilewright.tune.timing import LEAST_GAIN, LEAST_WINS

if TYPE_CHECKING:
    from tilewright.machine.machine import Machine
    from tilewright.plan.types import ModelPlan
    from tilewright.tune.fit.session import Outcome


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
    "--unroll", type=click.Choice(AGENTS), default=DEFAULT, show_default=True, help="Who unrolls the best tenth of the plans."
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
    if fit:
        _fit(minutes, dry_run, ship)
    elif imported is not None:
        own = None if foreign else machine_key(calibration.ensure())
        click.echo(f"{database.default().take_in(imported, own)} measurements read")
    elif exported is not None:
        click.echo(f"{database.default().export(exported)} measurements written to {exported}")
    elif subject is not None:
        _tune(subject, _plans_of(subject, arguments, shapes), Request(**request), forget, scheduler)
    else:
        raise click.UsageError("say what to tune: WHAT, or --fit, the coefficients of the price")


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


def _tune(subject: str, plans: Plans, request: Request, forget: bool, scheduler: str | None) -> None:
    """Measure variants of a function or a model, and say what came of it."""
    known = database.default()
    with user_code.blamed(subject):
        if forget:
            machine = calibration.ensure()
            count = tuning.untuned(plans, known, machine)
            back = f"the choice of the planner is back: {count} of its chains had tuned plans"
            click.echo(back if count else f"nothing was tuned for {machine_key(machine)}")
            return
        try:
            with _executor(scheduler) as executor, tuning_progress() as progress:
                for result in tuning.tune_chains(plans, known, request, progress, executor, is_shared=_is_model(subject)):
                    click.echo(_line_of(result, with_machine=scheduler is not None))
        except KeyboardInterrupt:
            click.echo("what was measured is kept: the same command goes on where it was", err=True)
            raise


def _executor(scheduler: str | None) -> AbstractContextManager[Executor]:
    """The machines of a scheduler; this process without one."""
    return nullcontext(HERE) if scheduler is None else Cluster(scheduler)


def _is_model(subject: str) -> bool:
    return subject.endswith(".onnx")


def _plans_of(subject: str, arguments: tuple[Spec, ...], shapes: dict[str, tuple[int, ...]]) -> Plans:
    """Of a model or a function. Raises `UsageError` for what is said of the other kind."""
    if _is_model(subject):
        return _plans_of_model(subject, shapes)
    if shapes:
        raise click.UsageError("--shape is of inputs of a model; --arg is of a function's")
    function, operands = user_code.subject_of(subject, arguments)
    user_code.check_arguments(function, operands)
    if any(dtype != "float32" for _, dtype in operands):
        raise click.UsageError("plans of float32 operands can be tuned; leave out the types of --arg")
    return tuning.plans_of(Case(subject, function, tuple(_known(shape) for shape, _ in operands)))


def _plans_of_model(path: str, shapes: dict[str, tuple[int, ...]]) -> Plans:
    require_onnx(path)
    import tilewright.onnx as ort

    def planned(machine: Machine) -> list[ModelPlan]:
        session = ort.InferenceSession(path, target=machine, prepare=False)
        names = {extent for declared in session.get_inputs() for extent in declared.shape if isinstance(extent, str)}
        given = {name: shape[0] if name in names else shape for name, shape in shapes.items()}
        try:
            return session.model_plans(**given)
        except TilewrightError as problem:
            if not (missing := sorted(names - set(given))):
                raise
            why = f"the size of {', '.join(missing)} is not known"
            raise TilewrightError(
                "plans are measured at one size", where=path, why=why, hint=f"give it: --shape {missing[0]}=128"
            ) from problem

    return planned


def _known(shape: tuple[int | str, ...]) -> tuple[int, ...]:
    """A shape without names. Raises `UsageError` for others: plans are measured at one size."""
    extents = tuple(extent for extent in shape if isinstance(extent, int))
    if len(extents) < len(shape):
        raise click.UsageError(f"a shape to tune has numbers only, not {'x'.join(map(str, shape))}")
    return extents


def _line_of(result: Result, *, with_machine: bool = False) -> str:
    """One chain, or calls as a whole, and the machine that measured it where there may be several.

    >>> _line_of(Result("products", 101, 0.91, Judgement.KEPT))
    'products: 101 plans measured; the best takes 0.910 of the time of the choice of the planner: used from now on'
    """
    name = f"{result.name} on {result.machine}" if with_machine else result.name
    if result.is_whole:
        return f"{name}, whole calls: {_whole(result)}"
    if result.why:
        return f"{name}: not tuned: {result.why}"
    used = "plan that was tuned before" if result.was_tuned else "choice of the planner"
    verdict = {
        Judgement.KEPT: "used from now on",
        Judgement.WINS: "whole calls decide at the end",
        Judgement.STAYS: f"the {used} stays",
    }
    plans = f"{result.measured} plan{'s' * (result.measured != 1)} measured"
    best = f"the best takes {result.ratio:.3f} of the time of the {used}{_doubt(result)}"
    return f"{name}: {plans}; {best}: {verdict[result.judgement]}"


def _doubt(result: Result) -> str:
    """Why a plan that seems faster is not used."""
    if result.judgement is not Judgement.STAYS or result.ratio >= 1:
        return ""
    if result.ratio > LEAST_GAIN:
        return f", and {LEAST_GAIN} is asked for"
    return f", but wins {result.wins:.0%} of the pairs, and {LEAST_WINS:.0%} are asked for"


def _whole(result: Result) -> str:
    if result.why:
        return f"not compared, {result.why}: the plans that won are used from now on"
    verdict = "used from now on" if result.judgement is Judgement.KEPT else "the plans of before stay"
    return f"with the plans that won they take {result.ratio:.3f} of the time with those of before: {verdict}"


def _fit(minutes: float, dry_run: bool, ship: bool) -> None:
    """Measure kernels, fit the price to them, and keep the fit if choices by it lose less. Nothing is written before the end."""
    with needs_packages("a fit", "tune"):
        from tilewright.tune.fit import session
    machine = calibration.ensure()
    session.check_measured(machine)
    kernels = session.measured(machine, 60 * minutes, lambda line: click.echo(line, err=True))
    shipped = calibration.as_shipped(machine)
    found = session.outcome(shipped, kernels, machine.features)
    click.echo(render(found, shipped))
    if not found.is_better:
        click.echo("the coefficients in use are kept")
    elif dry_run:
        click.echo("the fit is better; nothing is written (--dry-run)")
    else:
        keep = calibration.ship_fit if ship else calibration.store_fit
        click.echo(f"the fit is better; written to {keep(to_text(found.fit))}")


def render(found: Outcome, machine: Machine) -> str:
    """Coefficients and qualities: those of the package, and fitted ones."""
    from tilewright.tune.fit.fitting import NAMES, values_of

    old = dict(zip(NAMES, values_of(coefficients_for(machine)), strict=True))
    rows = [["coefficient", "package", "fitted", "unit"]]
    rows += [[name, f"{old[name]:.4g}", f"{value:.4g}", FITTED[name]] for name, value in found.fit.values.items()]
    lines = [*columns(rows, right=(1, 2)), ""]
    for kind, compared in found.qualities.items():
        cases = len(compared.shipped.regrets)
        lines += [f"{kind} ({cases} cases)", f"  of the package           {compared.shipped}"]
        lines += [f"  fitted to other networks {compared.fitted}"]
    return "\n".join([*lines, f"{found.kernels} kernels"])
