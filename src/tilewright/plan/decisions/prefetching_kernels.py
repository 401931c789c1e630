"""Choice of micro kernels that prefetch, once the loops stand: prefetching moves no data and changes no tile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tilewright.kernels.contract import MicroKernel
from tilewright.plan.model.blocking import Blocking, Works, walk, works
from tilewright.plan.model.cost import seconds
from tilewright.plan.model.cost_context import Setting
from tilewright.plan.types import Rejected


def choose_prefetches(
    setting: Setting, blocking: Blocking, available: tuple[MicroKernel, ...], done: Works
) -> tuple[Setting, tuple[Rejected, ...]]:
    """The setting with kernels of the same tiles that prefetch where that gains what is `worth_it`, and the choices that lost.

    `done` is what the operators cost with the kernels of the setting.
    """
    plain = _operator_seconds(setting, done)
    best: dict[str, tuple[MicroKernel, float]] = {}
    walked = walk(setting, blocking)
    for prefetch in sorted({kernel.prefetch for kernel in available if kernel.prefetch}):
        changed = _prefetching(setting, available, prefetch)
        if not changed:
            continue
        prefetching = replace(setting, kernels={**setting.kernels, **changed})
        other = _operator_seconds(prefetching, works(prefetching, blocking, changed, walked))
        for name, kernel in changed.items():
            if name not in best or other[name] < best[name][1]:
                best[name] = kernel, other[name]
    worth = setting.coefficients.worth_it
    chosen = {name: kernel for name, (kernel, time) in best.items() if time * worth < plain[name]}
    rejected = tuple(_rejected(setting, best, plain, frozenset(chosen)))
    return (replace(setting, kernels={**setting.kernels, **chosen}) if chosen else setting), rejected


def _operator_seconds(setting: Setting, done: Works) -> dict[str, float]:
    return {operator.name: float(seconds(setting, work) + work.streams_s) for operator, work in done}


def _prefetching(setting: Setting, available: tuple[MicroKernel, ...], prefetch: tuple[str, ...]) -> dict[str, MicroKernel]:
    """For every operator whose kernel has it: the kernel of the same tile with these prefetches."""
    return {
        name: other
        for name, kernel in setting.kernels.items()
        for other in available
        if not kernel.prefetch and other.prefetch == prefetch and other.same_tile(kernel)
    }


def _rejected(
    setting: Setting, best: Mapping[str, tuple[MicroKernel, float]], plain: Mapping[str, float], chosen: frozenset[str]
) -> Iterator[Rejected]:
    for name, (kernel, time) in best.items():
        if name in chosen:
            lost = setting.kernels[name]
            yield Rejected(
                f"micro kernel {lost.name} for {name}", plain[name], time, "s", f"{name}: its traffic is not prefetched"
            )
        else:
            reason = f"{name}: prefetching gains too little"
            yield Rejected(f"micro kernel {kernel.name} for {name}", time, plain[name], "s", reason)
