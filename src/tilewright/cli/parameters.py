"""Values on the command line that are checked before anything runs."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

import click

from tilewright.machine import targets
from tilewright.precision import Precision

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
Spec: TypeAlias = tuple[tuple[int | str, ...], str]
ELEMENT_TYPE = re.compile(r"(f|i|u|bf|float|bfloat|int|uint)\d+")


FUSE = {"prices": None, "always": True, "never": False}


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


def precision(function: FunctionT) -> FunctionT:
    """The option --precision of a command."""
    return click.option(
        "--precision",
        type=click.Choice(tuple(map(str, Precision))),
        default=str(Precision.FLOAT32),
        show_default=True,
        help="How far results may be from those of the operators as they are written.",
    )(function)


def fuse(function: FunctionT) -> FunctionT:
    """The option --fuse of a command: what `fuse=` is in Python."""
    return click.option(
        "--fuse",
        type=click.Choice(sorted(FUSE)),
        default="prices",
        show_default=True,
        callback=lambda context, parameter, choice: FUSE[choice],
        help="What decides on fusion.",
    )(function)


def shapes(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options --shape and --dim of a command that plans or runs a model, which is called with `shapes`."""

    @functools.wraps(function)
    def merged(*arguments: Any, shapes: dict[str, tuple[int, ...]], dims: dict[str, tuple[int, ...]], **others: Any) -> Any:
        return function(*arguments, shapes={**shapes, **dims}, **others)

    of_shapes = "Of a model: the shape of an input, or the extent of a named dimension. Can be repeated."
    of_dims = "Of a model: the extent of a dimension; x[0] is one of the input x without a name. Can be repeated."
    options = (
        click.option("--shape", "shapes", multiple=True, metavar="NAME=1x128", callback=named_shapes, help=of_shapes),
        click.option("--dim", "dims", multiple=True, metavar="NAME=8", callback=named_extents, help=of_dims),
    )
    return functools.reduce(lambda command, option: option(command), reversed(options), merged)


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
    """Shapes by name, from texts like `input_ids=1x128`."""
    return dict(_named(text, "NAME=1x128") for text in texts)


def named_extents(context: click.Context, parameter: click.Parameter, texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Extents by name, from texts like `batch=8`, as shapes of one number."""
    found = [(text, _named(text, "NAME=8")) for text in texts]
    for text, (_, shape) in found:
        if len(shape) > 1:
            raise click.BadParameter(f"{text}: expected NAME=8; shapes are given by --shape")
    return dict(named for _, named in found)


def _named(text: str, form: str) -> tuple[str, tuple[int, ...]]:
    name, _, shape = text.rpartition("=")
    if not name or not all(part.isdecimal() for part in shape.split("x")):
        raise click.BadParameter(f"{text}: expected {form}")
    return name, tuple(map(int, shape.split("x")))


def stages(context: click.Context, parameter: click.Parameter, names: tuple[Any, ...]) -> tuple[str, ...]:
    """Stages of the compiler, which is loaded only if there are any."""
    if not names:
        return ()
    from tilewright.compiler import STAGES

    return tuple(choice(name, STAGES) for name in names)
