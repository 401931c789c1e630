"""Features between 0 and 1: min-max scaling over the variants that a ranker learns from (PolyDL, section 3.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tilewright.tune.rankers.ranker import Variant

Rows: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Scaling:
    """The least and the greatest of every feature."""

    least: tuple[float, ...]
    greatest: tuple[float, ...]

    def __call__(self, variants: Sequence[Variant]) -> Rows:
        """One row per variant. A feature that never changed is 0."""
        least, greatest = np.asarray(self.least), np.asarray(self.greatest)
        spans = np.where(greatest > least, greatest - least, 1.0)
        rows: Rows = (feature_rows(variants) - least) / spans
        return rows


def feature_rows(variants: Sequence[Variant]) -> Rows:
    """One row per variant."""
    return np.array([variant.features for variant in variants], np.float64)


def scaling_of(variants: Sequence[Variant]) -> Scaling:
    """Of the variants that are learned from.

    >>> found = scaling_of([Variant("p", (10.0, 1.0), 0.0), Variant("p", (30.0, 1.0), 0.0)])
    >>> found([Variant("p", (20.0, 1.0), 0.0)]).tolist()
    [[0.5, 0.0]]
    """
    rows = feature_rows(variants)
    return Scaling(tuple(map(float, rows.min(axis=0))), tuple(map(float, rows.max(axis=0))))
