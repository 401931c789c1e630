"""The space of schedules of a chain: ordered prefixes of shared loops, and the axes that each operator may loop over below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from math import lcm

from tilewright.graph.types import Chain, Operator, SymbolicExtent
from tilewright.plan.block_order import prefix_storage, prefixed, why_not_executable
from tilewright.plan.chains import axis_names, equal_axes, tensor_axes
from tilewright.plan.cost import Setting
from tilewright.plan.parallel import is_parallel
from tilewright.plan.schedule import Storage
from tilewright.plan.tile_size import candidates, thinned

LONGEST_PREFIX = 3
"""Shared loops besides those over batch axes."""
PREFIX_CANDIDATES = 24
OWN_CANDIDATES = 8
"""Tiles that are tried per axis, in the prefix and below."""
SMALLEST_DEPTH = 64
"""Reduction steps below which the ends of tiles outweigh the tiles; blocks of a reduction are multiples of it."""
LARGEST_MULTIPLE = 64
"""Rows of different kernels are aligned to their common multiple up to here, else to the larger of them."""


@dataclass(frozen=True, slots=True)
class Space:
    """The axes of a chain that loops may cut, with the tiles to try for each, smallest first."""

    setting: Setting
    batch: tuple[str, ...]
    """Their loops go outermost, one point at a time: nothing is reused along them."""
    prefix_tiles: Mapping[str, tuple[int, ...]]
    own_tiles: Mapping[str, tuple[int, ...]]

    def prefixes(self) -> tuple[tuple[str, ...], ...]:
        """Every ordered prefix that can be executed, shortest first; batch axes lead all of them.

        Chains without a contraction reuse nothing, so that only the order of the output's dimensions is kept for them.
        """
        chain = self.setting.chain
        names = tensor_axes(chain.operators[-1].write)
        names = (*names, *(axis for axis in chain.extents if axis not in names))
        free = [axis for axis in names if axis in self.prefix_tiles and axis not in self.batch and may_lead(chain, axis)]
        batch = tuple(axis for axis in self.batch if axis in self.prefix_tiles)
        found = []
        for length in range(min(len(free), LONGEST_PREFIX) + 1):
            for order in permutations(free, length):
                if self.setting.kernels or order == tuple(free[:length]):
                    found.append((*batch, *order))
        return tuple(prefix for prefix in found if not why_not(chain, prefix))

    def own_orders(self, operator: Operator, prefix: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
        """The loop orders of one contraction below a prefix: none at first, then all orders of what is left.

        A chain of one operator has all its loops in the prefix.
        """
        if not operator.is_contraction() or len(self.setting.chain.operators) == 1:
            return ((),)
        roles = self.setting.roles[operator.name]
        axes = (roles.row, roles.column, roles.depth)
        free = [axis for axis in axes if axis is not None and axis not in prefix and axis in self.own_tiles]
        return ((), *permutations(free)) if free else ((),)


def space_of(setting: Setting) -> Space:
    """The space of a chain: axes with one candidate, which a loop would cover in one trip, are left out."""
    chain = setting.chain
    batch = batch_axes(chain)
    every = {axis: candidates(size, axis_multiple(setting, axis)) for axis, size in setting.sizes.items()}
    loops = {a: t for a, t in every.items() if len(t) > 1 or isinstance(chain.extents[a], SymbolicExtent)}
    prefix = {axis: (1,) if axis in batch else thinned(tiles, PREFIX_CANDIDATES) for axis, tiles in loops.items()}
    own = {axis: thinned(tiles, OWN_CANDIDATES) for axis, tiles in loops.items() if axis not in batch}
    return Space(setting, batch, prefix, own)


def batch_axes(chain: Chain) -> tuple[str, ...]:
    """Parallel axes that index every access of every contraction, and that all operators share."""
    contractions = [operator for operator in chain.operators if operator.is_contraction()]
    accesses = [access.axes() for operator in contractions for access in (*operator.reads, operator.write)]
    shared = set(chain.shared_axes).intersection(*accesses) if accesses else set()
    return tuple(axis for axis in chain.shared_axes if axis in shared and is_parallel(chain, axis) and may_lead(chain, axis))


def why_not(chain: Chain, prefix: tuple[str, ...]) -> str:
    """Why the blocks of a prefix cannot be executed; empty if they can."""
    return why_not_executable(chain, prefixed(chain, prefix, {}, dict.fromkeys(prefix, 1)))


def recomputes(chain: Chain, prefix: tuple[str, ...]) -> bool:
    """Whether some intermediate is computed more than once under a prefix."""
    return Storage.RECOMPUTE in prefix_storage(chain, prefix).values()


def axis_multiple(setting: Setting, axis: str) -> int:
    """What tiles of an axis are multiples of: columns of packed panels (required), rows and reduction blocks (preferred)."""
    columns, rows, depths = [1], [1], [1]
    for operator in setting.chain.operators:
        if operator.is_contraction():
            roles, kernel = setting.roles[operator.name], setting.kernels[operator.name]
            columns += [kernel.columns] * (axis == roles.column)
            rows += [kernel.rows] * (axis == roles.row)
            depths += [SMALLEST_DEPTH] * (axis == roles.depth)
    required = lcm(*columns)
    preferred = lcm(*columns, *rows, *(depths if required == 1 else ()))
    return preferred if preferred <= max(LARGEST_MULTIPLE, required) else max(required, *rows)


def may_lead(chain: Chain, axis: str) -> bool:
    """A shared loop needs an axis of the sink, along which all producers that have it walk like their consumers."""
    if axis not in axis_names((chain.operators[-1],)):
        return False
    return all(axis not in axis_names((op,)) or axis in equal_axes(chain, op.write.tensor) for op in chain.operators[:-1])
