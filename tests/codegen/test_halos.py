"""Convolution chains in every storage, prefix and a few ragged tiles, compiled and run against the interpreter."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.oracles.trace_replay import record
from tests.support.chains import artifact_of, hand_plan, random_inputs
from tests.support.halo_chains import RELU, conv, halo_chain, pad, pool
from tilewright.block.memory import BufferName
from tilewright.block.statements import Transfer
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Chain, Graph
from tilewright.kernels.registry import for_machine
from tilewright.machine import Machine
from tilewright.plan.regions.loop_views import parallel_axes
from tilewright.plan.schedule import Compute, Loop, Schedule, fused_schedule
from tilewright.plan.space.executability import is_executable
from tilewright.plan.space.schedule_space import may_be_line_buffered
from tilewright.plan.types import ModelPlan, Plan
from tilewright.render.c.program import lower_program
from tilewright.runtime.executable import load

MACHINE = Machine.named("x86-64-v3")
KERNEL = for_machine(MACHINE)[0]

CHAINS = {
    "two convolutions": (7, 6, 2, [conv(3, 3), conv(3, 4)]),
    "a stride and no square": (11, 7, 2, [conv(1, 3), conv((4, 2), 4, (3, 1))]),
    "a stride beyond the kernel": (11, 9, 1, [conv(2, 2), conv(2, 3, 4)]),
    "padding in between": (6, 5, 2, [conv(3, 3), RELU, pad(1), conv(3, 4)]),
    "wide padding": (5, 4, 1, [pad(2), conv(3, 2), RELU, pad(2), conv(5, 2, 2)]),
    "three convolutions": (9, 7, 1, [conv(3, 2), conv(3, 2), conv(2, 3)]),
    "a pool": (9, 7, 1, [conv(2, 2), RELU, pool(3, 2)]),
}


def interpreted(chain: Chain, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The meaning of a chain, in float64."""
    graph = Graph(chain.name, chain.tensors, chain.operators, chain.inputs, (chain.output,))
    return evaluate(graph, inputs, dtype="float64")[chain.output]


def image_axes(chain: Chain) -> tuple[str, str]:
    """The rows and the columns of the result."""
    rows, columns = (next(iter(index.axes())) for index in chain.operators[-1].write.indices[1:3])
    return rows, columns


def cases(chain: Chain) -> list[tuple[tuple[str, ...], dict[str, int], list[str]]]:
    """(prefix, tiles, line-buffered) for every choice of storage."""
    rows, columns = image_axes(chain)
    found = []
    for outer_loops, tall, wide in [((rows,), 1, 1), ((rows,), 2, 1), ((columns, rows), 2, 3), ((rows, columns), 1, 2)]:
        groups = may_be_line_buffered(chain, outer_loops)
        for choice in product((False, True), repeat=len(groups)):
            line_buffered = [tensor for group, one in zip(groups, choice, strict=True) if one for tensor in group]
            found.append((outer_loops, {rows: tall, columns: wide}, line_buffered))
    return found


def planned(schedule: Schedule, chain: Chain) -> Plan:
    assert is_executable(chain, schedule)
    return hand_plan(chain, schedule, MACHINE, KERNEL, parallel_axes(chain, schedule))


def results(plans: list[Plan], threads: int = 1) -> tuple[list[np.ndarray], np.ndarray]:
    """What every plan computes, and what it should be."""
    inputs = random_inputs(plans[0].chain)
    expected = interpreted(plans[0].chain, inputs)
    outputs = [np.full(expected.shape, np.nan, np.float32) for _ in plans]
    artifact = artifact_of(plans)
    load(artifact, threads=threads).run([inputs[slot.name] for slot in artifact.signature.inputs], outputs)
    return outputs, expected


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("name", CHAINS)
def test_kept_recomputed_and_rolled_images_compute_the_chain(name: str) -> None:
    height, width, channels, stages = CHAINS[name]
    every = cases(halo_chain(height, width, channels, stages))
    plans = []
    for number, (outer_loops, tiles, line_buffered) in enumerate(every):
        suffix = f"_{number}"
        chain = halo_chain(height, width, channels, stages, suffix=suffix, batch=2)
        plans.append(
            planned(
                fused_schedule(chain, outer_loops, {}, tiles, line_buffered=[tensor + suffix for tensor in line_buffered]), chain
            )
        )
    outputs, expected = results(plans)
    wrong = [case for case, out in zip(every, outputs, strict=True) if not np.allclose(out, expected, 1e-4, 1e-4)]
    assert not wrong, f"{len(wrong)} of {len(plans)} schedules are wrong, the first: {wrong[0]}"
    again, _ = results(plans, threads=2)
    assert all(np.array_equal(one, other) for one, other in zip(outputs, again, strict=True))


def special(suffix: str) -> Chain:
    return halo_chain(11, 8, 2, [conv(3, 3), conv(3, 4)], suffix=suffix)


@pytest.mark.needs("avx2", "fma")
def test_loops_below_and_around_images() -> None:
    """Inner loops of every operator over what it computes required regions of its consumers along, and a line-buffered loop
    inside one over the same axis."""
    plans = []
    for number, line_buffered in enumerate([(), ("T1_0",), ("T1_1",)]):
        chain = special(f"_{number}")
        first, second = chain.operators
        leaves = Loop("h", 2, (Loop("w", 5, (Compute(first.name),)),)), Loop("o2", 3, (Compute(second.name),))
        storage = fused_schedule(chain, ("h2",), {}, {"h2": 3}, line_buffered=[f"T1_{number}"] if line_buffered else []).storage
        inner = Loop("h2", 2, leaves)
        plans.append(planned(Schedule((Loop("h2", 4, (inner,)),) if number == 2 else (inner,), storage), chain))
    assert plans[2].parallel_axes == ("h2",)
    outputs, expected = results(plans, threads=2)
    assert all(np.allclose(out, expected, 1e-4, 1e-4) for out in outputs)


def test_rolled_images_read_and_write_the_same_buffer() -> None:
    chain = special("")
    plan = planned(fused_schedule(chain, ("w2", "h2"), {}, {"h2": 2, "w2": 3}, line_buffered=["T1"]), chain)
    graph = Graph("test", chain.tensors, chain.operators, chain.inputs, (chain.output,))
    work = lower_program(ModelPlan(graph, (plan,), ()))
    (move,) = (node for region in work.regions for node in region.nodes() if isinstance(node, Transfer))
    assert move.source.buffer == move.target.buffer == BufferName("T1")
    touches = record(work)
    assert set(touches.writes[touches.owners == touches.buffers.index("T1")].tolist()) == {False, True}
