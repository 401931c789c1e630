"""Orders of outer loops as data for the search core, in the order in which `orders.c` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tilewright.graph.types import Chain
from tilewright.plan.regions.live_ranges import buffers_in_turns
from tilewright.plan.schedule import FusedGroup
from tilewright.plan.search.core.data import BeyondLimits, Data, Numbers, Packed
from tilewright.plan.search.core.problem import pack_places
from tilewright.plan.space.schedule_space import Choices, places_in
from tilewright.records import record

MOST_LOOPS = 12
MOST_GROUPS = 4
"""What the core has room for."""

Variant: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""The axes of outer loops, outermost first, and the intermediates that have circular line buffers along the last of them."""


@record
class Tree:
    """Fused groups below an order of outer loops, by its number, and the tiles of all loops."""

    order: int
    outer_loops: tuple[str, ...]
    choices: Choices
    fused_groups: tuple[FusedGroup, ...]


def packed_orders(variants: Sequence[Variant], numbers: Numbers) -> Data:
    """Orders of outer loops of one space. Raises `BeyondLimits`."""
    data = Data()
    for outer_loops, line_buffered in variants:
        if len(outer_loops) > MOST_LOOPS:
            raise BeyondLimits
        data.counted([numbers.axes[axis] for axis in outer_loops])
        data.integers.append(sum(1 << numbers.tensors[tensor] for tensor in line_buffered))
    return data


def pack_groups(data: Data, chain: Chain, groups: Sequence[FusedGroup], numbers: Numbers) -> None:
    """Fused groups, and where intermediates lie with them."""
    if len(groups) > MOST_GROUPS:
        raise BeyondLimits
    data.integers.append(len(groups))
    for group in groups:
        data.integers.append(sum(1 << numbers.operators[name] for name in group.operators))
        data.counted([numbers.axes[axis] for axis in group.axes])
    pack_places(data, chain, buffers_in_turns(chain, groups), numbers)


def pack_tree(data: Data, chain: Chain, tree: Tree, tiles: Choices, numbers: Numbers) -> None:
    """An order with fused groups below it; `tiles` are all of every axis."""
    if len(tree.choices) > MOST_LOOPS:
        raise BeyondLimits
    data.integers.append(tree.order)
    pack_groups(data, chain, tree.fused_groups, numbers)
    for axis, some in tree.choices.items():
        data.counted(places_in(tiles[axis], some))


def packed_choices(
    chain: Chain, variants: Sequence[Variant], choices: Sequence[Sequence[Sequence[FusedGroup]]], numbers: Numbers
) -> Packed:
    """For every order the choices of fused groups below it: first where those of each order stand, 0 for none."""
    data = Data([0] * len(variants))
    for number, of_order in enumerate(choices):
        if of_order:
            data.integers[number] = len(data.integers)
            data.integers.append(len(of_order))
            for groups in of_order:
                pack_groups(data, chain, groups, numbers)
    return data.packed()
