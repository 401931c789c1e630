"""The workspace of a call: where tensors between chains, parts of splits and shared operands lie, in an arena by liveness."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from tilewright.block.integers import IntegerExpression, Variable, evaluated, maximum
from tilewright.block.memory import WORD_BYTES, Buffer, BufferName, Content, Lifetime
from tilewright.block.program import Region
from tilewright.graph.types import Tensor
from tilewright.lower.arguments import hints
from tilewright.lower.storage import elements_of, extent_value, partial_buffers
from tilewright.plan.layout import Layout
from tilewright.plan.types import ModelPlan, Plan
from tilewright.plan.whole_model.arena import Interval, most_alive, overwritable, placed, slots
from tilewright.records import record


@record
class Allocation:
    """A buffer in the workspace, and the first and the last chain that need it.

    It has several names where chains write over what they read.
    """

    names: tuple[BufferName, ...]
    size_words: IntegerExpression
    first: int
    last: int


@record
class Workspace:
    """(name, offset in words) of everything, the words that all take, and the most that one chain needs of them.

    The latter bounds what any arrangement takes. With symbolic extents it holds for the values that are planned with.
    """

    places: tuple[tuple[BufferName, IntegerExpression], ...]
    size_words: IntegerExpression
    live_words: int


def arranged(allocations: Sequence[Allocation], hints: Mapping[Variable, int]) -> Workspace:
    """The places of all allocations, each on cache lines of its own. `hints` are the planned values of run-time extents."""
    sizes = [allocation.size_words for allocation in allocations]
    intervals = [
        Interval(evaluated(size, hints), allocation.first, allocation.last)
        for size, allocation in zip(sizes, allocations, strict=True)
    ]
    offsets, total = _offsets(intervals, sizes)
    places = ((name, offset) for allocation, offset in zip(allocations, offsets, strict=True) for name in allocation.names)
    return Workspace(tuple(places), total, most_alive(intervals))


def _offsets(
    intervals: Sequence[Interval], sizes: Sequence[IntegerExpression]
) -> tuple[Sequence[IntegerExpression], IntegerExpression]:
    """Where every allocation begins, and the end of the last one: a slot is as large as the largest of its allocations."""
    if all(isinstance(size, int) for size in sizes):
        arena = placed(intervals)
        return arena.offsets, arena.size
    chosen = slots(intervals)
    largest: dict[int, IntegerExpression] = {}
    for slot, size in zip(chosen, sizes, strict=True):
        largest[slot] = maximum(largest[slot], size) if slot in largest else size
    starts = list(accumulate((largest[slot] for slot in range(len(largest))), initial=0))
    return [starts[slot] for slot in chosen], starts[-1]


def arena_bytes(model_plan: ModelPlan) -> tuple[int, int]:
    """What tensors between chains and the parts of splits take in one call, and the most of it that is ever alive at once.

    With symbolic extents both hold for the values that are planned with.
    """
    known = hints(model_plan.graph)
    arena = arranged(tuple(allocations(model_plan)), known)
    return evaluated(arena.size_words, known) * WORD_BYTES, arena.live_words * WORD_BYTES


def allocations(model_plan: ModelPlan, regions: Iterable[tuple[Region, Plan]] = ()) -> Iterator[Allocation]:
    """All that lives in the workspace; operands that are packed for all threads are known of lowered chains only."""
    yield from _between_chains(model_plan)
    for number, plan in enumerate(model_plan.plans):
        yield from (Allocation((part.name,), part.size_words, number, number) for part in partial_buffers(plan))
    numbers = {id(plan): number for number, plan in enumerate(model_plan.plans)}
    buffers = ((buffer, numbers[id(plan)]) for region, plan in regions for buffer in region.buffers)
    shared = {buffer.name: (buffer, number) for buffer, number in buffers if _is_shared(buffer)}
    yield from (Allocation((name,), buffer.size_words, number, number) for name, (buffer, number) in shared.items())


def _is_shared(buffer: Buffer) -> bool:
    """Whether all threads together pack an operand into it."""
    return buffer.lifetime is Lifetime.CALL and buffer.name.content is Content.PACKED


def _between_chains(model_plan: ModelPlan) -> list[Allocation]:
    """What chains leave to later ones, until the last of these has read it."""
    tensors = {tensor.name: tensor for tensor in model_plan.graph.tensors}
    layouts = dict(model_plan.layouts)
    last = {tensor: number for number, plan in enumerate(model_plan.plans) for tensor in plan.chain.inputs}
    found: list[Allocation] = []
    home: dict[str, int] = {}
    for number, plan in enumerate(model_plan.plans):
        output = plan.chain.output
        if output in model_plan.graph.outputs:
            continue
        end = last.get(output, number)
        able = (t for t in overwritable(plan.chain) if t in home and layouts[t] == layouts[output])
        over = next((home[t] for t in able if found[home[t]].last == number), None)
        home[output] = len(found) if over is None else over
        if over is None:
            buffer = between_chains(layouts[output], tensors[output])
            found.append(Allocation((buffer.name,), buffer.size_words, number, end))
        else:
            found[over] = replace(found[over], names=(*found[over].names, BufferName(output)), last=end)
    return found


def between_chains(layout: Layout, tensor: Tensor) -> Buffer:
    """The buffer of a tensor that one chain leaves to others."""
    elements = elements_of(layout, tuple(map(extent_value, tensor.shape)))
    return Buffer(BufferName(tensor.name), elements, tensor.dtype, Lifetime.CALL)
