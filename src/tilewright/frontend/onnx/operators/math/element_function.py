"""Functions of single elements without attributes, one class for all of them. Operands broadcast; integers wrap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import body_of
from tilewright.graph.scalar_functions import FUNCTIONS
from tilewright.graph.types import Tensor

BROADCASTING = 7
"""The opset from which on both operands broadcast, as in NumPy."""


@dataclass(frozen=True, slots=True)
class ElementFunction:
    """A function of one or two arrays."""

    kind: str
    numpy: Callable[..., Any]
    function: str
    """The scalar function at every point."""
    dtype: str | None = None
    """The type of the result; None is that of the operands."""

    def reference(self, *operands: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(self.numpy(*operands))

    def lower(self, builder: Builder, *operands: Tensor) -> Tensor:
        return builder.body(body_of(self.function), *operands, dtype=self.dtype, kind=self.kind)


def define_functions(
    functions: Mapping[str, tuple[Callable[..., Any], str]], dtype: str | None = None, since: int | None = None
) -> None:
    """Define operators that are NumPy's functions and scalar functions: `since` 1 or, of two operands, `BROADCASTING`."""
    for name, (numpy, function) in functions.items():
        first = since or (BROADCASTING if FUNCTIONS[function].arity == 2 else 1)
        define(name, ElementFunction, name.lower(), numpy, function, dtype, since=first)
