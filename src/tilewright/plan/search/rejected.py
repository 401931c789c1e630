"""Rejected alternatives of a plan, with the figure that beat each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilewright.graph.types import Chain, Operator
from tilewright.plan.decisions.micro_kernel import RankedKernels
from tilewright.plan.model.candidate import Candidate
from tilewright.plan.model.cost import attained
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.split_price import SplitReduction
from tilewright.plan.model.threads import ENOUGH_BLOCKS
from tilewright.plan.regions.parallel_loops import block_count
from tilewright.plan.space.schedule_space import recomputes
from tilewright.plan.types import Plan, Price, Rejected

KEPT_REJECTIONS = 8
"""Alternatives that a plan remembers, besides other micro kernels and the unfused plan."""


def lost_fusion(chain: Chain, price: Price, unfused: Price) -> Iterator[Rejected]:
    """The unfused plan of a chain."""
    if len(chain.operators) > 1:
        reason = "intermediates go through memory" if unfused.seconds > price.seconds else "fused it needs no memory in between"
        yield Rejected("every operator alone", unfused.seconds, price.seconds, "s", reason)


def lost_single_part(plan: Plan, split: SplitReduction) -> Rejected:
    """The plan of a chain whose reduction is not split."""
    blocks, split_blocks = block_count(plan.chain, plan.schedule), block_count(plan.chain, split.schedule())
    return Rejected(f"{split.axis} in one part", blocks, split_blocks, "blocks", "too few blocks for threads")


def lost_candidates(context: CostContext, winner: Candidate, found: Sequence[Candidate]) -> Iterator[Rejected]:
    """The candidates of the search that lost to the winner, by memory, blocks for threads, or time."""
    alternatives = [candidate for candidate in found if candidate is not winner]
    for candidate in alternatives[:KEPT_REJECTIONS]:
        kind = (
            "line buffer"
            if candidate.line_buffered
            else "recompute"
            if recomputes(context.chain, candidate.outer_loops)
            else "keep"
        )
        name = f"{kind}, {candidate}"
        if candidate.used_bytes > context.capacity_bytes >= winner.used_bytes:
            level = context.fusion_level.name
            reason = f"does not fit its share of {level}"
            yield Rejected(name, candidate.used_bytes, context.capacity_bytes, "bytes", reason)
        elif candidate.blocks < min(ENOUGH_BLOCKS, winner.blocks) and candidate.seconds <= winner.seconds:
            yield Rejected(name, candidate.blocks, winner.blocks, "blocks", "too few blocks for threads")
        else:
            slower = candidate.cores_s > winner.cores_s
            reason = "slower" if slower else "gains too little for another loop"
            yield Rejected(
                name, candidate.cores_s, winner.cores_s, "s", f"{reason}; the least it can cost" if candidate.is_bound else reason
            )


def lost_algorithms(operator: Operator, chosen: str, seconds: Mapping[str, float]) -> Iterator[Rejected]:
    """The algorithms of an operator that lost to the chosen one, by the times of their plans: infinite without a plan."""
    for name, time in seconds.items():
        if name != chosen and time < float("inf"):
            yield Rejected(f"{operator.name} by {name}", time, seconds[chosen], "s", f"{chosen} is faster")


def lost_kernels(context: CostContext, ranked: RankedKernels) -> Iterator[Rejected]:
    """The next best micro kernels of other tiles."""
    for name, kernels in ranked.items():
        chosen = context.kernels[name]
        chosen_times = attained(context, chosen)
        winner_s = next(time for kernel, time in kernels if kernel.same_tile(chosen))
        for kernel, time in [pair for pair in kernels if not pair[0].same_tile(chosen)][:2]:
            reason = f"{name}: edges and rate" if time > winner_s else f"{name}: equal, and behind it in the registry's order"
            own_s = time * attained(context, kernel)
            yield Rejected(f"micro kernel {kernel.name} for {name}", own_s, winner_s * chosen_times, "s", reason)
