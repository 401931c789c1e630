"""Operators as data for the search core: operands, roles, and what no schedule changes of their costs."""

from __future__ import annotations

from tilewright.graph.expressions.index import Index
from tilewright.graph.types import AxisKind, Chain, Operator, element_bytes
from tilewright.kernels.contract import MicroKernel, OperandRole
from tilewright.plan.element_types import held_bytes
from tilewright.plan.model.cost import (
    attained,
    divides_in_pass,
    seconds_per_element,
)
from tilewright.plan.model.cost_context import CostContext, Operand
from tilewright.plan.model.memory.pages import column_seconds_per_byte, comes_from_memory, is_far
from tilewright.plan.model.memory.traffic import passes, set_conflict
from tilewright.plan.model.needed_work import least_guarded_work
from tilewright.plan.model.operands import packing_cost
from tilewright.plan.model.operands.prefetch_gain import is_followed, place_of, share_on_same_page
from tilewright.plan.regions.epilogues import uncut_axes
from tilewright.plan.regions.footprint import Footprint, values_of_tiles
from tilewright.plan.regions.loop_views import OperatorView
from tilewright.plan.regions.masks import is_plain_mask, key_mask_of
from tilewright.plan.regions.online_reductions import divided_by_readers, row_axes, softmax_weights, weights_read
from tilewright.plan.regions.required_regions import readings
from tilewright.plan.regions.window_taps import window_taps
from tilewright.plan.search.core.data import (
    MOST_INDICES,
    MOST_OPERANDS,
    MOST_READINGS,
    MOST_TERMS,
    MOST_WINDOWS,
    BeyondLimits,
    Data,
    Numbers,
)


def pack_operator(data: Data, context: CostContext, operator: Operator, numbers: Numbers, kind: int) -> None:
    chain, name, operands = context.chain, operator.name, context.operands[operator.name]
    key_mask = key_mask_of(chain)
    is_masked = key_mask is not None and name in key_mask.operators
    data.integers.append(numbers.mask(operator.axis_names))
    data.counted([numbers.axes[axis.name] for axis in operator.axes])
    data.integers.append(numbers.mask(axis.name for axis in operator.axes if axis.kind is AxisKind.PARALLEL))
    guard = 0 if not is_masked else 2 if is_plain_mask(chain, name) else 1
    data.integers += (kind, name in context.in_tiles, guard, passes(context, operator))
    data.reals += (context.vectors_per_element(operator), float(least_guarded_work(context, name).computed))
    if len(operands) > MOST_OPERANDS:
        raise BeyondLimits
    data.integers.append(len(operands))
    for operand in operands:
        _pack_operand(data, operand, numbers, key_mask.axis if is_masked and key_mask is not None else None)
    _pack_vectors(data, context, operator, numbers)
    read_once = packing_cost.operand_read_once(context, operator)
    passing = [not operand.is_write and operand.access == read_once for operand in context.operands[name]]
    rows = packing_cost.rows_of_slices(context, operator) if any(passing) else ()
    data.integers += (passing.index(True) if any(passing) else -1, numbers.mask(rows), name in context.kernels)
    if name in context.kernels:
        _pack_contraction(data, context, operator, numbers)


def _pack_operand(data: Data, operand: Operand, numbers: Numbers, guarded: str | None) -> None:
    data.integers.append(numbers.mask(operand.axes))
    data.integers += (operand.is_write, operand.is_intermediate, guarded in operand.axes)
    data.integers += (operand.element_bytes, numbers.tensors[operand.access.tensor])
    pack_footprint(data, operand.footprint, numbers)


def pack_footprint(data: Data, footprint: Footprint, numbers: Numbers) -> None:
    """How elements follow from tiles. Raises `BeyondLimits` where more moves along a dimension than it has room for."""
    if len(footprint.windows) > MOST_WINDOWS or any(len(window.indices) > MOST_INDICES for window in footprint.windows):
        raise BeyondLimits
    data.counted([numbers.axes[axis] for axis in footprint.plain])
    data.integers.append(len(footprint.windows))
    for window in footprint.windows:
        data.integers += (len(window.indices), numbers.mask(window.axes))
        for index in window.indices:
            _pack_index(data, index, numbers)


def _pack_index(data: Data, index: Index, numbers: Numbers) -> None:
    if not index.is_affine() and len(index.axes()) == 1:
        (axis,) = index.axes()
        data.integers += (-1, numbers.axes[axis])
        data.counted(values_of_tiles(index, numbers.sizes[axis]))
        return
    if not index.is_affine() or len(index.terms) > MOST_TERMS:
        raise BeyondLimits
    data.integers.append(len(index.terms))
    for atom, factor in index.terms:
        data.integers += (abs(factor), numbers.axes[str(atom)])


PLAIN, CORRECTED, ROWS, WEIGHTS, STATES = range(5)
"""What `vector_seconds` adds to the functions of an operator; nothing where it has `STATES` only."""


def _pack_vectors(data: Data, context: CostContext, operator: Operator, numbers: Numbers) -> None:
    chain, rows_of, name = context.chain, weights_read(context.chain, operator), operator.name
    is_reduction = operator.is_row_reduction() and operator.reduction is not None and not window_taps(operator)
    weights = softmax_weights(operator)
    plain = STATES if weights else PLAIN
    mode = CORRECTED if rows_of is not None else (WEIGHTS if weights else ROWS) if is_reduction else plain
    data.integers.append(mode)
    if mode == PLAIN:
        return
    reduced = rows_of if rows_of is not None else operator
    states = len(operator.reduction.states) if operator.reduction is not None else 0
    data.integers.append(numbers.mask(axis.name for axis in reduced.reduction_axes()))
    data.integers.append(numbers.mask(row_axes(operator)))
    data.integers.append(int(rows_of is not None and divides_in_pass(context, operator, rows_of)))
    later = passes(context, operator) - 1 if is_reduction else states
    data.integers += (later, divided_by_readers(chain, name) if weights else 0)
    data.integers.append(held_bytes(chain, operator.write.tensor) * (len(weights.factors) + 1) if weights else 0)
    factors = [factor for _, factor in weights.factors if factor is not None] if weights else []
    taking = context.lanes(operator) * seconds_per_element(context, operator, factors, 1 + len(weights.factors)) if weights else 0
    roots = [operator.body, *(state.contribution for state in operator.reduction.states)] if weights else []  # type: ignore[union-attr]
    shares = seconds_per_element(context, operator, roots, passes(context, operator) - 1) if weights else 0.0
    data.reals.append(seconds_per_element(context, operator, (), 1))
    data.reals.append(states * context.coefficients.row_cycles / context.machine.frequency_hz)
    levels = context.machine.levels
    element = max((operand.element_bytes for operand in context.operands[name]), default=0)
    data.reals += (taking, shares, element, levels[min(1, len(levels) - 1)].bandwidth_bytes_per_s)


def _pack_contraction(data: Data, context: CostContext, operator: Operator, numbers: Numbers) -> None:
    name, machine, cost = operator.name, context.machine, context.coefficients
    kernel, roles, facts = context.kernels[name], context.roles[name], context.contractions[name]
    from_memory = comes_from_memory(context, operator)
    has_runs = packing_cost.operand_read_once(context, operator) is not None and from_memory and not kernel.right_by_columns
    view = OperatorView(operator, (), {}, context.sizes)
    follows = bool(kernel.prefetch) and is_followed(context, view, kernel)
    data.integers.append(numbers.mask(uncut_axes(context.chain, operator)))
    data.integers += map(numbers.axis, (roles.row, roles.column, roles.depth))
    data.counted([numbers.axes[axis] for axis in roles.outer])
    data.integers += (kernel.rows, kernel.columns, facts.left, facts.right, context.packed_bytes(name))
    data.integers += (facts.left_bytes, facts.right_bytes, facts.target_bytes, facts.row_stride)
    may_pack, may_stay = packing_cost.may_pack(context, operator), packing_cost.may_stay(context, operator)
    data.integers += (may_pack, packing_cost.may_pack_ahead(context, operator), may_stay, has_runs)
    data.integers += (from_memory or is_far(context, facts), from_memory, follows)
    data.reals.append(2 * attained(context, kernel) / kernel.attainable(machine))
    data.reals.append(packing_cost.copy_seconds_per_element(context, operator) if may_pack else 0.0)
    data.reals += (packing_cost.page_share(context, operator), packing_cost.pages_beside(context, operator))
    far = may_stay and packing_cost.no_cache_holds_right(context, operator)
    data.reals.append(cost.far_page_cycles if far else cost.page_cycles)
    data.reals.append(facts.left_bytes * facts.left_row_stride / machine.page_bytes)
    data.reals.append(facts.target_bytes * facts.target_row_stride / machine.page_bytes)
    data.reals.append(facts.row_stride * facts.right_bytes / machine.page_bytes)
    data.reals.append(column_seconds_per_byte(context, operator))
    data.reals += [set_conflict(context, operator, level) for level in (context.cache_levels[0], context.fusion_level)]
    pack_prefetches(data, context, operator, kernel)


def pack_prefetches(data: Data, context: CostContext, operator: Operator, kernel: MicroKernel) -> None:
    """What a micro kernel of a contraction prefetches: one of the tile that its kernel has."""
    data.integers.append(len(kernel.prefetch))
    types = dict(zip((OperandRole.LEFT, OperandRole.RIGHT, OperandRole.TARGET), kernel.element_types, strict=True))
    for role in map(OperandRole, kernel.prefetch):
        served = len(context.cache_levels) - 1 if role is not OperandRole.TARGET else context.fusion_position
        data.integers += (list(OperandRole).index(role), place_of(context, operator, role), max(served, 1))
        cycles = dict(context.coefficients.prefetch_cycles_per_line)[role]
        data.reals += (share_on_same_page(context, operator, role), element_bytes(types[role]), cycles)


def pack_readings(data: Data, chain: Chain, operator: Operator, numbers: Numbers) -> None:
    """How consumers read an operator's result, along the axes that may have required regions: `required_regions.readings`."""
    written = [axis for index in operator.write.indices for axis in index.axes()]
    data.integers.append(numbers.tensors[operator.write.tensor])
    data.counted([numbers.axes[axis] for axis in written])
    found = readings(chain, operator) if chain.consumers(operator.write.tensor) else {}
    if len(found) > MOST_READINGS:
        raise BeyondLimits
    data.integers.append(len(found))
    for axis, ways in found.items():
        data.integers += (numbers.axes[axis], len(ways))
        for way in ways:
            if len(way.index.terms) > MOST_TERMS:
                raise BeyondLimits
            data.integers += (numbers.operators[way.consumer], way.index.constant, len(way.index.terms))
            for atom, factor in way.index.terms:
                data.integers += (factor, numbers.axes[str(atom)])
