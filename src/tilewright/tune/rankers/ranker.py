"""Rankers: a variant as they see it, what those that learn have in common, and those that do not, by price and at random."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tilewright.errors import TilewrightError
from tilewright.records import record

State = dict[str, Any]
"""What JSON can hold."""
Rows: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@record
class Variant:
    """One schedule of a problem."""

    problem: str
    features: tuple[float, ...]
    """Bytes of working sets by the fastest level that holds them, memory last: `tune.working_sets.features`."""
    predicted_s: float
    """The planner's price; infinite where it refuses the schedule."""
    measured_s: float = float("nan")
    """NaN where it was not measured."""


class Ranker(ABC):
    """Orders variants of a problem; those that are expected to be fastest come first."""

    name: ClassVar[str]
    """In tables and files."""
    uses_features: ClassVar[bool] = False
    """Whether variants need features: working sets take 10 ms a variant."""

    @abstractmethod
    def order(self, variants: Sequence[Variant]) -> list[int]:
        """The positions of variants of one problem. Deterministic."""


class Learner(Ranker):
    """A ranker that learns from measured variants of other problems: the same variants and seed make the same ranker."""

    uses_features = True

    def __init__(self, seed: int = 0) -> None:
        self._seed, self._learned = seed, list[Variant]()

    def train(self, variants: Sequence[Variant]) -> None:
        """Learn from measured variants."""
        self._learned = list(variants)
        self._fit(variants)

    def order(self, variants: Sequence[Variant]) -> list[int]:
        """By what was learned. Raises `TilewrightError` where that is nothing."""
        if not self._learned:
            raise TilewrightError("this ranker has learned nothing", hint="call train or restore before order")
        return self._order(variants)

    def state(self) -> State:
        """The seed, and the variants that were learned from."""
        rows = [[v.problem, list(v.features), v.predicted_s, v.measured_s] for v in self._learned]
        return {"seed": self._seed, "variants": rows}

    def restore(self, state: State) -> None:
        """Learn from the same variants."""
        self._seed = state["seed"]
        self.train([Variant(name, tuple(features), *times) for name, features, *times in state["variants"]])

    @abstractmethod
    def _fit(self, variants: Sequence[Variant]) -> None: ...

    @abstractmethod
    def _order(self, variants: Sequence[Variant]) -> list[int]: ...


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


def feature_rows(variants: Sequence[Variant]) -> Rows:
    """One row per variant."""
    return np.array([variant.features for variant in variants], np.float64)


class ByPrice(Ranker):
    """The calibrated analytical price.

    >>> ByPrice().order([Variant("p", (), 2.0), Variant("p", (), 1.0)])
    [1, 0]
    """

    name = "price"

    def order(self, variants: Sequence[Variant]) -> list[int]:
        """Cheapest first."""
        return sorted(range(len(variants)), key=lambda at: variants[at].predicted_s)


@dataclass(frozen=True)
class AtRandom(Ranker):
    """Any order, the same for a seed."""

    seed: int = 0
    name = "random"

    def order(self, variants: Sequence[Variant]) -> list[int]:
        """A permutation."""
        return random.Random(self.seed).sample(range(len(variants)), len(variants))
