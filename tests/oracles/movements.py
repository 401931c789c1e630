"""Movement and memory of given schedules by the formulas of the model, and by Chimera's Algorithm 1 as it is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from tilewright.arrays import Count, as_integer, maximum, product
from tilewright.graph.expressions.index import Index
from tilewright.graph.types import Access, Chain
from tilewright.plan import permutations
from tilewright.plan.model.memory.working_set import outer_accesses
from tilewright.plan.permutations import view_permutation, working_set
from tilewright.plan.regions.loop_views import ChainView, OperatorView, view_schedule
from tilewright.plan.schedule import Schedule, Storage

EXACT, LITERAL = "exact", "literal"


def schedule_movements(chain: Chain, schedule: Schedule, *, mode: str = EXACT) -> dict[str, int]:
    """Elements of every input and output that a schedule moves between the level and the one behind it.

    `mode` is "exact" or "literal" (Algorithm 1 as printed, which knows neither storage nor partial sums).
    """
    moved = movements(view_schedule(chain, schedule), mode=mode)
    return {tensor: int(elements) for tensor, elements in moved.items()}


def movements(view: ChainView, *, mode: str = EXACT) -> dict[str, Count]:
    """Elements moved of every input and output of the chain, by tensor; several reads of one tensor add up."""
    assert mode in (EXACT, LITERAL), mode
    return permutations.movements(view) if mode == EXACT else literal_movements(view)


def permutation_movements(
    chain: Chain,
    order: Sequence[str],
    tiles: Mapping[str, Count],
    *,
    storage: Storage | Mapping[str, Storage] = Storage.KEEP,
    mode: str = EXACT,
) -> dict[str, Count]:
    """As `schedule_movements` for `permuted(chain, order, tiles)`; tiles may be arrays that broadcast."""
    return movements(view_permutation(chain, order, tiles, storage=storage), mode=mode)


def literal_movements(view: ChainView) -> dict[str, Count]:
    """The same by Algorithm 1 as printed."""
    totals: dict[str, Count] = {}
    for operator_view, access, _ in outer_accesses(view):
        totals[access.tensor] = as_integer(totals.get(access.tensor, 0) + _literal_movement(operator_view, access))
    return totals


def _literal_movement(view: OperatorView, access: Access) -> Count:
    """Lines 5 to 16 of Algorithm 1 as printed."""
    operator_axes = {axis.name for axis in view.operator.axes}
    moved = bounding_box(access, view.tiles)
    keep_reuse = True
    for loop in reversed(view.loops):
        if loop.axis in operator_axes:
            keep_reuse = keep_reuse and loop.axis not in access.axes()
            moved = moved if keep_reuse else moved * loop.trips
    return moved


def working_set_elements(chain: Chain, schedule: Schedule) -> int:
    """The largest working set of any operator of a schedule, at planned sizes."""
    return int(working_set(view_schedule(chain, schedule)))


def literal_memory_use(view: ChainView) -> Count:
    """Algorithm 1's MU as printed: the largest sum of the tiles (bounding boxes) of one operator."""
    sums = [
        sum(bounding_box(access, member.tiles) for access in (*dict.fromkeys(member.operator.reads), member.operator.write))
        for member in view.operators
    ]
    return as_integer(reduce(maximum, sums))


def bounding_box(access: Access, tiles: Mapping[str, Count]) -> Count:
    """The footprint as Chimera's getFootprint gives it (Algorithm 1, line 5): the product of `1 + sum(|c| * (s - 1))`."""
    return product(_span(index, tiles) for index in access.indices)


def _span(index: Index, tiles: Mapping[str, Count]) -> Count:
    """The length of the interval of values that an affine index takes in a tile."""
    assert index.is_affine(), index
    return 1 + sum(abs(factor) * (tiles[str(atom)] - 1) for atom, factor in index.terms)
