"""Choice of micro kernels that prefetch, once the loops stand: prefetching moves no data and changes no tile."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.graph.types import Operator
from tilewright.kernels.contract import MicroKernel
from tilewright.plan.model.cost import Moving, Work, nothing, seconds, work_of
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.pricing import Blocking, Walk, Works, walk_of
from tilewright.plan.reasons import Defeat, LossReason, OtherKernel
from tilewright.plan.types import Rejected


@dataclass(frozen=True, slots=True)
class PrefetchChoice:
    """The context with the chosen micro kernels, the work of every operator with them, and the choices that lost."""

    context: CostContext
    works: Works
    rejected: tuple[Rejected, ...]


def choose_prefetches(plain: CostContext, blocking: Blocking, walk: Walk | None = None) -> PrefetchChoice:
    """Kernels of the same tiles that prefetch, wherever they gain `least_gain` over those of a context.

    `walk` is how the blocking is walked with these, where that is known.
    """
    known = (walk or walk_of(plain, blocking)).movings
    done = _works(plain, known)
    plain_s = _operator_seconds(plain, done)
    best: dict[str, tuple[MicroKernel, float]] = {}
    for prefetch in sorted({kernel.prefetch for kernel in plain.available if kernel.prefetch}):
        changed = _prefetching(plain, prefetch)
        if not changed:
            continue
        prefetching = plain.with_kernels(changed)
        moved = known if _move_alike(plain, changed) else walk_of(prefetching, blocking).movings
        asking = [(operator, moving) for operator, moving in moved if operator.name in changed]
        prefetching_s = _operator_seconds(prefetching, _works(prefetching, asking))
        for name, kernel in changed.items():
            if name not in best or prefetching_s[name] < best[name][1]:
                best[name] = kernel, prefetching_s[name]
    least_gain = plain.coefficients.least_gain
    chosen = {name: kernel for name, (kernel, time) in best.items() if time * least_gain < plain_s[name]}
    rejected = tuple(_rejected(plain, best, plain_s, frozenset(chosen)))
    if not chosen:
        return PrefetchChoice(plain, done, rejected)
    context = plain.with_kernels(chosen)
    moved = known if _move_alike(plain, chosen) else walk_of(context, blocking).movings
    return PrefetchChoice(context, _works(context, moved), rejected)


def _move_alike(context: CostContext, kernels: Mapping[str, MicroKernel]) -> bool:
    """Whether operators move the same with other micro kernels."""
    return all(kernel.differs_in_prefetches(context.kernels[name]) for name, kernel in kernels.items())


def _works(context: CostContext, moved: Sequence[tuple[Operator, Moving | None]]) -> tuple[tuple[Operator, Work], ...]:
    """The work of operators with the micro kernels of a context; equal layers, which move the same, are priced once."""
    known: dict[Hashable, Work] = {}
    found = []
    for operator, moving in moved:
        key = id(moving), context.kernels.get(operator.name)
        if key not in known:
            known[key] = nothing(context) if moving is None else work_of(moving, context.kernels)
        found.append((operator, known[key]))
    return tuple(found)


def _operator_seconds(context: CostContext, done: Works) -> dict[str, float]:
    return {operator.name: float(seconds(context, work) + work.non_temporal_s) for operator, work in done}


def _prefetching(context: CostContext, prefetch: tuple[str, ...]) -> dict[str, MicroKernel]:
    """For every operator whose kernel has it: the kernel of the same tile with these prefetches."""
    able = [kernel for kernel in context.available if kernel.prefetch == prefetch]
    plain = {name: kernel for name, kernel in context.kernels.items() if not kernel.prefetch}
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
