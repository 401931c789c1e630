"""Row-wise reductions of every element type: the states of each row, and what they make of its points."""

from __future__ import annotations

from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.statements import VectorLoops
from tilewright.leaves.declaration import GENERAL, Constraints, Leaf, LoweredTile
from tilewright.leaves.rowwise_reductions_form import NAME, form_of, match, seconds
from tilewright.leaves.tile_programs.rows import reductions


def lower(loops: VectorLoops, binding: LeafBinding) -> LoweredTile:
    """The program of a box. It may be bound to another leaf of sums, whose bindings say nothing about states."""
    return reductions.lowered(loops, form_of(binding, loops.reduction))


LEAF = Leaf(NAME, order=GENERAL, match=match, seconds=seconds, lower=lower, constraints=lambda _: Constraints(shares_loops=True))
