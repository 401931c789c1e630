"""Softmax in blocks of its own reduction, compiled and run: online over any loops, against the interpreter."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest

from tests.support.chains import artifact_of, gemm_chain, hand_plan, random_inputs
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Chain, Graph
from tilewright.kernels.registry import for_machine
from tilewright.machine import Machine
from tilewright.plan.block_order import is_executable, permuted, prefixed, why_not_executable
from tilewright.plan.parallel import parallel_axes
from tilewright.plan.row_forms import cut_axes
from tilewright.plan.schedule import Loop, Schedule, Storage
from tilewright.plan.types import Plan
from tilewright.runtime.executable import load

SPLIT_PREFIXES = ("", "m", "l", "ml", "lm", "bml", "blm")
EXTENTS = {"m": 7, "n": 18, "k": 5, "l": 21}
TILES = {"m": 3, "n": 8, "k": 2, "l": 9}
PATTERNS = [(True, True, True), (False, True, False), (True, False, True)]
"""Whether loops over m, n and k have several trips."""
MACHINE = Machine.named("x86-64-v3")
KERNEL = for_machine(MACHINE)[0]


def interpreted(chain: Chain, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The meaning of a chain, in float64."""
    graph = Graph(chain.name, chain.tensors, chain.operators, chain.inputs, (chain.output,))
    return evaluate(graph, inputs, dtype="float64")[chain.output]


def is_online(chain: Chain, schedule: Schedule) -> bool:
    """Whether a schedule cuts the rows of the softmax."""
    return bool(cut_axes(chain, schedule, chain.operator("weights")))


def check_all(plans: list[Plan]) -> None:
    """Run independent chains of one library on the same inputs."""
    inputs = random_inputs(plans[0].chain)
    shape = tuple(plans[0].chain.tensor(plans[0].chain.output).shape)
    outputs = [np.full(shape, np.nan, np.float32) for _ in plans]
    artifact = artifact_of(plans)
    load(artifact, threads=1).run([inputs[slot.name] for slot in artifact.signature.inputs], outputs)
    expected = interpreted(plans[0].chain, inputs)
    wrong = [plan.schedule for plan, out in zip(plans, outputs, strict=True) if not np.allclose(out, expected, 1e-5, 1e-5)]
    assert not wrong, f"{len(wrong)} of {len(plans)} schedules are wrong, the first: {wrong[0]}"


@pytest.mark.needs("avx2", "fma")
def test_every_permutation_that_cuts_rows_computes_the_chain() -> None:
    plans = []
    for number, (order, pattern) in enumerate(product(permutations("mnkl"), PATTERNS)):
        tiles = {axis: TILES[axis] if cut else EXTENTS[axis] for axis, cut in zip("mnk", pattern, strict=True)}
        for storage in (Storage.KEEP, Storage.RECOMPUTE):
            chain = gemm_chain(EXTENTS, middle="softmax", suffix=f"_{number}_{storage.value}")
            schedule = permuted(chain, order, {**tiles, "l": TILES["l"]}, storage=storage)
            if is_executable(chain, schedule):
                assert is_online(chain, schedule)
                plans.append(hand_plan(chain, schedule, MACHINE, KERNEL))
    assert len(plans) > 80, len(plans)
    check_all(plans)


def split(schedule: Schedule, part: int) -> Schedule:
    """The schedule on parts of the keys."""
    return replace(schedule, body=(Loop("l", part, schedule.body),), split="l")


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("part", [9, 10, 20])
def test_parts_of_the_keys_are_merged_under_every_prefix(part: int) -> None:
    plans = []
    extents, tiles = {"b": 2, **EXTENTS}, {"b": 1, **TILES, "l": 4}
    for number, (prefix, own) in enumerate(product(SPLIT_PREFIXES, ({}, {"out": "n", "scores": "k"}, {"out": "nl"}))):
        chain = gemm_chain(extents, batch=True, middle="softmax", suffix=f"_{number}")
        below = {name: [axis for axis in order if axis not in prefix] for name, order in own.items()}
        schedule = split(prefixed(chain, prefix, below, tiles), part)
        assert not why_not_executable(chain, schedule)
        plans.append(hand_plan(chain, schedule, MACHINE, KERNEL, parallel_axes(chain, schedule)))
    assert plans[-1].parallel_axes == ("l", "b")
    check_all(plans)
