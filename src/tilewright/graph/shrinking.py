"""Small instances of a graph: the same operators over shorter axes, for checks that interpret every point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from tilewright.graph.types import Access, Constant, Graph, Operator, planned_extent

CAPS = (257, 67, 33, 19, 9, 5, 3, 2)
"""Longest extents to try, in order; most are ragged for every tile."""

Place: TypeAlias = tuple[str, str, int | str]
"""A dimension ("tensor", name, number) or an axis ("operator", name, axis)."""


def shrunken(graph: Graph, most_points: int) -> Graph:
    """The graph itself if its operators have at most this many points together; else with its longest free extents cut.

    An extent is free if shortening changes nothing but sizes: every access uses its axes alone in an index, without offsets,
    multiples, divisions or lookups, and over the whole dimension. Other extents, and symbolic ones, stay: the result may still
    have more points than asked for.

    >>> from tilewright.graph.builders.builder import Builder
    >>> builder = Builder("f")
    >>> result = builder.map("exp", builder.input("x", (10_000, 3), "float32"))
    >>> graph = builder.graph((result.name,))
    >>> shrunken(graph, 1_000).tensor("x").shape
    (257, 3)
    """
    if points(graph) <= most_points:
        return graph
    free = _free_extents(graph)
    small = graph
    for cap in CAPS:
        small = _with_extents(graph, {place: min(extent, cap) for place, extent in free.items()})
        if points(small) <= most_points:
            break
    return small


def points(graph: Graph) -> int:
    """The points of the index spaces of all operators, symbolic extents at their hints."""
    return sum(math.prod(planned_extent(axis.extent) for axis in operator.axes) for operator in graph.operators)


def _free_extents(graph: Graph) -> dict[Place, int]:
    """The extent of every dimension and axis that may become shorter: what has the extent of something fixed is fixed, too."""
    extents = dict(_extents(graph))
    equal: list[set[Place]] = []
    fixed: set[Place] = {place for place, extent in extents.items() if not isinstance(extent, int)}
    for operator in graph.operators:
        for access in operator.accesses():
            for dimension, axes, is_plain in _uses(access):
                place: Place = ("tensor", access.tensor, dimension)
                used: list[Place] = [("operator", operator.name, axis) for axis in axes]
                if is_plain and extents[place] == extents[used[0]]:
                    equal.append({place, used[0]})
                else:
                    fixed.update((place, *used))
    while spread := {place for pair in equal if not pair.isdisjoint(fixed) for place in pair} - fixed:
        fixed |= spread
    return {place: extent for place, extent in extents.items() if isinstance(extent, int) and place not in fixed}


def _extents(graph: Graph) -> Iterator[tuple[Place, object]]:
    for tensor in graph.tensors:
        yield from ((("tensor", tensor.name, dimension), extent) for dimension, extent in enumerate(tensor.shape))
    for operator in graph.operators:
        yield from ((("operator", operator.name, axis.name), axis.extent) for axis in operator.axes)


def _uses(access: Access) -> Iterator[tuple[int, frozenset[str], bool]]:
    """Of every dimension: its number, the axes of its index, and whether the index is an axis alone."""
    looked_up = {dimension for dimension, _ in access.lookups}
    for dimension, index in enumerate(access.indices):
        yield dimension, index.axes(), index.is_axis() and dimension not in looked_up


def _with_extents(graph: Graph, extents: Mapping[Place, int]) -> Graph:
    tensors = []
    for tensor in graph.tensors:
        shape = tuple(extents.get(("tensor", tensor.name, d), extent) for d, extent in enumerate(tensor.shape))
        tensors.append(replace(tensor, shape=shape, entries=tensor.entries if shape == tensor.shape else None))
    shapes = {tensor.name: tensor.shape for tensor in tensors}
    constants = tuple((name, _cut(constant, shapes[name])) for name, constant in graph.constants)
    operators = tuple(_shorter(operator, extents) for operator in graph.operators)
    return replace(graph, tensors=tuple(tensors), operators=operators, constants=constants)


def _shorter(operator: Operator, extents: Mapping[Place, int]) -> Operator:
    axes = (replace(axis, extent=extents.get(("operator", operator.name, axis.name), axis.extent)) for axis in operator.axes)
    return replace(operator, axes=tuple(axes))


def _cut(constant: Constant, shape: tuple[object, ...]) -> Constant:
    if constant.array.shape == shape:
        return constant
    return Constant(constant.array[tuple(slice(extent) for extent in shape)], constant.has_values)
