"""The paper's decisions, from its model: weight-stationary on x86, input-stationary on POWER10, for all convolutions."""

from __future__ import annotations

from benchmarks.studies.slicing import POWER10, X86, all_layers, share_of
from tilewright.plan.slicing import Stationary


def test_the_papers_signs() -> None:
    assert sum(all_layers().values()) == 393
    assert share_of(Stationary.INPUT, POWER10, 1.0, (14, 50, 200)) == 1
    assert all(share_of(Stationary.WEIGHT, tile, 1.0, (14, 50, 200)) == 1 for tile in X86)


def test_where_the_signs_end() -> None:
    """Where L2 costs next to nothing beside memory and L3, and tiles take an eighth of L2 and L3."""
    assert share_of(Stationary.INPUT, POWER10, 0.125, (1, 50, 200)) < 0.5
    assert share_of(Stationary.WEIGHT, X86[0], 0.125, (1, 50, 200)) < 0.5
