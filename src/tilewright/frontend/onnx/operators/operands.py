"""Operands of reference implementations and lowerings: those left out, short floating-point numbers, and sums of expressions.

`Composed`: operators that are made of others, for which reference implementation and lowering are written once.

Reference implementations compute short floating-point numbers in float32, as kernels do, and round the result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial, reduce, wraps
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import ShapeError, Undecided, UnsupportedOperation
from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.extents import cuts_between, largest_extent, least_extent
from tilewright.graph.expressions.scalar import Scalar, apply
from tilewright.graph.numpy_types import widened
from tilewright.graph.shapes import Shape
from tilewright.graph.types import Extent, Tensor
from tilewright.records import record

Known: TypeAlias = Mapping[str, np.ndarray]
"""The values of tensors, by name, as far as they are constants."""
Call: TypeAlias = Callable[[Any], Callable[..., Any]]
"""An operator of ONNX as a function: its reference implementation of arrays, or its lowering of tensors."""


def known_value(parameter: Any, known: Known) -> Any:
    """An array, or the value of a tensor; None where that is no constant."""
    return known.get(parameter.name) if isinstance(parameter, Tensor) else parameter


by_reference: Call = attrgetter("reference")


def by_lowering(builder: Builder) -> Call:
    """Operators as their lowerings."""
    return lambda operator: partial(operator.lower, builder)


class Composed(ABC):
    """An operator that is made of others."""

    __slots__ = ()

    @abstractmethod
    def composed(self, call: Call, known: Known, *inputs: Any) -> Any:
        """The result for arrays or tensors. Raises `InvalidModel` for parameters that do not fit."""

    def reference(self, *inputs: Any, **given: Any) -> Any:
        return self.composed(by_reference, {}, *inputs, **given)

    def lower(self, builder: Builder, *inputs: Any, **given: Any) -> Any:
        """The lowerings of the operators."""
        return self.composed(by_lowering(builder), builder.known, *inputs, **given)


@record
class Reshaped:
    """The elements, row by row, in a shape: a part of composed operators."""

    shape: Shape

    def reference(self, x: Any) -> Any:
        return np.reshape(x, self.shape)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        return builder.reshape(x, self.shape)


def in_operand_type(reference: Callable[..., Any]) -> Callable[..., Any]:
    """A reference implementation (a method) that gets its operands widened, and whose result is rounded to the first one's type.

    >>> class Third:
    ...     @in_operand_type
    ...     def reference(self, x):
    ...         return x / 3
    >>> Third().reference(np.ones(2, np.float16)).dtype
    dtype('float16')
    """

    @wraps(reference)
    def evaluate(self: Any, x: Any, *operands: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.asarray(reference(self, widened(x), *map(widened, operands))).astype(x.dtype)

    return evaluate


def completed(operands: Sequence[Any], count: int) -> tuple[Any, ...]:
    """The operands of an operator that takes so many, None for those left out at the end.

    >>> completed(["x", "scale"], 3)
    ('x', 'scale', None)
    """
    return (*operands, *(None,) * (count - len(operands)))


def known(extents: Iterable[Extent], what: str) -> list[int]:
    """Extents as integers. Raises `UnsupportedOperation` where one is known at run time only.

    >>> known((2, 3), "Tile by counts")
    [2, 3]
    """
    given = tuple(extents)
    found = [extent for extent in given if isinstance(extent, int)]
    if len(found) < len(given):
        raise UnsupportedOperation(f"{what} that are known at run time only")
    return found


def is_at_most(extent: Extent, most: int, what: str, where: str) -> bool:
    """Whether an extent is at most a number. Raises `Undecided` for a run-time one whose range can be divided there.

    >>> is_at_most(3, 4, "rows", "Tile")
    True
    """
    if least_extent(extent) > most or largest_extent(extent) <= most:
        return largest_extent(extent) <= most
    cuts = cuts_between(extent, most, "<=")
    if cuts:
        raise Undecided(f"whether {extent} {what} are at most {most}", where=where).with_cuts(cuts)
    return False


def total(terms: Sequence[Scalar]) -> Scalar:
    """The sum of one or more expressions, from the first to the last."""
    return reduce(partial(apply, "add"), terms)


def single(value: Any, where: str) -> Any:
    """The number in a tensor of one element. Raises `ShapeError` for other numbers of elements.

    >>> single(np.array([[3]]), "Loop")
    3
    """
    if np.size(value) != 1:
        raise ShapeError(f"{np.size(value)} elements instead of one", where=where)
    return np.asarray(value).item()
