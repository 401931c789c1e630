"""Results of a few small graphs are, bit by bit, those that the repository announces; the sweeps compute all."""

from __future__ import annotations

import numpy as np
import pytest

from tests.replay import results, stored
from tests.replay.planning import graphs_of
from tests.replay.results import Results, digest_of
from tilewright.machine import Machine
from tilewright.settings import ISA_LEVELS

GRAPHS = (
    "views/shared",
    "gathers/embedding-norm",
    "attention/three-dimensions",
    "layers/layer-gelu",
    "layers/product-odd",
    "decoding/dot-product",
    "convolutions/three-stride",
    "scalar_loops/half-product",
)
"""One of every kind that adds up in an order of its own."""
HOW = "python -m tests.replay --results shows which graphs have other results; what is meant: --write-results"


@pytest.mark.unverified
@pytest.mark.parametrize(
    "level", [pytest.param(one, marks=pytest.mark.needs(*sorted(Machine.named(one).features))) for one in ISA_LEVELS]
)
def test_no_bit_of_a_result_changes_unannounced(level: str) -> None:
    before = results.read()
    changed = []
    for graph in GRAPHS:
        subject, name = graph.split("/")
        found = results.results(graph, graphs_of(subject)[name], [level])
        assert isinstance(found, Results)
        changed += [f"{graph} {change}" for change in found.changes(before.get(graph))]
    assert not changed, f"{HOW}; made with {results.made_with()}, here is {stored.versions()}"


def test_every_nan_is_the_same_and_zeros_are_not() -> None:
    numbers = np.array([1, np.nan], np.float32)
    other = numbers.copy()
    other.view(np.uint32)[1] |= 0x80000001
    assert digest_of([numbers]) == digest_of([other])
    assert digest_of([numbers]) != digest_of([numbers.astype(np.float16)])
    assert digest_of([np.array(0.0)]) != digest_of([np.array(-0.0)])
    assert digest_of([numbers, other]) != digest_of([numbers])


def test_changes_are_of_levels_that_both_have() -> None:
    before = Results("given", {"x86-64-v2": "a", "x86-64-v3": "b", "x86-64-v4": results.UNKNOWN})
    after = Results("given", {"x86-64-v3": "c", "x86-64-v4": "d"})
    assert after.changes(before) == ["other results at x86-64-v3"]
    assert after.completed(before).line("g") == "g given a c d"
    assert Results("other", {"x86-64-v2": "a"}).changes(before) == ["has other inputs or constants"]
    assert Results("other", {"x86-64-v2": "a"}).completed(before).line("g") == "g other a - -"
    assert after.changes(None) == ["is new"]
