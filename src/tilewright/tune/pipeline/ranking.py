"""Rankers by name; those that learn do so from what was measured on the machine for other problems than those that are tuned."""

from __future__ import annotations

import json
from collections.abc import Collection

from tilewright.errors import TilewrightError, installing
from tilewright.runtime.tuning.database import Measurement, TuningDatabase
from tilewright.tune.rankers.ranker import Ranker, Variant
from tilewright.tune.rankers.simple import AtRandom, ByPrice

PRICE, RANDOM = "price", "random"
LEARNING = ("network", "boosting")
NAMES = (PRICE, RANDOM, *LEARNING)
LEAST_MEASUREMENTS = 50
"""To learn from."""


def trained(name: str, database: TuningDatabase, machine: str, problems: Collection[str], seed: int) -> Ranker:
    """A ranker of `NAMES` for problems, of whose rows it sees none: a run that is interrupted is ranked again as it was.

    Raises `TilewrightError` where there is too little to learn from, or no package to learn by.
    """
    if name not in LEARNING:
        return ByPrice() if name == PRICE else AtRandom(seed)
    ranker = _untrained(name, seed)
    measured = (row for row in database.measurements(machine) if row.problem not in problems)
    variants = [found for row in measured if (found := _variant(row)) is not None]
    if len(variants) < LEAST_MEASUREMENTS:
        raise TilewrightError(
            f"the {name} ranker has too little to learn from",
            why=f"{len(variants)} plans of other chains were measured on {machine}, at least {LEAST_MEASUREMENTS} are wanted",
            hint="tune others with --ranker price first, or --import measurements of this machine",
        )
    ranker.train(variants)
    return ranker


def _untrained(name: str, seed: int) -> Ranker:
    try:
        if name == "network":
            from tilewright.tune.rankers.tournament import Tournament

            return Tournament(seed)
        from tilewright.tune.rankers.boosting import Boosting

        return Boosting(seed)
    except ModuleNotFoundError as problem:
        raise TilewrightError(f"the {name} ranker needs the package {problem.name}", hint=installing("tune")) from problem


def _variant(row: Measurement) -> Variant | None:
    """What was measured, as rankers see it; None for wrong results, and where features are missing."""
    features = json.loads(row.features or "[]")
    if row.seconds is None or row.predicted_s is None or not features:
        return None
    return Variant(row.problem, tuple(map(float, features)), row.predicted_s, row.seconds)
