"""A measured call beside its plan: what every chain took, and what it could have taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.plan.types import Plan
from tilewright.report import units
from tilewright.report.layout import columns

SUSPICIOUS = 1.5
"""How many times its predicted time a chain may take before the model's error is pointed at."""


@dataclass(frozen=True, slots=True)
class ChainTime:
    """One chain, or one operator that ran as NumPy: seconds; what planning predicted and no schedule can beat, on one thread."""

    name: str
    seconds: float
    predicted_seconds: float = 0.0
    floor_seconds: float = 0.0
    flops: int = 0
    peak_share: float = 0.0
    """Of the machine's arithmetic, on one thread."""
    size_bytes: int = 0
    """The least that has to be moved from and to memory."""
    is_numpy: bool = False
    has_products: bool = False
    """Whether it has sums of products."""
    has_weights: bool = False
    """Whether an operand of one of them is a constant."""


def chain_times(measured: Sequence[tuple[str, float]], planned: Sequence[Plan]) -> tuple[ChainTime, ...]:
    """The chains of a model with the seconds that were measured for each, by name."""
    plans = {plan.chain.name: plan for plan in planned}
    found = []
    for name, seconds in measured:
        plan = plans.get(name)
        if plan is None:
            found.append(ChainTime(name, seconds))
            continue
        floor = plan.floor
        share = floor.compute_s / seconds if seconds else 0.0
        times = (seconds, plan.predicted_seconds, floor.seconds)
        products = [operator for operator in plan.chain.operators if operator.is_contraction()]
        weights = any(read.tensor in plan.chain.constants for operator in products for read in operator.reads[:2])
        kinds = {"has_products": bool(products), "has_weights": weights}
        found.append(ChainTime(name, *times, floor.flops, share, floor.compulsory_bytes, **kinds))
    return tuple(found)


def table(times: Sequence[ChainTime]) -> str:
    """Lines for a person: the chains in order, then the total; what took longer than predicted is marked."""
    rows = [["chain", "time", "predicted", "floor", "of peak", "bytes", ""]]
    rows += [_row(time) for time in times]
    total = sum(time.seconds for time in times)
    rows.append(["total", units.seconds(total), units.seconds(sum(time.predicted_seconds for time in times)), "", "", "", ""])
    return "\n".join(columns(rows, right=range(1, 6)))


def _row(time: ChainTime) -> list[str]:
    if time.is_numpy:
        return [time.name, units.seconds(time.seconds), "", "", "", "", "runs as NumPy"]
    is_late = time.predicted_seconds and time.seconds > SUSPICIOUS * time.predicted_seconds
    remark = f"{time.seconds / time.predicted_seconds:.1f} times as predicted" if is_late else ""
    figures = [units.seconds(value) for value in (time.seconds, time.predicted_seconds, time.floor_seconds)]
    return [time.name, *figures, units.percent(time.peak_share), units.size(time.size_bytes), remark]
