"""The work of a kernel by its tiles: trips, products, bytes into and out of a core, functions. All exact, padding included.

Tiles are integers, or arrays of floats of equal shape, one element for each candidate: the same formulas serve both. A leaf
loads what it reads of inputs each time that it runs, and an operand that stays once where its `Pack` stands; lanes outside of a
tensor, and where a guard does not hold, load nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tilewright.backends.triton_gpu.guarded_points import real_points
from tilewright.backends.triton_gpu.roles import Product
from tilewright.backends.triton_gpu.skeleton import Skeleton
from tilewright.graph.expressions.scalar import Apply, Scalar, subexpressions
from tilewright.graph.types import Access, Operator
from tilewright.plan.regions.tile_domains import TileDomain, tile_domain
from tilewright.plan.schedule import Compute, Loop, Node
from tilewright.records import record

Count: TypeAlias = Any
"""An integer, or an array of floats with an element for each candidate."""
Tiles: TypeAlias = Mapping[str, Count]

FUNCTION_UNITS = {
    **dict.fromkeys(("exp", "sqrt", "rsqrt", "reciprocal", "divide", "log"), 1),
    **dict.fromkeys(("sigmoid", "tanh", "erf", "gelu"), 2),
}
"""How often a scalar function takes the unit of functions; an estimate from the formulas of its approximations."""


@record
class Read:
    """A read of an input, by the operator that makes it, with the axes of the loops around the place where it is loaded."""

    operator: str
    access: Access
    loops: tuple[str, ...]
    points: int
    """Of the tensor's elements that one walk along all axes of the access loads."""
    element_bytes: int

    def bytes(self, trips: Tiles, masked: Masked | None = None) -> Count:
        """All that blocks load together: a walk for every trip of the loops that the access does not depend on."""
        own = _axes(self.access)
        if masked is None or masked.domain.axis not in self.loops:
            return self.points * self.element_bytes * prod(trips[axis] for axis in self.loops if axis not in own)
        pair = masked.domain.row, masked.domain.axis
        points = self.points // prod(masked.extents[axis] for axis in pair if axis in own)
        others = prod(trips[axis] for axis in self.loops if axis not in own and axis not in pair)
        return points * self.element_bytes * others * trips[PAIRS[pair[0] in own, pair[1] in own]]


@record
class Masked:
    """Masks that leave out blocks of keys, and the extents of keys and rows."""

    domain: TileDomain
    extents: Mapping[str, int] = field(hash=False)

    def sums(self, tiles: Tiles) -> dict[str, Count]:
        """By the names of `PAIRS`: sums over all blocks of rows."""
        sizes = [tiles.get(axis, 1) for axis in (self.domain.row, self.domain.axis)]
        if not any(isinstance(size, np.ndarray) for size in sizes):
            return dict(zip(PAIRS.values(), self._sums(*map(int, sizes)), strict=True))
        pairs = np.stack(np.broadcast_arrays(*sizes))
        known, which = np.unique(pairs, axis=1, return_inverse=True)
        found = np.array([self._sums(int(row), int(key)) for row, key in known.T], float).reshape(-1, len(PAIRS))
        return {name: found[which.ravel(), place] for place, name in enumerate(PAIRS.values())}

    def _sums(self, rows: int, keys: int) -> tuple[int, int, int, int]:
        extent, length = self.extents[self.domain.row], self.extents[self.domain.axis]
        first = np.arange(0, extent, rows)
        last = np.minimum(first + rows, extent) - 1
        _, count = self.domain.keys(first, last, length, keys) if length > keys else (0, length + 0 * first)
        held, trips = last - first + 1, -(-count // keys)
        return int(trips.sum()), int(count.sum()), int((held * trips).sum()), int((held * count).sum())


PAIRS = {
    (False, False): "# trips",
    (False, True): "# keys",
    (True, False): "# rows of trips",
    (True, True): "# rows of keys",
}
"""Names among trips, by whether something depends on rows and on keys: what all blocks of rows have together."""


@record(eq=False)
class Work:
    """What no tile changes of the work of a kernel."""

    skeleton: Skeleton
    extents: Mapping[str, int]
    loops: Mapping[str, tuple[str, ...]]
    """By operator the axes of the loops around it."""
    reads: tuple[Read, ...]
    store_bytes: int
    functions: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By operator (times that a point takes the unit of functions, other operations of a point)."""
    masked: Masked | None = None

    def trips(self, tiles: Tiles) -> dict[str, Count]:
        """How often the loop over every axis runs, without masks, and what masks leave (`PAIRS`)."""
        found = {axis: -(-extent // tiles.get(axis, 1)) for axis, extent in self.extents.items()}
        return found if self.masked is None else {**found, **self.masked.sums(tiles)}

    def fused_trips(self, trips: Tiles) -> Count:
        """Blocks of the fused axis in a block of the grid, on average."""
        if self.masked is None:
            return trips[self.skeleton.roles.fused]
        return trips[PAIRS[False, False]] / trips[self.masked.domain.row]

    def blocks(self, trips: Tiles) -> Count:
        """Blocks of the grid."""
        return prod(trips[axis] for axis in self.skeleton.roles.grid)

    def visits(self, operator: str, trips: Tiles) -> Count:
        """How often an operator runs, in all blocks."""
        loops = self.loops[operator]
        if self.masked is None or self.masked.domain.axis not in loops:
            return prod(trips[axis] for axis in loops)
        pair = self.masked.domain.row, self.masked.domain.axis
        return trips[PAIRS[False, False]] * prod(trips[axis] for axis in loops if axis not in pair)

    def flops(self, product: Product, tiles: Tiles, trips: Tiles) -> Count:
        """Of a product, on whole tiles: two for each multiply-add."""
        sides = (product.row, product.column, product.depth)
        return 2 * self.visits(product.operator.name, trips) * prod(tiles[axis] for axis in sides)

    def moved(self, trips: Tiles) -> dict[str, Count]:
        """Bytes by tensor into all cores, and of the output out of them."""
        found: dict[str, Count] = {}
        for read in self.reads:
            found[read.access.tensor] = found.get(read.access.tensor, 0) + read.bytes(trips, self.masked)
        output = self.skeleton.roles.chain.output
        return {**found, output: found.get(output, 0) + self.store_bytes}

    def evaluated(self, tiles: Tiles, trips: Tiles) -> tuple[Count, Count]:
        """(functions, other operations) of all maps and reductions, on whole tiles."""
        functions: Count = 0
        others: Count = 0
        for operator in self.skeleton.roles.chain.operators:
            units, operations = self.functions.get(operator.name, (0, 0))
            points = self.visits(operator.name, trips) * prod(tiles.get(axis.name, 1) for axis in operator.axes)
            functions, others = functions + units * points, others + operations * points
        return functions, others


def work_of(skeleton: Skeleton) -> Work:
    """The work of a kernel with these loops."""
    chain = skeleton.roles.chain
    extents = {axis: extent for axis, extent in chain.extents.items() if isinstance(extent, int)}
    leaves = list(_leaves((), skeleton.body))
    loops = {node.operator: path for path, node in leaves if isinstance(node, Compute)}
    packs = {(node.operator, node.read): path for path, node in leaves if not isinstance(node, Compute)}
    reads = tuple(
        Read(operator.name, read, packs.get((operator.name, number), loops[operator.name]), real_points(read, extents), size)
        for operator in chain.operators
        for number, read in enumerate(operator.reads)
        if read.tensor in chain.inputs and (size := chain.tensor(read.tensor).element_bytes)
    )
    output = chain.tensor(chain.output)
    written = prod(extents[axis] for axis in chain.operators[-1].write.axes()) * output.element_bytes
    products = {product.operator.name for product in skeleton.roles.products}
    functions = {operator.name: _functions(operator) for operator in chain.operators if operator.name not in products}
    return Work(skeleton, extents, loops, reads, written, functions, _masked(skeleton, loops, extents))


def _masked(skeleton: Skeleton, loops: Mapping[str, tuple[str, ...]], extents: Mapping[str, int]) -> Masked | None:
    """What masks leave out of the loop over the fused axis; None where they bound nothing there."""
    domain = tile_domain(skeleton.roles.chain)
    if domain is None or domain.axis != skeleton.roles.fused:
        return None
    inside = all(domain.axis in loops[name] for name in domain.operators)
    return Masked(domain, extents) if inside and domain.row in skeleton.roles.grid else None


def _functions(operator: Operator) -> tuple[int, int]:
    """How often a point takes the unit of functions, and how many other operations it needs."""
    names = list(_applied(operator))
    units = sum(FUNCTION_UNITS.get(name, 0) for name in names)
    return units, len(names)


def _applied(operator: Operator) -> Iterator[str]:
    """The functions of a point: what a row has once is left out."""
    roots: list[Scalar] = [operator.body]
    if operator.reduction is not None:
        roots += [state.contribution for state in operator.reduction.states]
        yield from (state.combine for state in operator.reduction.states)
        if all(axis.name in operator.write.axes() for axis in operator.reduction_axes()):
            roots.append(operator.reduction.finish)
    yield from (node.function for root in roots for node in subexpressions(root) if isinstance(node, Apply))


def _leaves(path: tuple[str, ...], body: Iterable[Node]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for node in body:
        if isinstance(node, Loop):
            yield from _leaves((*path, node.axis), node.body)
        else:
            yield path, node


def _axes(access: Access) -> frozenset[str]:
    return access.axes() | access.guard.axes() if access.guard is not None else access.axes()
