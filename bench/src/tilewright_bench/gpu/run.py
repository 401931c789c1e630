"""The whole run: contract, kernels and their results, peers, times, fit, bytes; each while its share of the budget lasts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import tilewright
from tilewright.backends.triton_gpu.figures import gpu_of
from tilewright.backends.triton_gpu.offline import VERSION
from tilewright_bench.gpu import traffic
from tilewright_bench.gpu.budget import Budget
from tilewright_bench.gpu.cases import GpuCase
from tilewright_bench.gpu.contract import contract_of
from tilewright_bench.gpu.device import Device, versions
from tilewright_bench.gpu.failures import FAILURES, told
from tilewright_bench.gpu.fit import Fit, Observation, fit
from tilewright_bench.gpu.kernels import OURS
from tilewright_bench.gpu.prepared import COMPILED, Prepared, add_compiled, own_calls, prepared
from tilewright_bench.gpu.results import Card, CaseResult, GpuReport
from tilewright_bench.gpu.rounds import Stopwatch, timed
from tilewright_bench.gpu.targets import Target, target_of
from tilewright_bench.measurement.provenance import commit

KERNELS_SHARE, COMPILED_SHARE, TIMES_SHARE = 0.7, 0.6, 0.85
"""Of the budget: until when cases are prepared, torch.compile is called, cases are timed. Counters take what is left."""
FASTEST_COMPILED_S = 2.0
"""Not worth calling torch.compile with less of its share left: it takes seconds."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Of a run."""

    rounds: int = 21
    seconds: float = 540.0
    """For everything."""
    compiles: bool = True
    """Whether torch.compile is a peer."""
    counts: bool = True
    """Whether bytes of DRAM are counted."""


def measured(
    device: Device, cases: Sequence[GpuCase], settings: Settings, budget: Budget, hears: Callable[[str], None] = lambda text: None
) -> GpuReport:
    """Run all cases; `hears` is told how far it is."""
    target = target_of(device.card, device.capability)
    card = _card(device, target)
    compares = card.triton.split("+")[0] == VERSION
    hears("contract of the replaceable product")
    lowerings = contract_of(target.machine, device, compares_shared=compares)
    ready = _prepared(device, cases, target, budget, hears)
    if settings.compiles:
        _compile(ready, device, budget, hears)
    results = _timed(ready, device, settings, budget, hears)
    hears("fit")
    found = _fitted(ready, results, target)
    results = _with_bytes(ready, results, settings, budget, hears)
    spent = budget.seconds - budget.left_s
    return GpuReport(card, tuple(results), lowerings, found, tuple(budget.left_out), spent, compares)


def _card(device: Device, target: Target) -> Card:
    head = commit(Path(tilewright.__file__).parent)
    known = tuple(versions().items())
    return Card(device.card, device.driver, device.capability, target.machine.name, target.sentence(device.card), known, head)


def _prepared(
    device: Device, cases: Sequence[GpuCase], target: Target, budget: Budget, hears: Callable[[str], None]
) -> list[Prepared]:
    found = []
    for number, case in enumerate(cases, 1):
        if budget.allows(f"case {case.name}", share=KERNELS_SHARE):
            hears(f"kernels [{number}/{len(cases)}] {case.name}")
            found.append(prepared(case, target.machine, device))
    return found


def _compile(ready: Sequence[Prepared], device: Device, budget: Budget, hears: Callable[[str], None]) -> None:
    """torch.compile, the slowest peer, has its share, and no more."""
    for number, one in enumerate(ready, 1):
        if budget.allows(f"{COMPILED} of {one.case.name}", share=COMPILED_SHARE, needs_s=FASTEST_COMPILED_S):
            hears(f"{COMPILED} [{number}/{len(ready)}] {one.case.name}")
            add_compiled(one, device)


def _timed(
    ready: Sequence[Prepared], device: Device, settings: Settings, budget: Budget, hears: Callable[[str], None]
) -> list[CaseResult]:
    found = []
    for number, one in enumerate(ready, 1):
        result = _untimed(one)
        if budget.allows(f"times of {one.case.name}", share=TIMES_SHARE):
            hears(f"times [{number}/{len(ready)}] {one.case.name}")
            watches = _stopwatches(one, device)
            times = timed(watches, settings.rounds, OURS) if watches else ()
            result = replace(result, timed=times, problems=tuple(one.problems))
        found.append(result)
    return found


def _untimed(one: Prepared) -> CaseResult:
    rows = tuple(row for own in one.owns for row in own.rows)
    moved = sum(own.compulsory_bytes for own in one.owns if own.contender == OURS)
    return CaseResult(
        one.case.name, one.case.group, tuple(one.checked), rows, compulsory_bytes=moved, problems=tuple(one.problems)
    )


def _stopwatches(one: Prepared, device: Device) -> dict[str, Stopwatch]:
    """Of all contenders whose calls can be timed."""
    found = {}
    for name, call in one.calls.items():
        try:
            found[name] = device.stopwatch(call)
        except FAILURES as problem:
            one.problems.append(f"{name}: {told(problem)}")
    return found


def _fitted(ready: Sequence[Prepared], results: Sequence[CaseResult], target: Target) -> Fit | None:
    """The price's estimates by the times of all of our kernels."""
    observations = []
    for one, result in zip(ready, results, strict=True):
        times = {own.contender: result.time_of(own.contender) for own in one.owns}
        observations += [Observation(own.priced(), time.seconds) for own in one.owns if (time := times[own.contender])]
    return fit(observations, gpu_of(target.machine))


def _with_bytes(
    ready: Sequence[Prepared], results: list[CaseResult], settings: Settings, budget: Budget, hears: Callable[[str], None]
) -> list[CaseResult]:
    """With bytes of DRAM where they can be counted; why not is left out in words."""
    if not settings.counts:
        return results
    hears("bytes of DRAM")
    turns = [(one.case.name, contender) for one in ready for contender in own_calls(one)]
    counted = traffic.counted(turns, [one.case.name for one in ready], budget.left_s)
    if counted.problem:
        budget.left_out.append(f"bytes of DRAM: {counted.problem}")
    return [replace(result, dram_bytes=_bytes_of(counted, result.case)) for result in results]


def _bytes_of(counted: traffic.Traffic, case: str) -> tuple[tuple[str, int], ...]:
    return tuple((contender, size) for (of, contender), size in counted.bytes.items() if of == case)
