"""Two thousand random chains of convolutions, and every storage of a few: `pytest -m sweep -k conv_chains tests/sweeps`."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from tests.api.convolutions.test_random_chains import CHAINS
from tests.support.random.conv_chain_runs import FUSIONS, ROUTES, check, check_every_order, computed, planned
from tests.support.random.conv_chains import ConvChain, conv_chains
from tests.support.sweeps import FIRST_SEED, seeds
from tests.support.targets import runnable_targets
from tilewright.plan.algorithms.definition import registered

pytestmark = [pytest.mark.sweep, pytest.mark.needs("ssse3", "sse4_1")]
TARGETS = runnable_targets()
FIRST = int(os.environ.get("TILEWRIGHT_SWEEP_SEED", FIRST_SEED))
EXAMPLES = len(seeds(1000))
ALGORITHMS = tuple(algorithm.name for algorithm in registered())


@seed(FIRST)
@settings(max_examples=EXAMPLES, derandomize=False)
@given(conv_chains(), st.sampled_from(ROUTES), st.sampled_from(FUSIONS), st.sampled_from(TARGETS))
def test_many_chains(chain: ConvChain, route: str, fuse: bool | None, target: str) -> None:
    check(chain, computed(chain, route, fuse, target))


@seed(FIRST)
@settings(max_examples=EXAMPLES, derandomize=False)
@given(
    conv_chains(most_convolutions=4, most_points=30, most_filters=24),
    st.sampled_from(ROUTES),
    st.sampled_from(TARGETS),
    st.integers(0, 9999),
    st.sampled_from(["", *ALGORITHMS]),
)
def test_many_schedules(chain: ConvChain, route: str, target: str, number: int, algorithm: str) -> None:
    with planned(number, algorithm):
        check(chain, computed(chain, route, True, target))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", CHAINS)
def test_every_order_by_every_algorithm(name: str, algorithm: str, target: str) -> None:
    check_every_order(CHAINS[name][0], algorithm, target, FIRST)
