"""Random programs and graphs for GPUs in Triton's interpreter, from the seed of sweeps on."""

from __future__ import annotations

import pytest

from tests.support.sweeps import seeds, summary
from tests.support.triton_graphs import graph_outcome
from tests.support.triton_process import interpreting, ran
from tests.support.triton_programs import KINDS

TURNS = 16
LEAST_GUARDED = 20
"""Kernels of the default seeds with padded images."""
GRAPHS = 200


@pytest.mark.sweep
@pytest.mark.parametrize("target", ["a100", "h100"])
def test_programs(target: str) -> None:
    with interpreting() as pool:
        runs = [pool.submit(ran, kind, seed, target) for seed in seeds(TURNS) for kind in KINDS]
        outcomes = [run.result() for run in runs]
    kernels = [one for outcome in outcomes for one in outcome.kernels]
    worst = max(outcome.error / outcome.bound for outcome in outcomes if outcome.bound)
    guarded, fused = sum(one.guarded for one in kernels), sum(one.products == 2 for one in kernels)
    print(f"{target}: {len(outcomes)} programs, {len(kernels)} kernels, {fused} with two products, {guarded} with padded images")
    print(f"worst error {worst:.2f} of its bound")
    assert not [fault for outcome in outcomes for fault in outcome.faults()]
    assert guarded >= LEAST_GUARDED


@pytest.mark.sweep
@pytest.mark.parametrize("target", ["a100", "h100"])
def test_graphs(target: str) -> None:
    with interpreting() as pool:
        runs = [pool.submit(graph_outcome, seed, target) for seed in seeds(GRAPHS)]
        outcomes = [run.result() for run in runs]
    print(summary(outcomes))
    assert not [outcome for outcome in outcomes if outcome.is_failure]
