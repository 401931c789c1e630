"""`tilewright licences`: how rewrites, algorithms and choices of code generation may change values."""

from __future__ import annotations

import json

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def licences(as_json: bool) -> None:
    """List how every rewrite, algorithm and choice of code generation may change values.

    Where a discontinuous function reads a result (floor, a cast to integers, a comparison), only what is exact or quantised is
    used; with precision="strict" only what is exact.
    """
    from tilewright.report import licences as table

    if as_json:
        click.echo(json.dumps([dict(zip(table.HEADER, row, strict=True)) for row in table.licences()], indent=2))
    else:
        click.echo(table.licences_text())
