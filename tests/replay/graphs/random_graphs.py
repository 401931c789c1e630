"""Random graphs of fixed seeds: functions of three arrays, and heads of detectors."""

from __future__ import annotations

from collections.abc import Mapping

import tilewright as tw
from tests.replay.planning import Planned, built, traced
from tests.support.random import chains as random_chains
from tests.support.random import graphs as random_graphs

FUNCTIONS, CHAINS = range(20), range(100, 140)


def graphs() -> Mapping[str, Planned]:
    found = {f"function-{seed}": _function(seed) for seed in FUNCTIONS}
    found |= {f"chains-{seed}": built(lambda seed=seed: random_chains.random_graph(seed)) for seed in CHAINS}
    return found


def _function(seed: int) -> Planned:
    shapes = (tw.spec(one.shape) for one in random_graphs.random_inputs(seed))
    return traced(random_graphs.random_function(seed), *shapes)
