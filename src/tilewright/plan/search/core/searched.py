"""The search of the fusion level by the core: what `exact_search` does with arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.graph.types import SymbolicExtent
from tilewright.plan.model.pricing import Candidate
from tilewright.plan.model.threads import imbalance
from tilewright.plan.schedule import planned_sizes
from tilewright.plan.search.core import library
from tilewright.plan.search.core.orders import Variant, packed_orders
from tilewright.plan.search.core.problem import Extents, Numbers, Packed, packed_problem, packed_tables
from tilewright.plan.space.schedule_space import Space


@dataclass(frozen=True, slots=True)
class CoreProblem:
    """A space and its orders of outer loops, as the core reads them."""

    space: Space
    variants: tuple[Variant, ...]
    numbers: Numbers
    problem: Packed
    orders: Packed
    tables: Packed


def core_problem(core: library.Core, space: Space, variants: tuple[Variant, ...]) -> CoreProblem:
    """Raises `BeyondLimits`."""
    numbers = Numbers(space.context.chain)
    problem, orders = packed_problem(space, numbers), packed_orders(variants, numbers)
    extents = _extents(core, problem, orders, len(variants), numbers) if len(space.context.chain.operators) > 1 else {}
    return CoreProblem(space, variants, numbers, problem, orders, packed_tables(space, numbers, extents))


def _extents(core: library.Core, problem: Packed, orders: Packed, count: int, numbers: Numbers) -> Extents:
    """The extents of all required regions."""
    found = (ctypes.c_int64 * 2)()
    data, of_orders = library.data_of(problem), library.data_of(orders)
    library.called(core.tw_extents, (ctypes.byref(data), ctypes.byref(of_orders), count), (ctypes.addressof(found),))
    heads = (ctypes.c_int64 * found[1]).from_address(found[0])
    operators, axes, extents = list(numbers.operators), list(numbers.axes), {}
    for operator, axis, pairs, first in zip(*(iter(heads),) * 4, strict=True):
        numbers_of_pairs = (ctypes.c_int64 * (2 * pairs)).from_address(first)[:]
        extents[operators[operator], axes[axis]] = list(zip(*(iter(numbers_of_pairs),) * 2, strict=True))
    return extents


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found for an order of outer loops: its best candidate, or what it costs at least."""

    is_found: bool
    candidate: Candidate


def _called(function: Callable[..., int], problem: CoreProblem, *arguments: Any) -> None:
    data = [library.data_of(packed) for packed in (problem.problem, problem.orders, problem.tables)]
    before = ctypes.byref(data[0]), ctypes.byref(data[1]), len(problem.variants)
    library.called(function, before, (ctypes.byref(data[2]), *arguments))


def search(core: library.Core, problem: CoreProblem, kept_bounds: int) -> list[Found]:
    """The best candidate of every order that can compete, and what the first few others cost at least."""
    operators = len(problem.numbers.operators)
    integers = np.empty(sum(2 + len(loops) + 10 * operators for loops, _ in problem.variants), dtype=np.int64)
    reals = np.empty(3 * len(problem.variants))
    addresses = (array.__array_interface__["data"][0] for array in (integers, reals))
    _called(core.tw_search, problem, kept_bounds, *addresses)
    return list(_decoded(problem, iter(integers.tolist()), iter(reals.tolist())))


def _decoded(problem: CoreProblem, numbers: Iterator[int], figures: Iterator[float]) -> Iterator[Found]:
    for variant in problem.variants:
        is_found = next(numbers)
        if is_found >= 0:
            yield Found(bool(is_found), _candidate(problem, variant, bool(is_found), numbers, figures))


def _candidate(
    problem: CoreProblem, variant: Variant, is_found: bool, numbers: Iterator[int], figures: Iterator[float]
) -> Candidate:
    outer_loops, line_buffered = variant
    context, space = problem.space.context, problem.space
    axes, blocks = list(problem.numbers.axes), next(numbers)
    tiles = {axis: space.outer_tiles(axis)[next(numbers)] for axis in axes if axis in outer_loops}
    inner = {operator: _inner_loops(space, axes, numbers) for operator in problem.numbers.operators} if is_found else {}
    seconds, cores_s, used = next(figures), next(figures), int(next(figures))
    cut = tuple(axis for axis in outer_loops if _cuts(space, axis, tiles[axis]))
    if not is_found:
        seconds = cores_s * context.machine.cores / imbalance(blocks, context.machine.cores)
        return Candidate(cut, tiles, {}, {}, seconds, cores_s, used, blocks, True, line_buffered)
    orders = {name: tuple(axis for axis, tile in loops.items() if _cuts(space, axis, tile)) for name, loops in inner.items()}
    buffered = line_buffered if cut[-1:] == outer_loops[-1:] else ()
    return Candidate(cut, tiles, orders, inner, seconds, cores_s, used, blocks, line_buffered=buffered)


def _inner_loops(space: Space, axes: list[str], numbers: Iterator[int]) -> dict[str, int]:
    """The inner loops of an operator with their tiles, outermost first."""
    place, order = next(numbers), [axes[next(numbers)] for _ in range(next(numbers))]
    tiles = {}
    for axis in reversed([axis for axis in axes if axis in order]):
        place, at = divmod(place, len(space.tiles[axis]))
        tiles[axis] = space.tiles[axis][at]
    return {axis: tiles[axis] for axis in order}


def _cuts(space: Space, axis: str, tile: int) -> bool:
    chain = space.context.chain
    return isinstance(chain.extents[axis], SymbolicExtent) or tile < planned_sizes(chain)[axis]


def least_times(
    core: library.Core, problem: CoreProblem, shown: float, gain_s: float, call_s: float, limit_s: float
) -> tuple[float, float] | None:
    """See `exact_search.least_times_above`."""
    found = np.empty(3)
    _called(core.tw_least_times, problem, shown, gain_s, call_s, limit_s, found.__array_interface__["data"][0])
    return (float(found[0]), float(found[1])) if found[2] else None
