"""Arrays for the inputs of a model that nobody gave: of the declared type, and of a shape that the command line completes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.errors import TilewrightError

Shapes = Mapping[str, Sequence[int]]
"""Of inputs by their names, and extents of named dimensions, as shapes of one number."""
NORMAL = {"tensor(float)": "float32", "tensor(double)": "float64", "tensor(float16)": "float16"}
SEED = 0


def made_feed(declared: Any, shapes: Shapes) -> Any:
    """An array for an input (a `NodeArg`), the same in every run.

    Normal numbers; ones for a mask (by its name) and booleans; 0 and 1 for other integers, which every table of embeddings has.
    Raises `TilewrightError` for an unknown shape, and for strings and what is no tensor.
    """
    shape = tuple(shapes.get(declared.name) or (_extent(declared.name, extent, shapes) for extent in declared.shape))
    generator = np.random.default_rng(SEED)
    if declared.type in NORMAL:
        return generator.standard_normal(shape).astype(NORMAL[declared.type])
    if not declared.type.startswith("tensor(") or declared.type == "tensor(string)":
        raise TilewrightError(
            f"the input {declared.name!r} is a {declared.type}", where=declared.name, hint=f"use --input {declared.name}=FILE.npy"
        )
    dtype = declared.type[len("tensor(") : -1]
    if dtype == "bool" or "mask" in declared.name.lower():
        return np.ones(shape, dtype)
    return generator.integers(0, 2, shape).astype(dtype)


def _extent(name: str, extent: int | str | None, shapes: Shapes) -> int:
    if isinstance(extent, int):
        return extent
    if extent is None or extent not in shapes:
        hint = f"use --shape {name}=1x128, or --input {name}=FILE.npy where a command has it"
        raise TilewrightError(f"the shape of the input {name!r} is not known", where=name, hint=hint)
    return shapes[extent][0]
