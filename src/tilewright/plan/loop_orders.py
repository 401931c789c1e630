"""Schedules from loop orders: the space that is searched, ordered outer loops around all operators, and under them a nest for
each. It contains the movement of every executable permutation of one nest (Chimera, section IV-B), and generalises to any
number of operators.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby

from tilewright.graph.types import Chain
from tilewright.plan.chains import equal_axes
from tilewright.plan.schedule import Compute, FusedGroup, Loop, Node, Schedule, Storage, fused_group_of


def fused_schedule(
    chain: Chain,
    outer_loops: Sequence[str],
    inner_orders: Mapping[str, Sequence[str]],
    tiles: Mapping[str, int],
    inner_tiles: Mapping[str, Mapping[str, int]] | None = None,
    line_buffered: Collection[str] = (),
    fused_groups: Sequence[FusedGroup] = (),
) -> Schedule:
    """Outer loops around everything, then for every operator the nest of its inner loop order (none if not named).

    The operators of a partially fused group stand together in its loops.

    Intermediates whose producer lacks a of the outer loops are recomputed, or line-buffered along the innermost loop, and so is
    all that they are computed from. `inner_tiles` overrides `tiles` for the inner loops of an operator.
    """
    inner = inner_tiles or {}
    body: list[Node] = []
    for fused_group, members in groupby((op.name for op in chain.operators), lambda name: fused_group_of(fused_groups, name)):
        nests = [nest(inner_orders.get(name, ()), {**tiles, **inner.get(name, {})}, (Compute(name),)) for name in members]
        body += nest(fused_group.axes if fused_group else (), tiles, tuple(node for nodes in nests for node in nodes))
    return Schedule(nest(outer_loops, tiles, tuple(body)), tuple(storage_below(chain, outer_loops, line_buffered).items()))


def storage_below(chain: Chain, outer_loops: Sequence[str], line_buffered: Collection[str] = ()) -> dict[str, Storage]:
    """What an order of outer loops makes of every intermediate: kept if producer and consumers walk alike along all loops, else
    recomputed or, where it is named in `line_buffered`, line-buffered."""
    return {tensor: _storage_below(chain, outer_loops, tensor, line_buffered) for tensor in chain.intermediates}


def _storage_below(chain: Chain, outer_loops: Sequence[str], tensor: str, line_buffered: Collection[str]) -> Storage:
    if set(outer_loops) <= equal_axes(chain, tensor):
        return Storage.KEEP
    return Storage.LINE_BUFFER if tensor in line_buffered else Storage.RECOMPUTE


def nest(order: Sequence[str], tiles: Mapping[str, int], body: tuple[Node, ...]) -> tuple[Node, ...]:
    """The loops of an order, outermost first, around a body."""
    for axis in reversed(order):
        body = (Loop(axis, tiles[axis], body),)
    return body
