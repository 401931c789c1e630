"""Split reductions: with few blocks left to distribute, a long reduction is cut into parts, combined afterwards.

A part is a chain of its own with a shorter reduction: it is searched and priced like any other. What comes on top are the
undivided outputs that all parts write and the combination reads, and a second parallel region (flash decoding, Dao et al. 2023).
Parts of a plain sum are added up. There the parts may also be all the blocks that threads need, where smaller blocks of the
output would read operands again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import ceil

from tilewright.graph.exactness import computed_type
from tilewright.graph.types import Axis, Chain
from tilewright.plan.model.cost import useful_seconds
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.model.needed_work import least_guarded_work
from tilewright.plan.model.pricing import Blocking, Candidate, SplitReduction, combine_seconds
from tilewright.plan.regions.loop_views import block_count
from tilewright.plan.regions.online_reductions import weights_read
from tilewright.plan.schedule import planned_sizes
from tilewright.plan.space.executability import why_not_executable
from tilewright.plan.space.schedule_space import axis_multiple
from tilewright.plan.threads import LEAST_PARALLEL_S, enough_blocks, imbalance, threads_seconds


def split_reduction(
    context: CostContext, found: Sequence[Candidate], blocking: Blocking, refined: Callable[[CostContext], Blocking]
) -> SplitReduction | None:
    """The split of a chain whose best plan leaves threads without blocks; None where none is needed, or possible.

    `found` are the plans that the best one was chosen from.
    """
    blocks = block_count(context.chain, blocking.schedule)
    axis = split_axis(context.chain)
    enough = enough_blocks(context.machine.cores)
    is_few = blocks < enough and imbalance(blocks, context.machine.cores) > 1
    if axis is None or blocking.seconds <= LEAST_PARALLEL_S or not (is_few or _is_held_back(context, found)):
        return None
    size, multiple = planned_sizes(context.chain)[axis], axis_multiple(context, axis)
    wanted = -(-enough // blocks) if is_few else enough
    tile = -(-size // (wanted * multiple)) * multiple
    if tile >= size:
        return None
    part = part_of(context, axis, tile)
    cores, region_s = context.machine.cores, context.machine.parallel_region_s
    whole_s = threads_seconds(blocking.seconds, blocks, cores, region_s)
    if least_seconds(context, part, size / tile) >= whole_s:
        return None
    if not is_few:
        part = replace(part, machine=replace(context.machine, cores=1))
    split = SplitReduction(axis, tile, -(-size // tile), size, part, refined(part))
    if why_not_executable(context.chain, split.schedule()):
        return None
    parts_s = split.passes * split.blocking.seconds + combine_seconds(context, split.parts)
    split_s = threads_seconds(parts_s, block_count(context.chain, split.schedule()), cores, 2 * region_s)
    return split if split_s < whole_s else None


def least_seconds(context: CostContext, part: CostContext, passes: float) -> float:
    """What the parts of a chain and their combination cost at least on the machine's cores: known before a part is searched.

    No point of a part is faster than without edges, and threads share the parts evenly at best.
    """
    products = (operator for operator in part.chain.operators if operator.name in part.kernels)
    arithmetic_s = sum(useful_seconds(part, operator) * least_guarded_work(part, operator.name).computed for operator in products)
    cores, region_s = context.machine.cores, context.machine.parallel_region_s
    parts_s = passes * arithmetic_s + combine_seconds(context, ceil(passes))
    return float(parts_s / cores + 2 * region_s * (cores > 1))


def split_axis(chain: Chain) -> str | None:
    """The axis of the reduction that can be split: along it the last operator sums weights of rows, or the only one products.

    Parts are combined in vectors of float32.
    """
    sink = chain.operators[-1]
    if computed_type(sink) != "float32":
        return None
    rows = weights_read(chain, sink)
    summed = sink.reduction_axes() if len(chain.operators) == 1 and sink.is_contraction() else ()
    reduced = rows.reduction_axes() if rows is not None else summed
    return reduced[0].name if len(reduced) == 1 else None


def _is_held_back(context: CostContext, found: Sequence[Candidate]) -> bool:
    """Whether a sum could be cheaper in fewer blocks than threads need; of plans that were not searched the bound counts."""
    winner, is_sum = found[0], weights_read(context.chain, context.chain.operators[-1]) is None
    fitting = (candidate for candidate in found[1:] if candidate.used_bytes <= context.capacity_bytes)
    fewer = (candidate for candidate in fitting if candidate.blocks < winner.blocks)
    return is_sum and any(candidate.seconds * context.coefficients.least_gain < winner.seconds for candidate in fewer)


def part_of(context: CostContext, axis: str, tile: int) -> CostContext:
    """The context of one part. Tensors keep their shapes, hence the strides of their rows, and come from where the whole lies."""
    chain = context.chain
    operators = tuple(replace(op, axes=tuple(_shortened(present, axis, tile) for present in op.axes)) for op in chain.operators)
    part = replace(chain, operators=operators)
    part_context = context_of(part, context.machine, context.kernels, context.roles, context.coefficients, context.available)
    return replace(part_context, compulsory_bytes=context.compulsory_bytes)


def _shortened(present: Axis, axis: str, tile: int) -> Axis:
    return replace(present, extent=tile) if present.name == axis else present
