"""Right operands of contractions: copied into panels of the micro kernel's columns (packed), read in place, or read once.

A packed panel is read front to back, without set conflicts at power-of-two strides, by every block of rows. Left operands are
broadcast element by element and are read in place, whatever their strides. Every copy of a vector has its price. An operand
whose columns lie side by side can be read in place instead, at the price of set conflicts and of rows on many pages; the search
and `search.inner_loops` compare both. A constant is packed ahead, as a whole and once for all calls, which costs a call nothing.

Few rows meet every element of a right operand a single time, so that no cache has to hold it: it is read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.arrays import Condition, Count, Quantity, either, largest, maximum, minimum, pieces, product, surely
from tilewright.graph.types import Access, Operator
from tilewright.kernels.contract import DEPTH
from tilewright.kernels.registry import prefetches_panels
from tilewright.leaves.registry import constraints_of
from tilewright.plan.model.cost_context import CostContext, Operand, source_position
from tilewright.plan.model.memory.traffic import ChainFigures, Footprints, kernel_tile
from tilewright.plan.regions.loop_views import ChainView, OperatorView


def may_pack(context: CostContext, operator: Operator) -> bool:
    """Whether a right operand is packed at all: an intermediate whose columns lie side by side never is.

    Nor are such columns that overlapping windows see: a copy would hold every element once for each of them. Kernels whose lanes
    run along the depth have no panels, and rows no longer than a panel lie as close together as they are. Kernels that want
    neighbouring steps side by side always have panels.
    """
    if operator.name not in context.kernels or context.roles[operator.name].column is None:
        return False
    if context.kernels[operator.name].interleave > 1:
        return True
    if context.kernels[operator.name].lanes_along == DEPTH:
        return False
    facts = context.contractions[operator.name]
    is_panel = facts.row_stride <= context.kernels[operator.name].columns
    return not (facts.has_unit_columns and (_right(context, operator).is_intermediate or is_panel or facts.has_windows))


def may_stay(context: CostContext, operator: Operator) -> bool:
    """Whether the micro kernel can read a right operand in place, instead of packed."""
    has_rows = may_pack(context, operator) and context.kernels[operator.name].interleave == 1
    return has_rows and context.contractions[operator.name].has_unit_columns


def may_pack_ahead(context: CostContext, operator: Operator) -> bool:
    """Whether a right operand can be packed ahead: a constant, as a whole."""
    return may_pack(context, operator) and context.contractions[operator.name].is_copied_once


def packs_ahead(context: CostContext, view: OperatorView) -> bool:
    """Whether a right operand is packed ahead: blocks of columns must start at panels, which those of required regions do not."""
    return may_pack_ahead(context, view.operator) and context.roles[view.operator.name].column not in view.regions


def packs_now(context: CostContext, view: OperatorView, *, packed: bool) -> bool:
    """Whether a call packs a right operand itself; `packed` says that it is packed if it can be."""
    return packed and may_pack(context, view.operator) and not packs_ahead(context, view)


def in_place_seconds(context: CostContext, operator: Operator, tiles: Mapping[str, Count], calls: Quantity) -> Quantity:
    """What reading a right operand in place costs: its rows on other pages, once a panel.

    Where a micro kernel's rows of all operands are on more pages than the TLB holds, they are looked up at every call; of more
    than the second level holds, page tables are walked.
    """
    rows, _, depth = kernel_tile(context, operator, tiles)
    pages = depth * page_share(context, operator)
    panels = calls / _calls_per_panel(context, operator, rows)
    coefficients, machine = context.coefficients, context.machine
    again = either(pages + pages_beside(context, operator) > machine.tlb_entries, pages, 0) * (calls - panels)
    lookup_cycles = either(pages > machine.second_tlb_entries, coefficients.far_page_cycles, coefficients.lookup_cycles)
    first_cycles = coefficients.far_page_cycles if no_cache_holds_right(context, operator) else coefficients.page_cycles
    return (pages * panels * first_cycles + again * lookup_cycles) / machine.frequency_hz


def least_packing_seconds(context: CostContext, operator: Operator, tiles: Mapping[str, Count], calls: Quantity) -> Quantity:
    """The least that a right operand costs: packed ahead, packed once, or read in place."""
    if not may_pack(context, operator) or may_pack_ahead(context, operator):
        return 0.0
    once = _points(_right(context, operator), context.sizes) * copy_seconds_per_element(context, operator)
    return minimum(once, in_place_seconds(context, operator, tiles, calls)) if may_stay(context, operator) else once


def packing_seconds(context: CostContext, around: ChainFigures, view: OperatorView) -> Quantity:
    """The time to pack an operator's right operand at the best place, 0 if no call packs it; tiles may be arrays."""
    if not may_pack(context, view.operator) or packs_ahead(context, view):
        return 0.0
    places = []
    for copied, packed_bytes in _places(context, around, view):
        fits = packed_bytes <= context.pack_limit_bytes
        places.append((copied, fits))
        if surely(fits):
            break
    elements = places[-1][0]
    for copied, fits in reversed(places[:-1]):
        elements = either(fits, copied, elements)
    return elements * copy_seconds_per_element(context, view.operator)


def pack_depth(context: CostContext, around: ChainFigures, view: OperatorView) -> int:
    """How many of the loops around an operator stand outside its Pack."""
    fits = [packed_bytes <= context.pack_limit_bytes for _, packed_bytes in _places(context, around, view)]
    return _first_place(context, around, view) + (fits.index(True) if True in fits else len(fits) - 1)


def _places(context: CostContext, around: ChainFigures, view: OperatorView) -> Iterator[tuple[Count, Count]]:
    """(elements copied in all, bytes packed at a time) of every place of a Pack, outermost first.

    Further in more is copied, so that the best place is the outermost at which a cache holds what is packed.
    """
    operand, loops = _right(context, view.operator), view.running()
    copied = _points(operand, context.sizes)
    first = _first_place(context, around, view)
    for depth in range(len(loops) + 1):
        if depth and loops[depth - 1].axis not in operand.axes:
            copied = copied * loops[depth - 1].trips
        if depth >= first:
            inside = {loop.axis for loop in loops[:depth]}
            box = {axis: view.tiles[axis] if axis in inside else context.sizes[axis] for axis in operand.axes}
            yield copied, context.packed_bytes(view.operator.name) * _points(operand, box)


def _points(operand: Operand, extents: Mapping[str, Count]) -> Count:
    """Elements of a packed copy: of overlapping windows it has each once for every window."""
    return product(extents[axis] for axis in operand.axes)


def _first_place(context: CostContext, around: ChainFigures, view: OperatorView) -> int:
    """Outside a leading loop that indexes the operand nothing is saved, and an intermediate must be there first."""
    operand, loops = _right(context, view.operator), view.running()
    if operand.is_intermediate:
        return around.shared_loops[view.operator.name]
    return next((i for i, loop in enumerate(loops) if loop.axis not in operand.axes), len(loops))


def _right(context: CostContext, operator: Operator) -> Operand:
    return context.operands[operator.name][context.contractions[operator.name].right]


def copy_seconds_per_element(context: CostContext, operator: Operator) -> float:
    coefficients = context.coefficients
    contiguous = context.contractions[operator.name].has_unit_columns
    cycles = coefficients.pack_cycles_per_vector if contiguous else coefficients.transpose_cycles_per_vector
    vectors = cycles * context.packed_bytes(operator.name) * 8 / context.machine.vector_bits / context.machine.frequency_hz
    pages = page_share(context, operator) / context.kernels[operator.name].columns if contiguous else 0.0
    return vectors + pages * (context.coefficients.page_cycles / context.machine.frequency_hz)


def _calls_per_panel(context: CostContext, operator: Operator, rows: Count) -> Quantity:
    """How many tiles of rows meet one column panel before the next one, on average over all blocks of `rows`."""
    row = context.roles[operator.name].row
    if row is None:
        return 1
    size, step = context.sizes[row], context.kernels[operator.name].rows
    blocks: Count = -(-size // maximum(rows, 1))
    return sum(number for number, _ in pieces(size, rows, step)) / blocks


def page_share(context: CostContext, operator: Operator) -> float:
    """The share of the right operand's rows that lie on another page than the row before, beyond that of a packed panel."""
    facts = context.contractions[operator.name]
    apart = facts.right_bytes * facts.row_stride
    packed = context.packed_bytes(operator.name) * context.kernels[operator.name].columns
    return max(0.0, min(1.0, apart / context.machine.page_bytes) - packed / context.machine.page_bytes)


def pages_beside(context: CostContext, operator: Operator) -> float:
    """Pages of a micro kernel's rows of the left operand and of the target."""
    facts, page_bytes = context.contractions[operator.name], context.machine.page_bytes
    strides = facts.left_bytes * facts.left_row_stride, facts.target_bytes * facts.target_row_stride
    return context.kernels[operator.name].rows * sum(min(1.0, apart / page_bytes) for apart in strides)


def no_cache_holds_right(context: CostContext, operator: Operator) -> bool:
    """Whether no cache holds the whole right operand from panel to panel."""
    right = _right(context, operator)
    size_bytes = context.contractions[operator.name].right_bytes * largest(right.footprint.elements(context.sizes))
    return source_position(context.machine, size_bytes) == len(context.cache_levels)


FEW_ROWS = 4
"""Kernels of so few rows wait for their right operand, from whatever cache it comes."""
SLICED_ROWS = 64
"""So many rows pass over one slice of a panel after the other, and L1 holds the slice: an 8192 x 2048 constant by 16 rows takes
2.6 ms in panels of all steps, 3.3 ms cut into blocks of 448 steps that fit L2, whose panels do not follow each other (Zen 5)."""


def operand_read_once(context: CostContext, operator: Operator) -> Access | None:
    """The right operand of a contraction if it passes by once: all rows fit one tile or meet it slice by slice, and no other
    loop reads it again. Of other operators what their leaf streams."""
    kernel, roles = context.kernels.get(operator.name), context.roles.get(operator.name)
    if kernel is None:
        return _streamed(context, operator)
    if roles is None or roles.column is None:
        return None
    access = operator.reads[roles.right]
    rows = largest(context.sizes[roles.row]) if roles.row is not None else 1
    if rows > SLICED_ROWS or access.tensor not in context.chain.inputs:
        return None
    once = all(largest(context.sizes[axis]) == 1 for axis in roles.outer if axis not in access.axes())
    return access if once and (_fits_tile(context, operator, access, rows) or _is_sliced(context, operator, rows)) else None


def _streamed(context: CostContext, operator: Operator) -> Access | None:
    """What the leaf of an operator without a micro kernel streams."""
    number = constraints_of(context.leaves[operator.name]).streamed if operator.name in context.leaves else None
    return None if number is None else operator.reads[number]


def _fits_tile(context: CostContext, operator: Operator, access: Access, rows: int) -> bool:
    """Whether a kernel of few rows takes all of them at once, of an operand in place or in panels packed ahead."""
    kernel, column = context.kernels[operator.name], context.roles[operator.name].column or ""
    if kernel.rows > FEW_ROWS or rows > kernel.rows:
        return False
    return kernel.right_by_columns or access.indices[-1].coefficient(column) == 1 or may_pack_ahead(context, operator)


def _is_sliced(context: CostContext, operator: Operator, rows: int) -> bool:
    """Whether panels are packed ahead and read in slices, while the cache holds all rows of the left operand."""
    depth = context.roles[operator.name].depth
    steps = largest(context.sizes[depth]) if depth is not None else 1
    fits = rows * steps * context.contractions[operator.name].left_bytes <= context.capacity_bytes
    return fits and may_pack_ahead(context, operator) and prefetches_panels(context.kernels[operator.name])


def rows_of_slices(context: CostContext, operator: Operator) -> tuple[str, ...]:
    """The axes of rows that share slices: a loop over one of them would read all panels for each block."""
    kernel = context.kernels.get(operator.name)
    if kernel is None:
        return tuple(window.output for window in context.leaves[operator.name].windows)
    row = context.roles[operator.name].row
    return () if row is None or kernel.rows <= FEW_ROWS else (row,)


def has_all_rows(context: CostContext, operator: Operator, tiles: Mapping[str, Count]) -> Condition:
    """Whether blocks of these tiles have all rows that share slices."""
    every: Condition = True
    for axis in rows_of_slices(context, operator):
        every = every & (tiles[axis] >= context.sizes[axis])
    return every


def operands_read_once(context: CostContext, view: ChainView) -> frozenset[tuple[str, Access]]:
    """(operator, read) of all that pass by once under a schedule."""
    reads = ((one.operator, operand_read_once(context, one.operator), one.tiles) for one in view.operators)
    found = ((operator, access, tiles) for operator, access, tiles in reads if access is not None)
    return frozenset((op.name, access) for op, access, tiles in found if surely(has_all_rows(context, op, tiles)))


def run_seconds(context: CostContext, operator: Operator, block: Footprints, tiles: Mapping[str, Count]) -> Quantity:
    """What it costs that blocks narrower than the rows of such an operand in memory read short pieces of many pages."""
    access = operand_read_once(context, operator)
    if access is None or context.source_position < len(context.cache_levels) or context.kernels[operator.name].right_by_columns:
        return 0.0
    facts = context.contractions[operator.name]
    columns, stride = tiles[context.roles[operator.name].column or ""], facts.row_stride
    apart = stride * facts.right_bytes / context.machine.page_bytes
    pages = block.swept[facts.right] / maximum(columns, 1) * min(1.0, apart)
    return either(columns < stride, pages, 0) * context.coefficients.run_cycles / context.machine.frequency_hz
