"""Choice of micro kernels that prefetch, once the loops stand: prefetching moves no data and changes no tile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.kernels.contract import MicroKernel
from tilewright.plan.model.cost import seconds
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.operands.nested_sums import sums_at_once
from tilewright.plan.model.pricing import Blocking, Walked, Works, walk_of
from tilewright.plan.reasons import Defeat, LossReason, OtherKernel
from tilewright.plan.types import Rejected
from tilewright.records import record


@record
class PrefetchChoice:
    """The context with the chosen micro kernels, the work of every operator with them, and the choices that lost."""

    context: CostContext
    works: Works
    rejected: tuple[Rejected, ...]


def choose_prefetches(plain: CostContext, blocking: Blocking, walk: Walked | None = None) -> PrefetchChoice:
    """Kernels of the same tiles that prefetch, wherever they gain `least_gain` over those of a context.

    `walk` is how the blocking is walked with these, where that is known.
    """
    walk = walk or walk_of(plain, blocking)
    done = walk.works(plain)
    plain_s = _operator_seconds(plain, done)
    best: dict[str, tuple[MicroKernel, float]] = {}
    for changed in prefetching_kernels(plain).values():
        prefetching = plain.with_kernels(changed)
        walked = walk if move_alike(plain, changed) else walk_of(prefetching, blocking)
        prefetching_s = _operator_seconds(prefetching, walked.works(prefetching))
        for name, kernel in changed.items():
            if name not in best or prefetching_s[name] < best[name][1]:
                best[name] = kernel, prefetching_s[name]
    least_gain = plain.coefficients.least_gain
    chosen = {name: kernel for name, (kernel, time) in best.items() if time * least_gain < plain_s[name]}
    rejected = tuple(_rejected(plain, best, plain_s, frozenset(chosen)))
    if not chosen:
        return PrefetchChoice(plain, done, rejected)
    context = plain.with_kernels(chosen)
    walked = walk if move_alike(plain, chosen) else walk_of(context, blocking)
    return PrefetchChoice(context, walked.works(context), rejected)


def prefetching_kernels(context: CostContext) -> dict[tuple[str, ...], dict[str, MicroKernel]]:
    """By what they prefetch: kernels of the same tiles as those of operators, where there are any."""
    every = sorted({kernel.prefetch for kernel in context.available if kernel.prefetch})
    found = {prefetch: _prefetching(context, prefetch) for prefetch in every}
    return {prefetch: kernels for prefetch, kernels in found.items() if kernels}


def move_alike(context: CostContext, kernels: Mapping[str, MicroKernel]) -> bool:
    """Whether operators move the same with other micro kernels."""
    return all(kernel.differs_in_prefetches(context.kernels[name]) for name, kernel in kernels.items())


def _operator_seconds(context: CostContext, done: Works) -> dict[str, float]:
    return {operator.name: float(seconds(context, work) + work.non_temporal_s) for operator, work in done}


def _prefetching(context: CostContext, prefetch: tuple[str, ...]) -> dict[str, MicroKernel]:
    """For every operator whose kernel has it: the kernel of the same tile with these prefetches. None has nested sums."""
    able = [kernel for kernel in context.available if kernel.prefetch == prefetch]
    plain = {name: kernel for name, kernel in context.kernels.items() if not (kernel.prefetch or _sums_at_once(context, name))}
    return {name: candidate for name, kernel in plain.items() for candidate in able if candidate.same_tile(kernel)}


def _rejected(
    context: CostContext, best: Mapping[str, tuple[MicroKernel, float]], plain: Mapping[str, float], chosen: frozenset[str]
) -> Iterator[Rejected]:
    for name, (kernel, time) in best.items():
        if name in chosen:
            lost = OtherKernel(context.kernels[name].name, name)
            yield Rejected(lost, plain[name], time, "s", LossReason(Defeat.NOT_PREFETCHED))
        else:
            lost = OtherKernel(kernel.name, name)
            yield Rejected(lost, time, plain[name], "s", LossReason(Defeat.LITTLE_GAIN_BY_PREFETCHES))


def _sums_at_once(context: CostContext, name: str) -> bool:
    return sums_at_once(context.chain, context.chain.operator(name), context.roles[name], context.kernels[name], context.machine)
