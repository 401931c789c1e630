"""`tilewright knobs`: every environment variable, what it means, and its value."""

from __future__ import annotations

import json

import click

from tilewright import settings
from tilewright.errors import TilewrightError
from tilewright.machine.cores import usable_cores
from tilewright.report.layout import columns


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def knobs(as_json: bool) -> None:
    """List every environment variable with its meaning and its value."""
    rows = settings.knobs()
    if as_json:
        keys = ("variable", "meaning", "value", "is_set", "problem")
        click.echo(json.dumps([{key: getattr(row, key) for key in keys} for row in rows], default=str, indent=2))
        return
    for line in columns([[row.variable, _value(row), row.meaning] for row in rows]):
        click.echo(line)


def _value(knob: settings.Knob) -> str:
    if knob.problem:
        return f"{knob.value} (cannot be used: {knob.problem})"
    value = ",".join(knob.value) if isinstance(knob.value, tuple) else knob.value
    if value is None or value == "":
        return _found(knob.variable)
    return f"{value} (set)" if knob.is_set else str(value)


def _found(variable: str) -> str:
    """What stands in for a variable that is not set, where that can be said in a moment."""
    try:
        if variable == "TILEWRIGHT_CC":
            from tilewright.runtime.compilation import toolchain

            return f"{' '.join(toolchain.find().command)} (found)"
        return f"{usable_cores()} (found)" if variable == "TILEWRIGHT_NUM_THREADS" else "-"
    except TilewrightError:
        return "-"
