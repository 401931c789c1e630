"""`tilewright explain`: how a chain will run and why, without compiling it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from tilewright.cli.shapes import TABLE_IV, chain_shape
from tilewright.errors import TilewrightError
from tilewright.plan.types import ModelPlan

FUSE = {"prices": None, "always": True, "never": False}


@click.command()
@click.argument("what")
@click.option("--softmax", is_flag=True, help="With a softmax between the two products of a Table IV chain.")
@click.option(
    "--arg", "arguments", multiple=True, metavar="SHAPE", help="One argument of the function: 12x512x64, or 12xsx64:float32."
)
@click.option("--target", help="Plan for this machine, by its name, instead of the one at hand.")
@click.option("--fuse", type=click.Choice(sorted(FUSE)), default="prices", show_default=True, help="What decides on fusion.")
@click.option("--source", is_flag=True, help="Print the generated C instead.")
def explain(what: str, softmax: bool, arguments: tuple[str, ...], target: str | None, fuse: str, source: bool) -> None:
    """Say how WHAT will run, and why: a Table IV chain (G1 to G12), or FILE.py:FUNCTION or MODULE:FUNCTION with --arg's."""
    import tilewright as tw

    function, specs = _chain(what, softmax) if _is_chain(what) else _function(what, arguments)
    lowered = tw.jit(function, target=target, fuse=FUSE[fuse]).lower(*(tw.spec(shape, dtype) for shape, dtype in specs))
    click.echo(_source(lowered.model_plan) if source else lowered.explain())


Spec = tuple[tuple[int | str, ...], str]


def parse_spec(text: str) -> Spec:
    """The shape and element type of an argument; letters are symbolic extents.

    >>> parse_spec("12xsx64"), parse_spec("8:bfloat16")
    (((12, 's', 64), 'float32'), ((8,), 'bfloat16'))
    """
    shape, _, dtype = text.partition(":")
    extents = tuple(int(part) if part.isdecimal() else part for part in shape.split("x"))
    if not all(isinstance(extent, int) or extent.isidentifier() for extent in extents):
        raise click.UsageError(f"--arg {text}: expected extents joined by x, as in 12x512x64 or 12xsx64:float32")
    return extents, dtype or "float32"


def _is_chain(what: str) -> bool:
    return what.upper() in {shape.name for shape in TABLE_IV}


def _chain(name: str, softmax: bool) -> tuple[Callable[..., Any], list[Spec]]:
    from tilewright.cli import chain_functions

    function = chain_functions.attention if softmax else chain_functions.gemm_chain
    return function, [(operand, "float32") for operand in chain_shape(name.upper()).operands]


def _function(what: str, arguments: tuple[str, ...]) -> tuple[Callable[..., Any], list[Spec]]:
    place, colon, name = what.rpartition(":")
    if not colon or not place:
        raise click.UsageError(f"{what!r} is neither a chain of Table IV (G1 to G12) nor FILE.py:FUNCTION or MODULE:FUNCTION")
    if not arguments:
        raise click.UsageError(f"{what} needs the shape of each argument: --arg 12x512x64")
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    if not callable(getattr(module, name, None)):
        raise TilewrightError(f"{place} has no function {name!r}", where=what)
    return getattr(module, name), [parse_spec(argument) for argument in arguments]


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise TilewrightError(f"there is no file {path}", where="explain")
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if specification is None or specification.loader is None:
        raise TilewrightError(f"{path} cannot be imported", where="explain")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def _load_module(name: str) -> ModuleType:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as problem:
        raise TilewrightError(f"there is no module {name}", where="explain", why=str(problem)) from problem
    finally:
        sys.path.remove("")


def _source(model_plan: ModelPlan) -> str:
    from tilewright import compiler

    return compiler.generate(model_plan).text.rstrip("\n")
