"""What `tilewright tune` does: chains are tuned, and the price is fitted."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tilewright.cli import user_code
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
from tilewright.tune.pipeline.tuning import Judgement, Plans, Request, Result
from tilewright.tune.schedules.cases import Case
from tilewright.tune.timing import LEAST_GAIN, LEAST_WINS

if TYPE_CHECKING:
    from tilewright.machine.machine import Machine
    from tilewright.plan.types import ModelPlan
    from tilewright.tune.fit.session import Outcome


def take_in(path: Path, *, foreign: bool) -> None:
    """Read measurements of a file, those of other machines only where they are asked for."""
    own = None if foreign else machine_key(calibration.ensure())
    click.echo(f"{database.default().take_in(path, own)} measurements read")


def export(path: Path) -> None:
    """Write all measurements to a file."""
    click.echo(f"{database.default().export(path)} measurements written to {path}")


def tune(
    subject: str,
    arguments: tuple[Spec, ...],
    shapes: dict[str, tuple[int, ...]],
    options: dict[str, Any],
    forget: bool,
    scheduler: str | None,
) -> None:
    """Measure variants of a function or a model, and say what came of it; `options` are those of a `Request`."""
    plans, request = _plans_of(subject, arguments, shapes), Request(**options)
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


def fit(minutes: float, dry_run: bool, ship: bool) -> None:
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
