"""Schedules: trees of loops with operators at their leaves, and what becomes of each intermediate.

A loop cuts the range of its axis that is current where it stands into blocks of `tile`; the last block may be shorter. A leaf
works on the box of current ranges: axes without a loop above it have their whole extent. Loops may nest on one axis (one per
memory level). The paper's loop permutations (Chimera, section IV-B) are trees whose leaves carry conditions: the producer runs
at the first block of loops that only consumers have, the consumer at the last block of loops that only producers have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from tilewright.plan.layout import Layout


class Trip(Enum):
    """A block at one end of an axis: it starts at 0 (first), or it ends at the extent (last)."""

    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True, slots=True)
class When:
    """The condition that the current block of `axis` is the first or the last."""

    axis: str
    trip: Trip


@dataclass(frozen=True, slots=True)
class Compute:
    """Run an operator on the current box, if all conditions hold."""

    operator: str
    when: tuple[When, ...] = ()


@dataclass(frozen=True, slots=True)
class Pack:
    """Copy what read number `read` of `operator` needs in the current box into a packed buffer.

    Axes without a loop above are copied in full, so a Pack high in the tree copies once for many leaves below it. The layout is
    that of the operand as a matrix (rows x depth on the left, depth x columns on the right); what it fills up is zero.
    """

    operator: str
    read: int
    layout: Layout


@dataclass(frozen=True, slots=True)
class Loop:
    """Blocks of `tile` along `axis`, in increasing order."""

    axis: str
    tile: int
    body: tuple[Node, ...]


Node: TypeAlias = Loop | Compute | Pack


@dataclass(frozen=True, slots=True)
class FusedGroup:
    """Consecutive operators, by name, that share loops over some axes inside the loops that all operators share."""

    operators: tuple[str, ...]
    axes: tuple[str, ...]
    """Of its loops, outermost first."""


def fused_group_of(fused_groups: Sequence[FusedGroup], operator: str) -> FusedGroup | None:
    """The fused group that an operator is in, if it is in one."""
    return next((fused_group for fused_group in fused_groups if operator in fused_group.operators), None)


class Storage(Enum):
    """What becomes of an intermediate: kept until all consumers are done, recomputed for each of them, or line-buffered
    through a circular buffer along one axis."""

    KEEP = "keep"
    RECOMPUTE = "recompute"
    LINE_BUFFER = "line buffer"


@dataclass(frozen=True, slots=True)
class Schedule:
    """A tree of loops, with the storage decision of every intermediate tensor by name.

    With `split`, the outermost loop runs over that axis, which the last operator reduces: its blocks are parts that know
    nothing of each other, and what they make of the output is combined when all are done. How many parts there are follows
    from the tile of the loop.
    """

    body: tuple[Node, ...]
    storage: tuple[tuple[str, Storage], ...] = ()
    split: str = ""
    ahead: tuple[Pack, ...] = ()
    """Constants, each packed as a whole when the kernel is loaded: no call does it."""
    found: dict[str, tuple[tuple[Loop, ...], Compute]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """By operator its Compute leaf and the loops around it, once they were asked for."""

    def storage_of(self, tensor: str) -> Storage:
        """The decision for a tensor; KEEP unless said otherwise."""
        return next((storage for name, storage in self.storage if name == tensor), Storage.KEEP)

    def leaves(self) -> Iterator[tuple[tuple[Loop, ...], Compute | Pack]]:
        """Every leaf in execution order with the loops around it, outermost first."""
        yield from _leaves((), self.body)

    def conditions(self, operator: str) -> dict[str, Trip]:
        """By axis, at which block of a loop an operator runs; axes that are not there: at every block."""
        return {when.axis: when.trip for when in self._place(operator)[1].when}

    def path(self, operator: str) -> tuple[Loop, ...]:
        """The loops around an operator's Compute leaf, outermost first."""
        return self._place(operator)[0]

    def _place(self, operator: str) -> tuple[tuple[Loop, ...], Compute]:
        if not self.found:
            leaves = reversed(tuple(self.leaves()))
            self.found.update({leaf.operator: (loops, leaf) for loops, leaf in leaves if isinstance(leaf, Compute)})
        return self.found[operator]


def _leaves(loops: tuple[Loop, ...], body: tuple[Node, ...]) -> Iterator[tuple[tuple[Loop, ...], Compute | Pack]]:
    for node in body:
        if isinstance(node, Loop):
            yield from _leaves((*loops, node), node.body)
        else:
            yield loops, node


def common_path(first: tuple[Loop, ...], second: tuple[Loop, ...]) -> tuple[Loop, ...]:
    """The loops that two leaves share, outermost first (the same nodes, not merely equal ones, up to position)."""
    shared = []
    for left, right in zip(first, second, strict=False):
        if left is not right:
            break
        shared.append(left)
    return tuple(shared)
