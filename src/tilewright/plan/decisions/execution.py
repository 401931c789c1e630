"""Execution details: leaves, depth of calls, slices, order of blocks, shared packing, and spread rows.

What one micro tile, vector loop or thread does is decided here for a plan whose loops, tiles and storage stand.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.block.execution import Execution, KernelCalls
from tilewright.graph.contraction_roles import ContractionRoles
from tilewright.graph.exactness import INTEGERS
from tilewright.graph.strides import is_contiguous
from tilewright.graph.types import Chain, Operator, largest_extent, planned_extent
from tilewright.kernels.contract import DEPTH, MicroKernel, OperandRole
from tilewright.leaves.registry import bindings
from tilewright.machine.machine import Machine
from tilewright.plan.decisions.long_sums import call_depth
from tilewright.plan.element_types import held_bytes
from tilewright.plan.model.operands.nested_sums import sums_at_once
from tilewright.plan.regions.footprint import distinct_elements
from tilewright.plan.regions.loop_views import view_schedule
from tilewright.plan.regions.masks import later_need_more
from tilewright.plan.schedule import Pack, planned_sizes
from tilewright.plan.threads import LEAST_PARALLEL_S
from tilewright.plan.types import OperatorPlan, Plan
from tilewright.records import replace
from tilewright.tile.products.tile import PREFETCH_STEPS

SLICED_ROWS, SLICE_STEPS = 2, 8
"""Kernels of so few rows read a right operand in place so many of its rows at a time (docs/kernels.md, few rows)."""
SLICES_IN_L1 = 2
"""Rows of the left operand pass over a slice while L1 holds it, and the next one comes in. Of 48 KiB L1, 6x64 (BERT's
feed-forward network, Zen 5): 24 and 32 KiB alike, 48 KiB 8% more time. Of 32 KiB (rows of 7 by 208 x 440, Zen 4): 16 KiB 0.84 of
the time of 32."""
MANY_BLOCKS = 128
"""From so many blocks on it does not matter which of them come last; going through memory backwards costs 1% of attention."""


def with_execution(plan: Plan, kernels: Mapping[str, MicroKernel]) -> Plan:
    """The plan with its details decided anew. `kernels` are micro kernels by name."""
    operators = tuple(replace(part, calls=_kernel_calls(plan, part, kernels)) for part in plan.operators)
    execution = Execution(
        descends=tuple(1 < plan.price.blocks < MANY_BLOCKS and later_need_more(plan.chain, axis) for axis in plan.parallel_axes),
        # large work is worth a region more, in which what all blocks read is packed once
        packs_together=bool(plan.parallel_axes) and plan.price.blocks > 1 and plan.price.seconds > LEAST_PARALLEL_S,
        set_period_bytes=set_period_bytes(plan.machine),
    )
    return replace(plan, operators=operators, execution=execution)


def with_leaves(plan: Plan) -> Plan:
    """The plan with the leaf of each operator that has no micro kernel, decided once: code generation reads it."""
    without = [plan.chain.operator(part.operator) for part in plan.operators if part.micro_kernel is None]
    found = bindings(without, plan.chain.tensors, plan.machine)
    parts = (replace(part, leaf=found.get(part.operator, part.leaf)) for part in plan.operators)
    return replace(plan, operators=tuple(parts))


def set_period_bytes(machine: Machine) -> int:
    """How far apart lines lie that meet in a set of the nearest cache, but for addresses that differ in their pages alone.

    >>> set_period_bytes(Machine.named("zen5"))
    4096
    """
    nearest = machine.levels[0]
    return min(nearest.sets * nearest.line_bytes, machine.page_bytes) if nearest.sets > 1 else 0


def _kernel_calls(plan: Plan, part: OperatorPlan, kernels: Mapping[str, MicroKernel]) -> KernelCalls:
    """Long sums of floats are cut, few rows read slices of the depth, and panels of kernels that prefetch are read in slices.

    Sums of integers are exact, however long; kernels that take interleaved steps have their right operand packed.
    """
    roles, chain, schedule = part.roles, plan.chain, plan.schedule
    if part.micro_kernel is None or roles is None or roles.depth is None:
        return KernelCalls()
    kernel, operator = kernels[part.micro_kernel], chain.operator(part.operator)
    steps = _most_steps(chain, roles, kernel)
    if sums_at_once(chain, operator, roles, kernel, plan.machine):
        return KernelCalls(nested=kernel.nested)
    packs = [*(leaf for _, leaf in schedule.leaves() if isinstance(leaf, Pack)), *schedule.ahead]
    packed = next((pack for pack in packs if (pack.operator, pack.read) == (part.operator, roles.right)), None)
    sums_floats = kernel.accumulator not in INTEGERS
    walks_rows = kernel.rows <= SLICED_ROWS and kernel.lanes_along != DEPTH and kernel.interleave == 1 and packed is None
    in_panels = packed is not None and packed.layout.panel_columns == kernel.columns
    passes_once = roles.row is None or largest_extent(chain.extents[roles.row]) <= kernel.rows  # prefetched a fixed way ahead
    shares = kernel.emit_prefetching is not None and not passes_once
    slice_bytes = plan.machine.levels[0].size_bytes // SLICES_IN_L1
    return KernelCalls(
        most_steps=steps if sums_floats else 0,
        slice_steps=SLICE_STEPS if walks_rows and sums_floats and _has_rows_to_slice(plan, operator, roles, kernel) else 0,
        panel_slice_bytes=slice_bytes if shares and in_panels and OperandRole.RIGHT in kernel.prefetch else 0,
        asks_ahead=shares and _asks_ahead(plan, operator, roles, kernel, packed),
    )


def _most_steps(chain: Chain, roles: ContractionRoles, kernel: MicroKernel) -> int:
    """The depth of a call whose sums are cut; 0 where they are not. Lanes along the depth are as many accumulators."""
    assert roles.depth is not None
    lanes = kernel.lanes if kernel.lanes_along == DEPTH else 1
    sides = (1 if axis is None else largest_extent(chain.extents[axis]) for axis in (roles.row, roles.column))
    return lanes * call_depth(-(-planned_extent(chain.extents[roles.depth]) // lanes), min(sides))


def _has_rows_to_slice(plan: Plan, operator: Operator, roles: ContractionRoles, kernel: MicroKernel) -> bool:
    """Whether a block has several panels, in place, and several slices of the depth."""
    chain = plan.chain
    if roles.depth is None or roles.column is None or not all(_is_known(chain, axis) for axis in (roles.depth, roles.column)):
        return False
    block, sizes = view_schedule(chain, plan.schedule).of(operator.name).largest(), planned_sizes(chain)
    is_in_place = all(is_contiguous(access, roles.column, sizes) for access in (operator.reads[roles.right], operator.write))
    return is_in_place and bool(block[roles.column] > kernel.columns) and bool(block[roles.depth] > SLICE_STEPS)


def _asks_ahead(plan: Plan, operator: Operator, roles: ContractionRoles, kernel: MicroKernel, packed: Pack | None) -> bool:
    """Whether a right operand comes from behind the level that blocks are fused for, and every row of a group of steps has a tile
    that asks for it; blocks of some rows would each ask again."""
    chain, machine, access = plan.chain, plan.machine, operator.reads[roles.right]
    block = view_schedule(chain, plan.schedule).of(operator.name).largest()
    rows = largest_extent(chain.extents[roles.row]) if roles.row is not None else 1
    has_tiles = rows > (PREFETCH_STEPS - 1) * kernel.rows and bool(block[roles.row or ""] >= rows)
    has_rows = roles.column is not None and access.indices[-1].coefficient(roles.column) == 1
    is_asked_for = access.tensor in plan.prefetched_inputs  # by cursors
    if not (has_tiles and has_rows) or access.tensor not in chain.inputs or is_asked_for or packed in plan.schedule.ahead:
        return False
    if packed is None:
        return OperandRole.RIGHT in kernel.prefetch
    size_bytes = held_bytes(chain, access.tensor) * int(distinct_elements(access, planned_sizes(chain)))
    return size_bytes > machine.levels[machine.fusion_position].size_bytes


def _is_known(chain: Chain, axis: str) -> bool:
    """Whether an extent is known before a call."""
    return isinstance(chain.extents[axis], int)
