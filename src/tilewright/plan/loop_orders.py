"""Schedules from loop orders.

`permuted` gives the paper's schedules (Chimera, section IV-B): one nest of all loops. `prefixed` gives the space that is
searched: an ordered prefix of loops around all operators, and under it a nest of its own for each. It contains every
executable permutation's movement, and generalises to any number of operators.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby

from tilewright.graph.types import Chain, Operator
from tilewright.plan.chains import axis_names, equal_axes, upstream
from tilewright.plan.schedule import Compute, Loop, Node, Schedule, Segment, Storage, Trip, When, segment_of


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
    return Schedule(nest(order, tiles, body), tuple(decisions.items()))


def prefixed(
    chain: Chain,
    prefix: Sequence[str],
    own_orders: Mapping[str, Sequence[str]],
    tiles: Mapping[str, int],
    own_tiles: Mapping[str, Mapping[str, int]] | None = None,
    rolled: Collection[str] = (),
    segments: Sequence[Segment] = (),
) -> Schedule:
    """Loops of the prefix around everything, then for every operator the nest of its own order (none if not named).

    The operators of a segment stand together in its loops.

    Intermediates whose producer lacks a loop of the prefix are recomputed, or rolled along the innermost loop, and so is all
    that they are computed from. `own_tiles` overrides `tiles` for the own loops of an operator.
    """
    own = own_tiles or {}
    body: list[Node] = []
    for segment, members in groupby((op.name for op in chain.operators), lambda name: segment_of(segments, name)):
        nests = [nest(own_orders.get(name, ()), {**tiles, **own.get(name, {})}, (Compute(name),)) for name in members]
        body += nest(segment.axes if segment else (), tiles, tuple(node for nodes in nests for node in nodes))
    return Schedule(nest(prefix, tiles, tuple(body)), tuple(prefix_storage(chain, prefix, rolled).items()))


def prefix_storage(chain: Chain, prefix: Sequence[str], rolled: Collection[str] = ()) -> dict[str, Storage]:
    """What a prefix makes of every intermediate: kept if producer and consumers walk alike along all loops, else recomputed
    or, where it is named in `rolled`, rolled."""
    return {tensor: _prefix_storage(chain, prefix, tensor, rolled) for tensor in chain.intermediates}


def _prefix_storage(chain: Chain, prefix: Sequence[str], tensor: str, rolled: Collection[str]) -> Storage:
    if set(prefix) <= equal_axes(chain, tensor):
        return Storage.KEEP
    return Storage.ROLL if tensor in rolled else Storage.RECOMPUTE


def nest(order: Sequence[str], tiles: Mapping[str, int], body: tuple[Node, ...]) -> tuple[Node, ...]:
    """The loops of an order, outermost first, around a body."""
    for axis in reversed(order):
        body = (Loop(axis, tiles[axis], body),)
    return body


def _conditions(chain: Chain, operator: Operator, order: Sequence[str], storage: Mapping[str, Storage]) -> tuple[When, ...]:
    own, before = axis_names((operator,)), axis_names(upstream(chain, operator))
    conditions = []
    for axis in order:
        if axis not in own and axis in before:
            conditions.append(When(axis, Trip.LAST))
        elif axis not in own and storage.get(operator.write.tensor) is not Storage.RECOMPUTE:
            conditions.append(When(axis, Trip.FIRST))
    return tuple(conditions)
