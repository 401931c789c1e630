"""Every executable schedule of a small GEMM chain, compiled and run: lowering is not only for winners."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from tests.support.chains import artifact_of, gemm_chain, hand_plan, random_inputs
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Chain, Graph
from tilewright.kernels.registry import for_machine
from tilewright.machine import Machine
from tilewright.plan.permutations import permuted
from tilewright.plan.schedule import Storage
from tilewright.plan.space.executability import is_executable
from tilewright.runtime.executable import load

EXTENTS = {"m": 7, "n": 18, "k": 5, "l": 21}
TILES = {"m": 3, "n": 8, "k": 2, "l": 9}
MACHINE = Machine.named("x86-64-v3")
KERNEL = for_machine(MACHINE)[0]


def trip_patterns() -> list[dict[str, int]]:
    """Tiles in which each of the four axes has one trip or several, the last of them shorter."""
    return [
        {axis: TILES[axis] if several else EXTENTS[axis] for axis, several in zip(EXTENTS, pattern, strict=True)}
        for pattern in product((False, True), repeat=4)
    ]


def interpreted(chain: Chain, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The meaning of a chain, in float64."""
    graph = Graph(chain.name, chain.tensors, chain.operators, chain.inputs, (chain.output,))
    return evaluate(graph, inputs, dtype="float64")[chain.output]


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("storage", [Storage.KEEP, Storage.RECOMPUTE])
@pytest.mark.parametrize("outermost", sorted(EXTENTS))
def test_every_permutation_computes_the_chain(outermost: str, storage: Storage) -> None:
    plans = []
    orders = [order for order in permutations(EXTENTS) if order[0] == outermost]
    for number, (order, tiles) in enumerate(product(orders, trip_patterns())):
        chain = gemm_chain(EXTENTS, suffix=f"_{number}")
        schedule = permuted(chain, order, tiles, storage=storage)
        if is_executable(chain, schedule):
            plans.append(hand_plan(chain, schedule, MACHINE, KERNEL))
    assert len(plans) == 96 or (storage is Storage.RECOMPUTE and len(plans) >= 24)
    inputs = random_inputs(plans[0].chain)
    outputs = [np.full((EXTENTS["m"], EXTENTS["n"]), np.nan, np.float32) for _ in plans]
    artifact = artifact_of(plans)
    load(artifact, threads=1).run([inputs[slot.name] for slot in artifact.signature.inputs], outputs)
    expected = interpreted(plans[0].chain, inputs)
    wrong = [plan.schedule for plan, out in zip(plans, outputs, strict=True) if not np.allclose(out, expected, 1e-5, 1e-4)]
    assert not wrong, f"{len(wrong)} of {len(plans)} schedules are wrong, the first: {wrong[0]}"
