"""The search of the fusion level by the core: what `exact_search` does with arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tilewright.plan.counts import Counted, count
from tilewright.plan.model.pricing import Candidate
from tilewright.plan.schedule import FusedGroup
from tilewright.plan.search.candidates import Found, Order
from tilewright.plan.search.core import library
from tilewright.plan.search.core.data import Data, Numbers, Packed
from tilewright.plan.search.core.orders import Tree, Variant, pack_tree, packed_choices, packed_orders
from tilewright.plan.search.core.problem import packed_problem
from tilewright.plan.search.core.tables import Extents, packed_tables
from tilewright.plan.space.loop_trees import executable_fused_groups, group_choices, tree_choices
from tilewright.plan.space.schedule_space import Space
from tilewright.records import record

COUNTED = (Counted.ORDERS_PRICED, Counted.CANDIDATES, Counted.PRICINGS, Counted.ELEMENTS)
"""In the order of `Counts` in pricing.c."""


@record
class CoreProblem:
    """A space and its orders of outer loops, as the core reads them."""

    space: Space
    variants: tuple[Variant, ...]
    numbers: Numbers
    problem: Packed
    orders: Packed
    tables: Packed

    def called(self, function: Callable[..., int], *arguments: Any) -> None:
        """Call a function of the core for this problem, whose data lives as long as it does. Raises `BeyondLimits`."""
        problem, orders, tables = map(library.data_of, (self.problem, self.orders, self.tables))
        before = ctypes.byref(problem), ctypes.byref(orders), len(self.variants)
        library.called(function, before, (ctypes.byref(tables), *arguments), lambda: True)


def core_problem(core: library.Core, space: Space, variants: tuple[Variant, ...]) -> CoreProblem:
    """Raises `BeyondLimits`."""
    numbers = Numbers(space.context.chain)
    problem, orders = packed_problem(space, numbers), packed_orders(variants, numbers).packed()
    is_alone = len(space.context.chain.operators) == 1
    extents = {} if is_alone else _extents(core, problem, orders, len(variants), numbers)
    return CoreProblem(space, variants, numbers, problem, orders, packed_tables(space, numbers, extents))


def _extents(core: library.Core, problem: Packed, orders: Packed, count: int, numbers: Numbers) -> Extents:
    """The extents of all required regions."""
    found = (ctypes.c_int64 * 2)()
    data, of_orders = library.data_of(problem), library.data_of(orders)
    before, address = (ctypes.byref(data), ctypes.byref(of_orders), count), ctypes.addressof(found)
    return library.called(core.tw_extents, before, (address,), lambda: _read_extents(found, numbers))


def _read_extents(found: ctypes.Array[ctypes.c_int64], numbers: Numbers) -> Extents:
    operators, axes, extents = list(numbers.operators), list(numbers.axes), {}
    heads = (ctypes.c_int64 * found[1]).from_address(found[0])
    for operator, axis, pairs, first in zip(*(iter(heads),) * 4, strict=True):
        numbers_of_pairs = (ctypes.c_int64 * (2 * pairs)).from_address(first)[:]
        extents[operators[operator], axes[axis]] = list(zip(*(iter(numbers_of_pairs),) * 2, strict=True))
    return extents


def search(core: library.Core, problem: CoreProblem, groups: tuple[FusedGroup, ...], kept_bounds: int) -> list[Found]:
    """The best candidate of every order that can compete, and what the first few others cost at least.

    `groups` are the fused groups that the axes of the chain allow.
    """
    trees = tuple(_trees(core, problem, groups)) if groups else ()
    data, chain, tiles = Data(), problem.space.context.chain, _all_tiles(problem.space)
    for tree in trees:
        pack_tree(data, chain, tree, tiles, problem.numbers)
    packed_trees = data.packed()
    operators, orders_made = len(problem.numbers.operators), len(problem.variants) + len(trees)
    integers, reals = np.empty(orders_made * (14 + 10 * operators), dtype=np.int64), np.empty(3 * orders_made)
    counts = np.zeros(len(COUNTED), dtype=np.int64)
    addresses = (array.__array_interface__["data"][0] for array in (integers, reals, counts))
    of_trees = ctypes.byref(library.data_of(packed_trees))
    problem.called(core.tw_search, of_trees, len(trees), bool(groups), kept_bounds, *addresses)
    count(Counted.ORDERS, orders_made)
    for kind, times in zip(COUNTED, counts.tolist(), strict=True):
        count(kind, times)
    return list(_decoded(problem, trees, iter(integers.tolist()), iter(reals.tolist())))


def _all_tiles(space: Space) -> dict[str, tuple[int, ...]]:
    return {axis: (1,) if axis in space.batch else tiles for axis, tiles in space.tiles.items()}


def _trees(core: library.Core, problem: CoreProblem, groups: tuple[FusedGroup, ...]) -> Iterator[Tree]:
    """Every order that keeps all intermediates with fused groups below it, where the memory that they save can matter."""
    space, chain = problem.space, problem.space.context.chain
    free = [() if buffered else _free(groups, outer_loops) for outer_loops, buffered in problem.variants]
    choices = [tuple(group_choices(some)) if some else () for some in free]
    packed = packed_choices(chain, problem.variants, choices, problem.numbers)
    lengths = (1 + sum(1 + len(space.outer_tiles(axis)) for axis in loops) for loops, _ in problem.variants)
    found, data = np.empty(sum(lengths), dtype=np.int64), library.data_of(packed)
    address = found.__array_interface__["data"][0]
    problem.called(core.tw_above_trees, ctypes.byref(data), address)
    numbers = iter(found.tolist())
    for order, (outer_loops, _) in enumerate(problem.variants):
        if not next(numbers):
            continue
        axes = [axis for axis in problem.numbers.axes if axis in outer_loops]
        places = {axis: [next(numbers) for _ in range(next(numbers))] for axis in axes}
        able = executable_fused_groups(space, outer_loops, free[order])
        above = {axis: tuple(space.outer_tiles(axis)[place] for place in some) for axis, some in places.items()}
        for below in group_choices(able) if able else ():
            yield Tree(order, outer_loops, tree_choices(space, above, below), below)


def _free(groups: tuple[FusedGroup, ...], outer_loops: tuple[str, ...]) -> tuple[FusedGroup, ...]:
    return tuple(group for group in groups if not set(group.axes) & set(outer_loops))


def _decoded(problem: CoreProblem, trees: Sequence[Tree], numbers: Iterator[int], figures: Iterator[float]) -> Iterator[Found]:
    orders = [Tree(number, outer_loops, {}, ()) for number, (outer_loops, _) in enumerate(problem.variants)]
    for order in (*orders, *trees):
        is_found = next(numbers)
        if is_found >= 0:
            yield Found(bool(is_found), _candidate(problem, order, bool(is_found), numbers, figures))


def _candidate(problem: CoreProblem, order: Tree, is_found: bool, numbers: Iterator[int], figures: Iterator[float]) -> Candidate:
    space, axes, blocks = problem.space, list(problem.numbers.axes), next(numbers)
    inside = {axis for group in order.fused_groups for axis in group.axes}
    of_axis = {axis: space.tiles[axis] if axis in inside else space.outer_tiles(axis) for axis in (*order.outer_loops, *inside)}
    tiles = {axis: of_axis[axis][next(numbers)] for axis in axes if axis in of_axis}
    inner = {operator: _inner_loops(space, axes, numbers) for operator in problem.numbers.operators} if is_found else {}
    seconds, cores_s, used_bytes = next(figures), next(figures), int(next(figures))
    loops = Order(order.outer_loops, problem.variants[order.order][1], order.fused_groups)
    if not is_found:
        return loops.bound(space.context, tiles, cores_s=cores_s, used_bytes=used_bytes, blocks=blocks)
    return loops.candidate(space.context, tiles, inner, seconds=seconds, cores_s=cores_s, used_bytes=used_bytes, blocks=blocks)


def _inner_loops(space: Space, axes: list[str], numbers: Iterator[int]) -> dict[str, int]:
    """The inner loops of an operator with their tiles, outermost first."""
    place, order = next(numbers), [axes[next(numbers)] for _ in range(next(numbers))]
    tiles = {}
    for axis in reversed([axis for axis in axes if axis in order]):
        place, at = divmod(place, len(space.tiles[axis]))
        tiles[axis] = space.tiles[axis][at]
    return {axis: tiles[axis] for axis in order}


def least_times(
    core: library.Core, problem: CoreProblem, shown: float, gain_s: float, call_s: float, limit_s: float
) -> tuple[float, float] | None:
    """See `exact_search.least_times_above`."""
    found = np.empty(3)
    problem.called(core.tw_least_times, shown, gain_s, call_s, limit_s, found.__array_interface__["data"][0])
    return (float(found[0]), float(found[1])) if found[2] else None
