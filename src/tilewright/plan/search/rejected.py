"""Rejected alternatives of a plan, with the figure that beat each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.graph.types import Chain
from tilewright.plan.decisions.micro_kernel import RankedKernels, is_exact, operand_bounds
from tilewright.plan.element_types import held_type
from tilewright.plan.model.cost import attained
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.pricing import Candidate
from tilewright.plan.reasons import Defeat, EveryOperatorAlone, LossReason, OnePart, OtherKernel, OtherLoops
from tilewright.plan.schedule import Storage
from tilewright.plan.space.schedule_space import recomputes
from tilewright.plan.types import Plan, Price, Rejected

KEPT_REJECTIONS = 8
"""Alternatives that a plan remembers, besides other micro kernels and the unfused plan."""


def lost_fusion(chain: Chain, price: Price, unfused: Price | None) -> Iterator[Rejected]:
    """The unfused plan of a chain, where it has one."""
    if unfused is not None and len(chain.operators) > 1:
        defeat = Defeat.THROUGH_MEMORY if unfused.seconds > price.seconds else Defeat.MEMORY_BETWEEN
        yield Rejected(EveryOperatorAlone(), unfused.seconds, price.seconds, "s", LossReason(defeat))


def lost_single_part(plan: Plan, axis: str, split: Price) -> Rejected:
    """The plan of a chain whose reduction is not split along an axis."""
    cores, blocks = plan.machine.cores, plan.price.blocks
    reason = LossReason(Defeat.THREADS_WAIT, blocks=blocks, cores=cores) if blocks < cores else LossReason(Defeat.SLOWER)
    return Rejected(OnePart(axis), plan.price.on(cores), split.on(cores), "s", reason)


def lost_candidates(context: CostContext, winner: Candidate, found: Sequence[Candidate]) -> Iterator[Rejected]:
    """The candidates of the search that lost to the winner, by memory or time."""
    alternatives = [candidate for candidate in found if candidate is not winner]
    for candidate in alternatives[:KEPT_REJECTIONS]:
        lost = OtherLoops(_storage(context.chain, candidate), candidate.loops())
        if candidate.used_bytes > context.capacity_bytes >= winner.used_bytes:
            reason = LossReason(Defeat.DOES_NOT_FIT, context.fusion_level.name)
            yield Rejected(lost, candidate.used_bytes, context.capacity_bytes, "bytes", reason)
        else:
            reason = _lost_time(candidate, winner, context.machine.cores)
            yield Rejected(lost, candidate.cores_s, winner.cores_s, "s", reason)


def _lost_time(lost: Candidate, winner: Candidate, cores: int) -> LossReason:
    """Why a candidate lost by its time on the cores."""
    if lost.cores_s <= winner.cores_s:
        return LossReason(Defeat.LITTLE_GAIN, is_bound=lost.is_bound)
    if lost.blocks < min(cores, winner.blocks) and lost.seconds <= winner.seconds:
        return LossReason(Defeat.THREADS_WAIT, is_bound=lost.is_bound, blocks=lost.blocks, cores=cores)
    return LossReason(Defeat.SLOWER, is_bound=lost.is_bound)


def lost_inexact(context: CostContext) -> Iterator[Rejected]:
    """Of the faster micro kernels that may not be chosen since their sums may saturate, the first of each contraction."""
    for name, chosen in context.kernels.items():
        operator, roles = context.chain.operator(name), context.roles[name]
        accesses = operator.reads[roles.left], operator.reads[roles.right], operator.write
        types = tuple(held_type(context.chain, access.tensor) for access in accesses)
        for kernel in context.available:
            is_faster = kernel.element_types == types and kernel.attainable(context.machine) > chosen.attainable(context.machine)
            if kernel.saturation is not None and is_faster and not is_exact(kernel, context.chain, operator, roles):
                worst = kernel.saturation.worst_sum(*operand_bounds(context.chain, operator, roles))
                reason = LossReason(Defeat.MAY_SATURATE)
                yield Rejected(OtherKernel(kernel.name, name), worst, kernel.saturation.limit, "as a sum", reason)
                break


def _storage(chain: Chain, candidate: Candidate) -> Storage:
    """What becomes of intermediates with some loops."""
    if candidate.line_buffered:
        return Storage.LINE_BUFFER
    return Storage.RECOMPUTE if recomputes(chain, candidate.outer_loops) else Storage.KEEP


def lost_kernels(context: CostContext, ranked: RankedKernels) -> Iterator[Rejected]:
    """The next best micro kernels of other tiles."""
    for name, kernels in ranked.items():
        chosen = context.kernels[name]
        chosen_times = attained(context, chosen)
        winner_s = next(time for kernel, time in kernels if kernel.same_tile(chosen))
        for kernel, time in [pair for pair in kernels if not pair[0].same_tile(chosen)][:2]:
            reason = LossReason(Defeat.EDGES_AND_RATE if time > winner_s else Defeat.LATER_IN_REGISTRY)
            own_s = time * attained(context, kernel)
            yield Rejected(OtherKernel(kernel.name, name), own_s, winner_s * chosen_times, "s", reason)
