"""Non-temporal stores: large outputs that micro tiles finish line by line go past the caches.

A line that is stored in the ordinary way is read first, and pushes out what is in use. An output that no cache holds once it is
done gains nothing by either: it is stored by lines that are not read (non-temporal stores). Nobody reads it soon, or he
would find it in memory in any case. What is half as large as the last cache or smaller stays there for its readers.

A last cache of hundreds of MiB beside two cores is that of a whole socket, whose other cores (those of other virtual machines)
use it, too: an output may be as large as some second levels of caches.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.arrays import product
from tilewright.graph.types import Operator
from tilewright.kernels.contract import MicroKernel
from tilewright.plan.element_types import held_bytes
from tilewright.plan.model.cost_context import CostContext, axis_stride, own_bytes, source_position
from tilewright.plan.model.operands.nested_sums import outer_sums, sums_at_once
from tilewright.plan.model.pricing import Blocking, Walked, Works, price_blocking
from tilewright.plan.reasons import UnreadLines
from tilewright.plan.regions.epilogues import maps_in_tiles
from tilewright.plan.regions.loop_views import view_schedule
from tilewright.plan.regions.online_reductions import weights_read
from tilewright.plan.schedule import Schedule
from tilewright.plan.types import Price, PriceTerm, TermKind

WORD_BYTES = 4
"""Of elements that tiles store past the caches: of shorter ones they do not fill a line."""


def non_temporal_writes(context: CostContext, schedule: Schedule) -> tuple[str, ...]:
    """The contraction whose micro tiles store the output past the caches, if one may and the caches do not hold the output.

    Its tiles store every element once: no loop cuts its sum or repeats it, and a call takes all of it. Rows of the output are
    whole cache lines.
    """
    if schedule.split or _stays(context):
        return ()
    return tuple(operator.name for operator in context.chain.operators if _finishes_output(context, schedule, operator))


def price_with_stores(context: CostContext, blocking: Blocking, walk: Walked | None = None, done: Works | None = None) -> Price:
    """The price of a plan with the gain of its non-temporal stores; arguments are those of `price_blocking`.

    Lines of the output are not read, of which a part would show as that of all traffic does.
    """
    price = price_blocking(context, blocking, walk, done)
    if not non_temporal_writes(context, blocking.schedule):
        return price
    return replace(price, terms=(*price.terms, PriceTerm(TermKind.NON_TEMPORAL_STORES, -_gain_s(context), note=UnreadLines())))


def largest_gain_s(context: CostContext) -> float:
    """The most that non-temporal stores can gain."""
    return 0.0 if _stays(context) else _gain_s(context)


def _gain_s(context: CostContext) -> float:
    """What shows of reading the output's lines, from where the price takes them: it saves no more than the price has."""
    source = context.machine.levels[context.source_position]
    return context.coefficients.visible_traffic * _output_bytes(context) / source.bandwidth_bytes_per_s


def _stays(context: CostContext) -> bool:
    """Whether a cache holds the output for its readers."""
    machine, size_bytes = context.machine, _output_bytes(context)
    position = source_position(machine, size_bytes)
    return position < len(context.cache_levels) and size_bytes <= own_bytes(machine)


def _output_bytes(context: CostContext) -> int:
    write = context.chain.operators[-1].write
    return held_bytes(context.chain, write.tensor) * int(product(context.sizes[axis] for axis in write.axes()))


def _finishes_output(context: CostContext, schedule: Schedule, operator: Operator) -> bool:
    kernel = context.kernels.get(operator.name)
    if kernel is None or kernel.emit_with is None or weights_read(context.chain, operator) is not None:
        return False
    in_tiles = maps_in_tiles(context.chain, schedule, context.kernels).items()
    maps = [name for name, contraction in in_tiles if contraction == operator.name]
    write = context.chain.operator(maps[-1]).write if maps else operator.write
    if write.tensor != context.chain.output or held_bytes(context.chain, write.tensor) != WORD_BYTES:
        return False
    loops = view_schedule(context.chain, schedule).of(operator.name).loops
    lines = context.fusion_level.line_bytes
    pitch = held_bytes(context.chain, write.tensor) * axis_stride(context.chain, write, context.roles[operator.name].row)
    is_whole = all(loop.trips <= 1 for loop in loops if loop.axis not in write.axes())
    return pitch % lines == 0 and is_whole and _takes_whole_sums(context, operator, kernel)


def _takes_whole_sums(context: CostContext, operator: Operator, kernel: MicroKernel) -> bool:
    """Whether a call takes whole sums: 3x3 filters by a call for each tap take eight times as long, as stores past the caches
    push out what the next call takes up."""
    chain, roles = context.chain, context.roles[operator.name]
    return not outer_sums(chain, operator, roles) or sums_at_once(chain, operator, roles, kernel, context.machine)
