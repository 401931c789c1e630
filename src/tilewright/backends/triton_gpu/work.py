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

from tilewright.backends.triton_gpu.guarded_points import real_points
from tilewright.backends.triton_gpu.roles import Product
from tilewright.backends.triton_gpu.skeleton import Skeleton
from tilewright.graph.expressions.scalar import Apply, Scalar, subexpressions
from tilewright.graph.types import Access, Operator
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

    def bytes(self, trips: Tiles) -> Count:
        """All that blocks load together: a walk for every trip of the loops that the access does not depend on."""
        own = _axes(self.access)
        return self.points * self.element_bytes * prod(trips[axis] for axis in self.loops if axis not in own)


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

    def trips(self, tiles: Tiles) -> dict[str, Count]:
        """How often the loop over every axis runs."""
        return {axis: -(-extent // tiles.get(axis, 1)) for axis, extent in self.extents.items()}

    def blocks(self, trips: Tiles) -> Count:
        """Blocks of the grid."""
        return prod(trips[axis] for axis in self.skeleton.roles.grid)

    def visits(self, operator: str, trips: Tiles) -> Count:
        """How often an operator runs, in all blocks."""
        return prod(trips[axis] for axis in self.loops[operator])

    def flops(self, product: Product, tiles: Tiles, trips: Tiles) -> Count:
        """Of a product, on whole tiles: two for each multiply-add."""
        sides = (product.row, product.column, product.depth)
        return 2 * self.visits(product.operator.name, trips) * prod(tiles[axis] for axis in sides)

    def moved(self, trips: Tiles) -> dict[str, Count]:
        """Bytes by tensor into all cores, and of the output out of them."""
        found: dict[str, Count] = {}
        for read in self.reads:
            found[read.access.tensor] = found.get(read.access.tensor, 0) + read.bytes(trips)
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
    return Work(skeleton, extents, loops, reads, written, functions)


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
