"""Buffer reuse: intermediates with disjoint live ranges share memory.

Inside the loops that all operators share, the rest of a schedule runs child by child: an operator with its inner loops, or a
partially fused group. A buffer is alive from the child that first writes it to the one that reads it last, and, where a shared
loop is a barrier for it, from block to block as well. In a chain of layers that are kept in blocks of rows, two places in turns
do. Elements of two types never share a place: compilers assume that they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise

from tilewright.arrays import Condition
from tilewright.graph.types import Chain
from tilewright.plan.chains import derived_once, equal_axes
from tilewright.plan.element_types import held_type
from tilewright.plan.regions.epilogues import epilogues, in_output_place, in_registers
from tilewright.plan.regions.live_blocks import in_place_groups
from tilewright.plan.regions.loop_views import ChainView, OperatorView
from tilewright.plan.schedule import FusedGroup, fused_group_of

Group = tuple[str, ...]


def shared_buffers(view: ChainView) -> tuple[tuple[Group, ...], ...]:
    """The groups of intermediates that work in place, by the place that they take in turns: each the first one that is free.

    One that lasts (see `is_lasting`) lies in a place of its own all the same.
    """
    names = (member.operator.name for member in view.operators)
    return _places(view.chain, tuple(zip(names, _children(view), strict=True)))


def buffers_in_turns(chain: Chain, fused_groups: Sequence[FusedGroup] = ()) -> tuple[tuple[Group, ...], ...]:
    """The same where no operators share loops beside the outer ones but those of some fused groups."""
    numbers = [fused_group_of(fused_groups, operator.name) or operator.name for operator in chain.operators]
    places = {child: place for place, child in enumerate(dict.fromkeys(numbers))}
    return _places(chain, tuple((op.name, places[child]) for op, child in zip(chain.operators, numbers, strict=True)))


@derived_once
def _places(chain: Chain, children: tuple[tuple[str, int], ...]) -> tuple[tuple[Group, ...], ...]:
    """The same where the operators run in these children of the shared loops."""
    outside = frozenset((*in_output_place(chain), *in_registers(chain)))
    groups = [group for group in in_place_groups(chain) if not outside.issuperset(group)]
    by_name = dict(children)
    found: list[list[Group]] = []
    until: list[int] = []
    for group in groups:
        used = [by_name[name] for name in users_of(chain, group)]
        alike = (i for i, groups in enumerate(found) if held_type(chain, groups[0][0]) == held_type(chain, group[0]))
        free = next((i for i in alike if until[i] < min(used)), len(found))
        if free == len(found):
            found.append([])
            until.append(max(used))
        found[free].append(group)
        until[free] = max(used)
    return tuple(map(tuple, found))


def is_lasting(view: ChainView, group: Group) -> Condition:
    """Whether a buffer is alive from one block of the shared loops to the next, so that nothing else may lie in its place.

    So have circular line buffers results and those of operators that do not run in every block; a loop whose trips a call decides
    may be one.
    """
    users = [view.of(name) for name in users_of(view.chain, group)]
    if any(user.conditions or user.regions for user in users):
        return True
    equal = reduce(frozenset[str].intersection, (equal_axes(view.chain, tensor) for tensor in group))
    if all(loop.axis in equal for loop in users[0].loops):
        return False
    reused = [loop for loop in users[0].loops[: _shared(view)] if loop.axis not in equal]
    lasts: Condition = False
    for loop in reused:
        lasts = lasts | (loop.trips > 1) | (not isinstance(view.chain.extents[loop.axis], int))
    return lasts


@derived_once
def users_of(chain: Chain, group: Group) -> tuple[str, ...]:
    """The operators that write or read a group, in the chain's order; sums that end in their micro tiles are written there."""
    makers = (maker for tensor in group if (maker := chain.producer(tensor)))
    readers = (reader for tensor in group for reader in chain.consumers(tensor))
    names = {operator.name for operator in (*makers, *readers)}
    names |= {one.contraction for one in epilogues(chain) if one.element_type(chain) and one.write(chain).tensor in group}
    return tuple(operator.name for operator in chain.operators if operator.name in names)


def _shared(view: ChainView) -> int:
    """How many loops all operators share."""
    paths = [[loop.node for loop in member.loops] for member in view.operators]
    return sum(len(set(nodes)) == 1 for nodes in zip(*paths, strict=False)) if len(paths) > 1 else 0


def _children(view: ChainView) -> list[int]:
    """For every operator the number of the child of the shared loops in which it runs."""
    shared, numbers = _shared(view), [0]
    for left, right in pairwise(view.operators):
        numbers.append(numbers[-1] + (not _is_same_child(left, right, shared)))
    return numbers


def _is_same_child(left: OperatorView, right: OperatorView, shared: int) -> bool:
    mine, theirs = left.loops[shared:], right.loops[shared:]
    return bool(mine and theirs) and mine[0].node == theirs[0].node
