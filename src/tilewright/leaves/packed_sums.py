"""Packed sums: panel by panel, some rows at a time, of weights that are unpacked in registers."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.memory import View
from tilewright.block.statements import VectorLoops
from tilewright.leaves import packed_sums_program, rowwise_reductions
from tilewright.leaves.declaration import Leaf, LoweredTile
from tilewright.leaves.packed_sums_form import NAME, WORD_BYTES, PackedSum, constraints, form_of, match, seconds


def lower(loops: VectorLoops, binding: LeafBinding) -> LoweredTile:
    """The program of a box: of any reduction unless everything lies as it has to."""
    form = form_of(binding)
    return packed_sums_program.lowered(loops, form) if _is_laid_out(loops, form) else rowwise_reductions.lower(loops, binding)


def _is_laid_out(loops: VectorLoops, form: PackedSum) -> bool:
    box = dict(loops.box)
    if loops.vector_axis != form.column or loops.write.stride(form.column) != 1:
        return False
    if not all(isinstance(read, View) for read in loops.reads):
        return False
    columns = box[form.column].size
    is_of_vectors = isinstance(columns, int) and columns % loops.lanes == 0 and box[form.byte].size == WORD_BYTES
    return is_of_vectors and all(_strides_are(loops, *wanted) for wanted in _strides(form))


def _strides(form: PackedSum) -> Iterator[tuple[int, dict[str, int]]]:
    """Of reads by number, the strides that programs take for granted."""
    yield 0, {form.row: 0, form.byte: 1, form.column: WORD_BYTES}
    yield 1, {form.byte: 1, form.column: 0}
    for read in (form.scales, *((form.zeros,) if form.has_zeros else ())):
        yield read, {form.row: 0, form.column: 1, form.group: 0, form.byte: 0}
    for read in (form.scales + 1, form.scales + 2) if form.is_whole else ():
        yield read, {form.column: 0, form.group: 0, form.byte: 0}


def _strides_are(loops: VectorLoops, read: int, wanted: dict[str, int]) -> bool:
    view, box = loops.view(read), dict(loops.box)
    return all(view.stride(axis) == stride for axis, stride in wanted.items() if box[axis].size != 1)


LEAF = Leaf(NAME, order=3, match=match, seconds=seconds, lower=lower, constraints=constraints)
