"""Chimera's loop permutations, one nest of all loops, what they move, and solutions of Equation 1: the tiles that move least.

S. Zheng et al., "Chimera: An Analytical Optimizing Framework for Effective Compute-intensive Operators Fusion", HPCA 2023,
section IV-B, with the corrections of docs/planning-reference.md. `tilewright explain --movement` and tests ask for it; plans are
searched in a larger space.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tilewright.arrays import Count, as_integer
from tilewright.errors import PlanningError
from tilewright.graph.types import Access, Chain, Operator
from tilewright.plan.chains import axis_names
from tilewright.plan.model.memory.traffic import tile_visits
from tilewright.plan.model.memory.working_set import outer_accesses, working_set_bytes
from tilewright.plan.regions.footprint import swept_elements
from tilewright.plan.regions.loop_views import ChainView, LoopView, OperatorView, view_schedule
from tilewright.plan.schedule import Compute, Node, Schedule, Storage, Trip, When, nest, planned_sizes
from tilewright.plan.space.schedule_space import best_index, broadcast, candidates
from tilewright.records import record


def permuted(
    chain: Chain, order: Sequence[str], tiles: Mapping[str, int], *, storage: Storage | Mapping[str, Storage] = Storage.KEEP
) -> Schedule:
    """One nest of loops in this order (outermost first) around all operators; axes left out have no loop.

    A producer runs at the first block of loops that only operators behind it have (at every block if its result is
    recomputed); a consumer runs at the last block of loops that only operators before it have. `storage` is one decision
    for all intermediates, or one for each by name. Whether the result can be executed, `is_executable` says.
    """
    decisions = {t: storage if isinstance(storage, Storage) else storage.get(t, Storage.KEEP) for t in chain.intermediates}
    body: tuple[Node, ...] = tuple(
        Compute(operator.name, _conditions(chain, operator, order, decisions)) for operator in chain.operators
    )
    return Schedule(nest([(axis, tiles[axis]) for axis in order], body), tuple(decisions.items()))


def _conditions(chain: Chain, operator: Operator, order: Sequence[str], storage: Mapping[str, Storage]) -> tuple[When, ...]:
    operator_axes, before = operator.axis_names, axis_names(upstream(chain, operator))
    conditions = []
    for axis in order:
        if axis not in operator_axes and axis in before:
            conditions.append(When(axis, Trip.LAST))
        elif axis not in operator_axes and storage.get(operator.write.tensor) is not Storage.RECOMPUTE:
            conditions.append(When(axis, Trip.FIRST))
    return tuple(conditions)


def upstream(chain: Chain, operator: Operator) -> tuple[Operator, ...]:
    """All operators that an operator depends on, in topological order."""
    needed = {access.tensor for access in operator.reads}
    found = []
    for candidate in reversed(chain.operators):
        if candidate.write.tensor in needed:
            found.append(candidate)
            needed |= {access.tensor for access in candidate.reads}
    return tuple(reversed(found))


def movements(view: ChainView) -> dict[str, Count]:
    """Elements moved of every input and output of the chain, by tensor; several reads of one tensor add up."""
    totals: dict[str, Count] = {}
    for operator_view, access, is_output in outer_accesses(view):
        moved = access_movement(operator_view, access, view.sizes, is_output)
        totals[access.tensor] = as_integer(totals.get(access.tensor, 0) + moved)
    return totals


def access_movement(view: OperatorView, access: Access, sizes: Mapping[str, int], is_output: bool) -> Count:
    """Elements of one access that one operator moves: a partial sum that is visited again was written and is read back."""
    visits = tile_visits(view.running(), access.axes())
    times = 2 * visits - 1 if is_output else visits
    return as_integer(swept_elements(access, view.tiles, view.computed_sizes(sizes)) * times)


def working_set(view: ChainView) -> Count:
    """The largest working set of any operator, in elements of four bytes; tiles may be arrays."""
    return working_set_bytes(view) // 4


@record
class TileChoice:
    """The solution of Chimera's Equation 1 in integers: tiles by axis, elements moved, elements of memory used."""

    tiles: Mapping[str, int]
    moved: int
    used: int


def least_movement(
    chain: Chain,
    order: Sequence[str],
    capacity_elements: int,
    *,
    multiples: Mapping[str, int] | None = None,
    fixed: Mapping[str, int] | None = None,
    storage: Storage = Storage.KEEP,
    moving: Callable[[ChainView], Mapping[str, Count]] = movements,
    memory: Callable[[ChainView], Count] = working_set,
) -> TileChoice:
    """The tiles of one loop order that move least within a capacity (Chimera, Equation 1), over all candidates.

    `fixed` gives tiles that are not searched. `moving` and `memory` are other readings of what moves, by tensor, and of what must
    fit the capacity (default: what an ideal cache needs). Raises `PlanningError` if not even the smallest tiles fit.
    """
    sizes, fixed = planned_sizes(chain), fixed or {}
    free = [axis for axis in order if axis not in fixed]
    choices = {axis: candidates(sizes[axis], (multiples or {}).get(axis, 1)) for axis in free}
    tiles: dict[str, Count] = {**fixed, **broadcast(free, choices)}
    view = view_permutation(chain, order, tiles, storage=storage)
    shape = tuple(len(choices[axis]) for axis in free)
    used = np.broadcast_to(np.asarray(memory(view)), shape)
    moved = np.broadcast_to(np.asarray(sum(moving(view).values())), shape)
    if used.min() > capacity_elements:
        raise PlanningError(
            f"no tiles of order {''.join(order)} fit into {capacity_elements} elements",
            where=chain.name,
            why=f"the smallest need {used.min()}",
        )
    volumes = np.ones(shape, dtype=np.int64)
    for axis in free:
        volumes = volumes * np.minimum(tiles[axis], sizes[axis])
    index = best_index(np.where(used <= capacity_elements, moved, np.inf), volumes)
    chosen = {axis: choices[axis][i] for axis, i in zip(free, index, strict=True)}
    return TileChoice({**fixed, **chosen}, int(moved[index]), int(used[index]))


def view_permutation(
    chain: Chain,
    order: Sequence[str],
    tiles: Mapping[str, Count],
    *,
    storage: Storage | Mapping[str, Storage] = Storage.KEEP,
) -> ChainView:
    """The view of `permuted(chain, order, tiles)`; tiles may be arrays that broadcast."""
    sizes = planned_sizes(chain)
    shape = view_schedule(chain, permuted(chain, order, dict.fromkeys(order, 1), storage=storage))
    trips = {axis: -(-sizes[axis] // tiles[axis]) for axis in order}
    boxes = {axis: np.minimum(tiles[axis], size) if axis in tiles else size for axis, size in sizes.items()}
    views = tuple(
        OperatorView(
            view.operator,
            tuple(LoopView(loop.axis, trips[loop.axis], loop.node) for loop in view.loops),
            view.conditions,
            boxes,
        )
        for view in shape.operators
    )
    return ChainView(chain, views, shape.storage, sizes)
