"""Models on the command line: the package that reads them, shapes that are left open, and arrays for inputs that nobody gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any

import click

from tilewright.errors import TilewrightError

Shapes = Mapping[str, Sequence[int]]
"""Of inputs by their names, and extents of dimensions, as shapes of one number."""
Ranges = Mapping[str, tuple[int, int]]
"""The least and the largest extent of dimensions by their names."""
NO_RANGES: Ranges = MappingProxyType({})
SEED = 0


def require_onnx(model: str) -> None:
    """Raise `TilewrightError` if the package that reads models is missing.

    >>> require_onnx("model.onnx")
    """
    if find_spec("onnx") is None:
        raise TilewrightError("models need the package onnx", where=model, why="it is not installed", hint="pip install onnx")


def model_shapes(inputs: Sequence[Any], given: Shapes, ranges: Ranges = NO_RANGES) -> dict[str, tuple[int, ...]]:
    """The shapes of a model's inputs for a command, which says on stderr what it assumes. Raises as `completed`."""
    shapes, assumed = completed(inputs, given, ranges)
    if assumed:
        taken = ", ".join(f"{name} = {extent}" for name, extent in assumed.items())
        click.echo(f"dimensions that are not given: {taken} (--shape {next(iter(assumed))}=8 sets one)", err=True)
    return shapes


def completed(
    inputs: Sequence[Any], given: Shapes, ranges: Ranges = NO_RANGES
) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """The shapes of inputs (`NodeArg`s) as they are given and declared, and the dimensions that neither says, as they are taken.

    A dimension that neither says is 1 where it is the first of an input (a batch), else what ranges are planned for, but within
    its range if it has one. One without a name is called `x[0]`. Raises `TilewrightError` for a name of no input and no
    dimension.
    """
    from tilewright.api.lengths import PLANNED

    dimensions = {one.name: _dimensions(one) for one in inputs}
    _check_names(dimensions, given)
    known: dict[Any, int] = {}
    for name, extents in given.items():
        known |= dict(zip(dimensions.get(name, [name]), extents, strict=False))
    firsts = {names[0] for names in dimensions.values() if names}
    open_ones = [name for names in dimensions.values() for name in names if isinstance(name, str) and name not in known]

    def taken(name: str) -> int:
        extent = 1 if name in firsts else PLANNED
        low, high = ranges.get(name, (extent, extent))
        return min(max(extent, low), high)

    assumed = {name: taken(name) for name in open_ones}
    values = known | assumed
    whole = {name: tuple(e if isinstance(e, int) else values[e] for e in extents) for name, extents in dimensions.items()}
    return {name: tuple(given.get(name, shape)) for name, shape in whole.items()}, assumed


def _dimensions(declared: Any) -> list[int | str]:
    return [f"{declared.name}[{at}]" if extent is None else extent for at, extent in enumerate(declared.shape)]


def _check_names(dimensions: Mapping[str, Sequence[int | str]], given: Shapes) -> None:
    named = list(dict.fromkeys(e for names in dimensions.values() for e in names if isinstance(e, str)))
    for name in given:
        if name not in dimensions and name not in named:
            why = f"its inputs are {', '.join(dimensions) or 'none'}; its dimensions {', '.join(named) or 'are all known'}"
            raise TilewrightError(f"the model has no input and no dimension {name!r}", why=why)


def made_feed(declared: Any, shape: Sequence[int]) -> Any:
    """An array of a shape for an input (a `NodeArg`), the same in every run.

    Normal numbers; ones for a mask (by its name) and booleans; 0 and 1 for other integers, which every table of embeddings has.
    Raises `TilewrightError` for strings and what is no tensor.
    """
    import numpy as np

    from tilewright.frontend.onnx.element_types import type_named

    if not declared.type.startswith("tensor(") or declared.type == "tensor(string)":
        raise TilewrightError(
            f"the input {declared.name!r} is a {declared.type}", where=declared.name, hint=f"use --input {declared.name}=FILE.npy"
        )
    generator, dtype = np.random.default_rng(SEED), type_named(declared.type[len("tensor(") : -1])
    if "float" in dtype.name:
        return generator.standard_normal(shape).astype(dtype)
    if dtype.kind == "b" or "mask" in declared.name.lower():
        return np.ones(shape, dtype)
    return generator.integers(0, 2, shape).astype(dtype)
