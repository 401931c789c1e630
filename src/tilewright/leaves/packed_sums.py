"""Packed sums as C: panel by panel, some rows at a time, by functions that unpack weights in registers."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.block.integers import IntegerExpression
from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.memory import View
from tilewright.block.statements import VectorLoops
from tilewright.c_text import names
from tilewright.c_text.integer_expressions import local, to_c
from tilewright.c_text.statements import Lines, indent
from tilewright.c_text.vector_statements import VectorStatements
from tilewright.kernels.helpers import Helper
from tilewright.kernels.packed_products import WORD_BYTES, PackedProduct, packed_product
from tilewright.leaves import rowwise_reductions
from tilewright.leaves.declaration import Leaf, Lowered, LoweredTile
from tilewright.leaves.packed_sums_form import (
    BLOCKS_IN_A_RUN,
    NAME,
    PackedSum,
    constraints,
    counts_together,
    form_of,
    match,
    rows_together,
    seconds,
)
from tilewright.records import record


def lower(loops: VectorLoops, binding: LeafBinding) -> Lowered | LoweredTile:
    """The C of a box: of any reduction unless everything lies as the functions want it."""
    form = form_of(binding)
    return _Emitter(loops, form=form) if _is_laid_out(loops, form) else rowwise_reductions.lower(loops, binding)


def _is_laid_out(loops: VectorLoops, form: PackedSum) -> bool:
    box = dict(loops.box)
    if loops.vector_axis != form.column or loops.write.stride(form.column) != 1:
        return False
    if not all(isinstance(read, View) for read in loops.reads):
        return False
    columns, sizes = box[form.column].size, [box[axis].size for axis in (form.block, form.group, form.byte)]
    if not isinstance(columns, int) or columns % loops.lanes or not all(isinstance(size, int) for size in sizes):
        return False
    return all(_strides_are(loops, *wanted) for wanted in _strides(loops, form))


def _strides(loops: VectorLoops, found: PackedSum) -> Iterable[tuple[int, dict[str, int]]]:
    """Of reads by number, the strides that the functions take for granted."""
    groups, panel = dict(loops.box)[found.group].size, _panel(loops, found)
    assert isinstance(groups, int)
    words = panel * WORD_BYTES
    yield 0, {found.byte: 1, found.column: WORD_BYTES, found.group: words, found.block: groups * words}
    yield 1, {found.byte: 1, found.column: 0, found.group: WORD_BYTES * found.per_byte}
    for read in (found.scales, *((found.zeros,) if found.has_zeros else ())):
        yield read, {found.row: 0, found.column: 1, found.group: 0, found.block: panel}
    for read in (found.scales + 1, found.scales + 2) if found.is_whole else ():
        yield read, {found.column: 0, found.group: 0, found.byte: 0, found.block: 1}


def _strides_are(loops: VectorLoops, read: int, wanted: dict[str, int]) -> bool:
    view, box = loops.view(read), dict(loops.box)
    return all(view.stride(axis) == stride for axis, stride in wanted.items() if box[axis].size != 1)


def _panel(loops: VectorLoops, found: PackedSum) -> int:
    """The columns of a panel, by the words from one group to the next."""
    numbers = loops.reads[0]
    stride = numbers.stride(found.group) if isinstance(numbers, View) else 0
    return stride // WORD_BYTES if isinstance(stride, int) else 0


def _kinds(loops: VectorLoops, form: PackedSum) -> list[PackedProduct]:
    """By the rows that are computed together."""
    box = dict(loops.box)
    groups, columns, rows = (box[axis].size for axis in (form.group, form.column, form.row))
    assert isinstance(groups, int)
    assert isinstance(columns, int)
    counts = sorted(set(rows_together(rows)), reverse=True) if isinstance(rows, int) else counts_together()
    return [
        PackedProduct(
            per_byte=form.per_byte,
            row_type=loops.reads[1].dtype,
            scale_type=loops.reads[form.scales].dtype,
            zero_type=loops.reads[form.zeros].dtype if form.has_zeros else "",
            groups=groups,
            panel=_panel(loops, form),
            columns=columns,
            rows=count,
        )
        for count in counts
    ]


@record(kw_only=True)
class _Emitter(VectorStatements):
    form: PackedSum

    def helpers(self) -> list[Helper]:
        """The functions that the lines call."""
        products = (packed_product(kind, self.loops.lanes) for kind in _kinds(self.loops, self.form))
        return [*VectorStatements.helpers(self), *products]

    def text(self) -> Lines:
        """All rows of a panel, then the next panel: its weights come from memory once."""
        form, row = self.form, names.axis_offset(self.form.row)
        inside = {form.row, form.column, *self.reduced}
        around = [axis for axis, _ in self.loops.box if axis not in inside]
        size = to_c(self.ranges[form.row].size)
        lines = [f"long {row} = 0;"]
        for kind in _kinds(self.loops, self.form):
            lines += [f"for (; {row} + {kind.rows} <= {size}; {row} += {kind.rows}) {{", *indent(self.rows_of(kind)), "}"]
        return self.nest(around, ["{", *indent(lines), "}"])

    def rows_of(self, kind: PackedProduct) -> Lines:
        """The sums of some rows, and their finish."""
        form, row = self.form, names.axis_offset(self.form.row)
        blocks = to_c(self.ranges[form.block].size)
        size = kind.groups * kind.panel * WORD_BYTES
        row_block = self.loops.view(1).stride(form.block)
        first = local("first")
        numbers, rows = self.place(0, first * size), self.place(1, first * row_block)
        scales = self.place(form.scales, first * kind.panel)
        zeros = self.place(form.zeros, first * kind.panel) if form.has_zeros else "0"
        of_rows = ["0"] * 4
        if form.is_whole:
            reads = (form.scales + 1, form.scales + 2)
            of_rows = [text for n in reads for text in (self.place(n, first), to_c(self.loops.view(n).stride(form.row)))]
        arguments = [numbers, scales, zeros, rows, to_c(self.loops.view(1).stride(form.row)), to_c(row_block), *of_rows]
        return [
            f"float sums[{kind.rows * kind.columns}] = {{0}};",
            f"for (long first = 0; first < {blocks}; first += {BLOCKS_IN_A_RUN})",
            f"  {kind.name}({', '.join(arguments)}, tw_min({BLOCKS_IN_A_RUN}, {blocks} - first), sums);",
            f"for (long way = 0; way < {kind.rows}; way++) {{",
            f"  const long first_row = {row};",
            *indent(["{", *indent([f"const long {row} = first_row + way;", *self.finished(kind)]), "}"]),
            "}",
        ]

    def finished(self, kind: PackedProduct) -> Lines:
        """Finish and store the sums of a row."""
        column = names.axis_offset(self.form.column)
        lines = self.finished_sum(f"tw_load(sums + way * {kind.columns} + {column})", part=False)
        head = f"for (long {column} = 0; {column} < {kind.columns}; {column} += TW_LANES) {{"
        return [f"(void){names.axis_offset(self.form.row)};", head, *indent(lines), "}"]

    def place(self, read: int, further: IntegerExpression) -> str:
        """Where the first element of a read is, from a block on."""
        view, fixed = self.loops.view(read), {self.form.column, *self.reduced}
        return f"{names.buffer_name(view.buffer)} + {to_c(view.offset + self.shift(view.strides, fixed) + further)}"


LEAF = Leaf(NAME, order=3, match=match, seconds=seconds, lower=lower, constraints=constraints)
