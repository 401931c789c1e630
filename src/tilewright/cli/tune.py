"""`tilewright tune`: coefficients of the price, fitted on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from tilewright.machine.machine import Machine
    from tilewright.tune.fit.session import Outcome


@click.command()
@click.option("--fit", is_flag=True, help="Fit the coefficients of the price to kernels that are measured here.")
@click.option(
    "--minutes", type=click.FloatRange(0, 60, min_open=True), default=9.0, show_default=True, help="How long to measure."
)
@click.option("--dry-run", is_flag=True, help="Measure and print; keep nothing.")
@click.option("--ship", is_flag=True, help="Write the fit into the package, for all CPUs of this model.")
def tune(fit: bool, minutes: float, dry_run: bool, ship: bool) -> None:
    """Measure kernels on this machine, fit the price to them, and keep the fit if choices by it lose less.

    Nothing is written before the end: an interrupted run leaves everything as it was. Run it while nothing else runs.
    """
    from tilewright.plan.model.coefficients import to_text
    from tilewright.runtime import calibration
    from tilewright.tune.fit import session

    if not fit:
        raise click.UsageError("say what to tune: --fit, the coefficients of the price")
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
    from tilewright.machine.fit_files import FITTED
    from tilewright.plan.model.coefficients import coefficients_for
    from tilewright.report.layout import columns
    from tilewright.tune.fit.fitting import values_of
    from tilewright.tune.fit.kernels import NAMES

    old = dict(zip(NAMES, values_of(coefficients_for(machine)), strict=True))
    rows = [["coefficient", "package", "fitted", "unit"]]
    rows += [[name, f"{old[name]:.4g}", f"{value:.4g}", FITTED[name]] for name, value in found.fit.values.items()]
    lines = [*columns(rows, right=(1, 2)), ""]
    for kind, compared in found.qualities.items():
        cases = len(compared.shipped.regrets)
        lines += [f"{kind} ({cases} cases)", f"  of the package           {compared.shipped}"]
        lines += [f"  fitted to other networks {compared.fitted}"]
    return "\n".join([*lines, f"{found.kernels} kernels"])
