"""A variant as rankers see it, and what every ranker can do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Protocol

State = dict[str, Any]
"""What JSON can hold."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One schedule of a problem."""

    problem: str
    features: tuple[float, ...]
    """Bytes of working sets by the fastest level that holds them, memory last: `tune.working_sets.plans`."""
    predicted_s: float
    """The planner's price; infinite where it refuses the schedule."""
    measured_s: float = float("nan")
    """NaN where it was not measured."""


class Ranker(Protocol):
    """Learns from measured variants of some problems, and orders those of another problem."""

    @property
    def name(self) -> str:
        """In tables and files."""
        ...

    @property
    def uses_features(self) -> bool:
        """Whether variants need features: working sets take 10 ms a variant."""
        ...

    def train(self, variants: Sequence[Variant]) -> None:
        """Learn from measured variants. Rankers that learn nothing ignore them."""
        ...

    def order(self, variants: Sequence[Variant]) -> list[int]:
        """The positions of variants of one problem, those expected to be fastest first. Deterministic."""
        ...

    def state(self) -> State:
        """What was learned."""
        ...

    def restore(self, state: State) -> None:
        """Take over what was learned."""
        ...


def kept(order: Sequence[int], share: float = 0.1) -> list[int]:
    """The first positions of an order; at least one. The paper keeps a tenth.

    >>> kept([3, 0, 2, 1], 0.5)
    [3, 0]
    """
    return list(order[: max(1, ceil(share * len(order)))])


def by_problem(variants: Sequence[Variant]) -> dict[str, list[Variant]]:
    """Variants of each problem."""
    found: dict[str, list[Variant]] = {}
    for variant in variants:
        found.setdefault(variant.problem, []).append(variant)
    return found


def leaving_one_out(variants: Sequence[Variant]) -> Iterator[tuple[str, list[Variant], list[Variant]]]:
    """For every problem: its name, all variants of others to train with, and its own to rank. Nothing leaks between the two.

    >>> a, b = Variant("a", (1.0,), 1.0), Variant("b", (2.0,), 1.0)
    >>> [(name, train == [b], rank == [a]) for name, train, rank in leaving_one_out([a, b])][0]
    ('a', True, True)
    """
    for name, own in by_problem(variants).items():
        yield name, [variant for variant in variants if variant.problem != name], own


def of_best(order: Sequence[int], variants: Sequence[Variant], share: float = 0.1) -> float:
    """The best measured time over that of the best variant that a ranker keeps: 1 where it keeps the best."""
    times: Mapping[int, float] = {at: variants[at].measured_s for at in kept(order, share)}
    return min(variant.measured_s for variant in variants) / min(times.values())
