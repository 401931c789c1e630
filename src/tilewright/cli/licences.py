"""`tilewright licences`: how rewrites, algorithms and choices of code generation may change values."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from tilewright.precision import Precision
from tilewright.report.layout import columns

HEADER = ("kind", "name", "licence", "note")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def licences(as_json: bool) -> None:
    """List how every rewrite, algorithm and choice of code generation may change values.

    Where a discontinuous function reads a result (floor, a cast to integers, a comparison), only what is exact or quantised is
    used; with precision="strict" only what is exact.
    """
    if as_json:
        click.echo(json.dumps([dict(zip(HEADER, row, strict=True)) for row in rows()], indent=2))
    else:
        click.echo("\n".join(columns([HEADER, *rows()])))


def rows() -> list[tuple[str, str, str, str]]:
    """Rows of kind, name, licence and note, in the order of the pipeline.

    >>> next(row for row in rows() if row[1] == "reciprocals")[:3]
    ('rewrite', 'reciprocals', 'range')
    """
    from tilewright.render.choices import CHOICES

    return [*_rewrites(), *_algorithms(), *(("code", one.name, one.licence.value, one.told_by) for one in CHOICES)]


def _rewrites() -> Iterator[tuple[str, str, str, str]]:
    from tilewright.compiler import PLANNING_FORMS, REWRITES, SIMPLIFICATIONS
    from tilewright.graph.rewrites.element_types import ShortProducts

    steps = dict.fromkeys((step.name, step.licence.value) for step in (*REWRITES, *SIMPLIFICATIONS, *PLANNING_FORMS))
    yield from (("rewrite", name, licence, "") for name, licence in steps)
    short = ShortProducts()
    yield "rewrite", short.name, short.licence.value, f'precision="{Precision.BF16.value}" alone'


def _algorithms() -> Iterator[tuple[str, str, str, str]]:
    from tilewright.plan.algorithms.definition import registered
    from tilewright.report.reasons import algorithm_text

    for algorithm in registered():
        needs = "" if algorithm.precision is Precision.STRICT else f'precision="{algorithm.precision.value}" at least'
        yield "algorithm", algorithm_text(algorithm.name), algorithm.licence.value, needs
