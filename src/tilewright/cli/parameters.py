"""Values on the command line that are checked before anything runs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import TypeAlias

import click

from tilewright.machine import targets
from tilewright.precision import Precision

Spec: TypeAlias = tuple[tuple[int | str, ...], str]
ELEMENT_TYPE = re.compile(r"(f|i|u|bf|float|bfloat|int|uint)\d+")


def choice(given: str, known: Iterable[str]) -> str:
    """Which of the `known` names is meant, in any case. Raises `click.BadParameter` with near matches, or all names.

    >>> choice("g2", ["G1", "G2"])
    'G2'
    """
    spelling = {name.lower(): name for name in known}
    if given.lower() in spelling:
        return spelling[given.lower()]
    near = difflib.get_close_matches(given.lower(), spelling, n=3)
    hint = f"did you mean {' or '.join(spelling[name] for name in near)}?" if near else f"choose from {', '.join(known)}"
    raise click.BadParameter(f"{given}: {hint}")


def target(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    """A machine that is known by name."""
    return None if name is None else choice(name, targets.names())


def specs(context: click.Context, parameter: click.Parameter, texts: Iterable[str]) -> tuple[Spec, ...]:
    """One argument of a function each."""
    return tuple(map(parse_spec, texts))


def parse_spec(text: str) -> Spec:
    """The shape and element type of an argument; letters are symbolic extents.

    >>> parse_spec("12xsx64"), parse_spec("8:bfloat16")
    (((12, 's', 64), 'float32'), ((8,), 'bfloat16'))
    """
    shape, _, dtype = text.partition(":")
    parts = shape.split("x")
    for part in parts:
        if ELEMENT_TYPE.fullmatch(part):
            rest = "x".join(p for p in parts if p != part)
            raise click.BadParameter(f"{text}: {part} is no extent; an element type stands behind a colon, as in {rest}:{part}")
        if not part.isdecimal() and not part.isidentifier():
            raise click.BadParameter(f"{text}: expected extents joined by x, as in 12x512x64 or 12xsx64:float32")
    return tuple(int(part) if part.isdecimal() else part for part in parts), dtype or "float32"


def named_shapes(context: click.Context, parameter: click.Parameter, texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Shapes by name, from texts like `input_ids=1x128`; those of one number are also extents of dimensions: `batch=8`."""
    found = {}
    for text in texts:
        name, _, shape = text.rpartition("=")
        if not name or not all(part.isdecimal() for part in shape.split("x")):
            raise click.BadParameter(f"{text}: expected NAME=1x128, or NAME=8 for a dimension")
        found[name] = tuple(map(int, shape.split("x")))
    return found


shapes = click.option(
    *("--shape", "--dim", "shapes"),
    multiple=True,
    metavar="NAME=1x128",
    callback=named_shapes,
    help="Of a model: the shape of an input, or the extent of a dimension: batch=8 (x[0]=8 without a name). Can be repeated.",
)
"""Of a command that plans or runs a model; --dim is another spelling."""
precision = click.option(
    "--precision",
    type=click.Choice(tuple(map(str, Precision))),
    default=str(Precision.FLOAT32),
    show_default=True,
    help="How far results may be from those of the operators as they are written.",
)
FUSE = {"prices": None, "always": True, "never": False}
fuse = click.option(
    "--fuse",
    type=click.Choice(sorted(FUSE)),
    default="prices",
    show_default=True,
    callback=lambda context, parameter, choice: FUSE[choice],
    help="What decides on fusion.",
)
"""What `fuse=` is in Python."""
