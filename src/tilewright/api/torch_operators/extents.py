"""Extents of torch as extents of Tilewright, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tilewright.api.ranges import LARGEST
from tilewright.graph.expressions.extents import Extent, Operation, Sum, SymbolicExtent


class Lengths:
    """Extents of torch as extents of Tilewright: a dimension for every expression that varies."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._names: dict[str, str] = {}

    def shape(self, shape: Sequence[Any]) -> tuple[Extent, ...]:
        """The extents of a tensor."""
        return tuple(map(self._extent, shape))

    def _extent(self, value: Any) -> Extent:
        if not isinstance(value, torch.SymInt) or value.node.maybe_as_int() is not None:
            return int(value)
        name = self._names.setdefault(str(value.node.expr), f"n{len(self._names)}")
        self.values[name] = value
        bounds = value.node.shape_env.bound_sympy(value.node.expr)
        low, high = (_bound(bound, otherwise) for bound, otherwise in ((bounds.lower, 0), (bounds.upper, LARGEST * LARGEST)))
        hint = value.node.hint if value.node.has_hint() else low
        return SymbolicExtent(name, low, high, min(max(int(hint), low), high))

    def make_equal(self) -> None:
        """Guard that extents of equal values stay equal, as operators of torch do whose arguments must fit each other."""
        known: dict[int, Any] = {}
        for value in self.values.values():
            if value.node.has_hint():
                bool(known.setdefault(int(value.node.hint), value) == value)

    def specialise(self) -> None:
        """Guard that all extents stay as they are."""
        for value in self.values.values():
            int(value)


def _bound(bound: Any, otherwise: int) -> int:
    return min(max(int(bound), 0), LARGEST * LARGEST) if bound.is_Integer else otherwise


def value_of(extent: Extent, values: dict[str, Any]) -> Any:
    """An extent of torch, for those of the dimensions."""
    if isinstance(extent, int):
        return extent
    match extent.formula:
        case None:
            return values[extent.name]
        case Sum(terms):
            return sum(coefficient * _product([value_of(one, values) for one in factors]) for coefficient, factors in terms)
        case Operation(function, first, second):
            return _OPERATIONS[function](value_of(first, values), value_of(second, values))


_OPERATIONS = {"//": lambda first, second: first // second, "min": torch.sym_min, "max": torch.sym_max}


def _product(factors: Sequence[Any]) -> Any:
    result: Any = 1
    for factor in factors:
        result = result * factor
    return result
