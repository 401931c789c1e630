"""Random networks with branches, in every layout of their images: `pytest -m sweep tests/sweeps/test_random_networks.py`.

Networks begin at the seed TILEWRIGHT_SWEEP_SEED; there are TILEWRIGHT_SWEEP_COUNT of them.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.support.guarded import in_child
from tests.support.random.networks import check_layouts, every_assignment, networks
from tests.support.sweeps import FIRST_SEED, seeds
from tilewright.graph.types import Graph

FIRST = int(os.environ.get("TILEWRIGHT_SWEEP_SEED", FIRST_SEED))
MOST_ASSIGNMENTS = 16


@pytest.mark.sweep
@pytest.mark.needs("ssse3", "sse4_1")
@seed(FIRST)
@settings(max_examples=len(seeds(100)), derandomize=False)
@given(networks(), st.sampled_from([None, True, False]))
def test_every_layout_of_many_networks(graph: Graph, fuse: bool | None) -> None:
    in_child(check_layouts, graph, every_assignment(graph, MOST_ASSIGNMENTS, FIRST), fuse)
