"""Masks as conditions on positions.

Comparisons of positions in the place of constant masks that say the same: a triangle, a band, an interval of keys.

Only values decide. `np.tril(np.ones((m, l), bool))` is `row >= column`; an additive mask of 0 and -inf is a `where` of both. What
positions say need not be read, and planning sees which blocks of a mask are empty or full. Dimensions are no longer than
positions are exact.

Mask hoisting: what a mask of positions lets through leaves the mask, so that blocks in which it holds everywhere have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.graph.constant_values import is_mask
from tilewright.graph.exactness import LARGEST_WHOLE
from tilewright.graph.expressions.conditions import compared_ahead, conjuncts, constraint_of
from tilewright.graph.expressions.scalar import Apply, AxisValue, Literal, Load, Scalar, apply, fold, rewrite
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import Expansion, with_operators, with_used_reads
from tilewright.graph.types import Access, Constant, Graph, Operator

Bools = np.ndarray[Any, np.dtype[np.bool_]]


class PositionsForMasks(Rewrite):
    """A map that reads a constant of truth values, or of 0 and -inf, computes it from the positions along one or two axes."""

    def run(self, graph: Graph) -> Graph:
        """The graph that reads fewer constants."""
        constants = dict(graph.constants)
        known: dict[str, Bools | None] = {}
        return with_operators(graph, [_rewritten(operator, constants, known) for operator in graph.operators])


def _rewritten(operator: Operator, constants: Mapping[str, Constant], known: dict[str, Bools | None]) -> Operator:
    if not operator.is_map():
        return operator
    values: dict[Scalar, Scalar] = {}
    for number, access in enumerate(operator.reads):
        if access.tensor not in constants:
            continue
        if access.tensor not in known:
            known[access.tensor] = _truth(constants[access.tensor])
        said = _said(operator, access, known[access.tensor])
        if said is not None:
            is_additive = constants[access.tensor].array.dtype != np.bool_
            values[Load(number)] = apply("where", said, Literal(0.0), Literal(float("-inf"))) if is_additive else said
    return with_used_reads(replace(operator, body=rewrite(operator.body, values.get))) if values else operator


def _truth(constant: Constant) -> Bools | None:
    """What a mask lets through; None of other constants."""
    array = constant.array
    if not (constant.has_values and is_mask(array)):
        return None
    return array if array.dtype == np.bool_ else array == 0


def _said(operator: Operator, access: Access, truth: Bools | None) -> Scalar | None:
    """The condition on positions that a mask is; None if it is none of those known, or does not depend on any position."""
    if truth is None or not access.is_affine() or truth.size == 0 or max(truth.shape, default=0) > LARGEST_WHOLE:
        return None
    dimensions = list(zip(access.indices, truth.shape, strict=True))
    along = [(str(index), extent) for index, extent in dimensions if index.terms and extent > 1]
    fixed = tuple(slice(None) if index.terms and extent > 1 else index.constant for index, extent in dimensions)
    extents = {axis.name: axis.extent for axis in operator.axes}
    plain = all(index.is_axis() or not index.terms for index in access.indices)
    if not plain or len(dict(along)) < len(along) or any(extents.get(name) != extent for name, extent in along):
        return None
    part = truth[fixed]
    if part.ndim == 2:
        return _band(part, along[0][0], along[1][0])
    return _interval(part, along[0][0]) if part.ndim == 1 else None


def _band(truth: Bools, row: str, column: str) -> Scalar | None:
    """A band between two diagonals: `low <= column - row <= high`; or an interval of rows or of columns."""
    if (truth == truth[:1]).all():
        return _interval(truth[0], column)
    if (truth == truth[:, :1]).all():
        return _interval(truth[:, 0], row)
    rows, columns = truth.shape
    some = truth.any(axis=1)
    numbers = np.arange(rows)[some]
    high = int((columns - 1 - truth[some, ::-1].argmax(axis=1) - numbers).max())
    low = int((truth[some].argmax(axis=1) - numbers).min())
    if not np.array_equal(truth, np.tri(rows, columns, high, bool) & ~np.tri(rows, columns, low - 1, bool)):
        return None
    i, j = AxisValue(row), AxisValue(column)
    parts = [compared_ahead("less_equal", j, i, high)] if high < columns - 1 else []
    parts += [compared_ahead("greater_equal", j, i, low)] if low > 1 - rows else []
    return fold("logical_and", parts) if parts else None


def _interval(truth: Bools, axis: str) -> Scalar | None:
    """`first <= position < stop`."""
    places = np.flatnonzero(truth)
    if not len(places) or len(places) == len(truth) or places[-1] - places[0] + 1 != len(places):
        return None
    position, first, stop = AxisValue(axis), int(places[0]), int(places[-1]) + 1
    parts = [apply("less", position, Literal(float(stop)))] if stop < len(truth) else []
    parts += [apply("greater_equal", position, Literal(float(first)))] if first else []
    return fold("logical_and", parts) if parts else None


class HoistMasks(Rewrite):
    """`where(row >= column, a * x + b, -inf)` becomes a map `a * x + b`, which can end a product in registers, and the mask.

    Only where a reduction reads the mask, which may then be left out of whole blocks.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph whose masks choose between an element and a constant."""
        return _Hoisting(graph).expanded()


class _Hoisting(Expansion):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        reduced = {access.tensor for operator in graph.operators if operator.reduction is not None for access in operator.reads}
        mapped = {access.tensor for operator in graph.operators if operator.is_map() for access in operator.reads}
        self.able = reduced - mapped - set(graph.outputs)

    def parts(self, operator: Operator) -> Iterator[Operator]:
        """What a mask lets through, and the mask; other operators as they are."""
        result, is_able = operator.write.tensor, operator.is_map() and operator.write.tensor in self.able
        match operator.body:
            case Apply("where", (condition, Apply() as kept, Literal() as fill)) if is_able and _is_of_positions(condition):
                between = self.declared(f"{result}_kept", result, self.tensors[result].dtype)
                write = Access(between.name, operator.write.indices)
                yield with_used_reads(replace(operator, name=f"{operator.name}_kept", write=write, body=kept))
                reads = (*operator.reads, write)
                yield with_used_reads(replace(operator, reads=reads, body=apply("where", condition, Load(len(reads) - 1), fill)))
            case _:
                yield operator


def _is_of_positions(condition: Scalar) -> bool:
    """Whether part of a condition bounds one axis by others."""
    return any(constraint_of(part) is not None for part in conjuncts(condition))
