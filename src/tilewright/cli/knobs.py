"""`tilewright knobs`: every environment variable, what it means, and its value."""

from __future__ import annotations

import json

import click

from tilewright import settings
from tilewright.report.layout import columns


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def knobs(as_json: bool) -> None:
    """List every environment variable with its meaning and its value."""
    rows = settings.knobs()
    if as_json:
        keys = ("variable", "meaning", "value", "is_set")
        click.echo(json.dumps([{key: getattr(row, key) for key in keys} for row in rows], default=str, indent=2))
        return
    for line in columns([[row.variable, _value(row), row.meaning] for row in rows]):
        click.echo(line)


def _value(knob: settings.Knob) -> str:
    value = ",".join(knob.value) if isinstance(knob.value, tuple) else knob.value
    shown = "-" if value is None or value == "" else str(value)
    return f"{shown} (set)" if knob.is_set else shown
