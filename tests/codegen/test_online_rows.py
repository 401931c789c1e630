"""Softmax in blocks of its own reduction, compiled and run: online over any loops, against the interpreter."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codegen.test_gemm_chains import guarded
from tests.support.chains import artifact_of, gemm_chain, hand_plan, random_inputs
from tests.support.expected import gemm_chain_with_bound
from tilewright.graph.expressions.index import axis
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Chain, Graph, SymbolicExtent
from tilewright.kernels.registry import for_machine
from tilewright.machine import Machine
from tilewright.plan.permutations import permuted
from tilewright.plan.regions.loop_views import parallel_axes
from tilewright.plan.regions.online_reductions import cut_axes, divided_by_readers
from tilewright.plan.schedule import Loop, Schedule, Storage, fused_schedule
from tilewright.plan.space.executability import is_executable, why_not_executable
from tilewright.plan.types import Plan
from tilewright.runtime.executable import Executable, load

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
@pytest.mark.parametrize("part", [9, 20])
def test_parts_of_the_keys_are_merged_under_every_prefix(part: int) -> None:
    plans = []
    extents, tiles = {"b": 2, **EXTENTS}, {"b": 1, **TILES, "l": 4}
    for number, (outer_loops, own) in enumerate(product(SPLIT_PREFIXES, ({}, {"out": "n", "scores": "k"}, {"out": "nl"}))):
        chain = gemm_chain(extents, batch=True, middle="softmax", suffix=f"_{number}")
        below = {name: [axis for axis in order if axis not in outer_loops] for name, order in own.items()}
        schedule = split(fused_schedule(chain, outer_loops, below, tiles), part)
        assert not why_not_executable(chain, schedule)
        plans.append(hand_plan(chain, schedule, MACHINE, KERNEL, parallel_axes(chain, schedule)))
    assert plans[-1].parallel_axes == ("l", "b")
    check_all(plans)


def heads_beside_each_other(chain: Chain) -> Chain:
    """The chain that writes out[m, n_extent * b + n]."""
    sink, width = chain.operators[-1], int(chain.extents["n"])
    write = replace(sink.write, indices=(axis("m"), axis("b") * width + axis("n")))
    tensors = [
        replace(one, shape=(one.shape[1], one.shape[0] * width)) if one.name == write.tensor else one for one in chain.tensors
    ]
    return replace(chain, tensors=tuple(tensors), operators=(*chain.operators[:-1], replace(sink, write=write)))


@pytest.mark.needs("avx2", "fma")
def test_writes_of_several_axes_along_one_dimension() -> None:
    plans = []
    extents, tiles = {"b": 3, **EXTENTS}, {"b": 1, **TILES, "l": 4}
    for number, (outer_loops, part) in enumerate(product(("", "m", "bml", "nbm"), (0, 9))):
        chain = heads_beside_each_other(gemm_chain(extents, batch=True, middle="softmax", suffix=f"_{number}"))
        schedule = fused_schedule(chain, outer_loops, {}, tiles)
        if part and "n" not in outer_loops:
            schedule = split(schedule, part)
        assert not why_not_executable(chain, schedule)
        plans.append(hand_plan(chain, schedule, MACHINE, KERNEL, parallel_axes(chain, schedule)))
    check_all(plans)


@pytest.mark.needs("avx2", "fma")
def test_whole_rows_are_divided_where_they_are_summed() -> None:
    plans = []
    extents, tiles = {"b": 2, **EXTENTS}, {"b": 1, **TILES, "l": 4}
    nests = ({}, {"out": "l"}, {"out": "nl"}, {"out": "lm", "weights": "m"}, {"out": "mn", "scores": "lk"})
    for number, (outer_loops, own) in enumerate(product(("", "b", "m", "bm", "nbm"), nests)):
        chain = gemm_chain(extents, batch=True, middle="softmax", suffix=f"_{number}")
        below = {name: [axis for axis in order if axis not in outer_loops] for name, order in own.items()}
        schedule = fused_schedule(chain, outer_loops, below, tiles)
        assert not why_not_executable(chain, schedule)
        assert divided_by_readers(chain, "weights")
        assert not is_online(chain, schedule)
        plans.append(hand_plan(chain, schedule, MACHINE, KERNEL, parallel_axes(chain, schedule)))
    check_all(plans)


SYMBOLS = {name: SymbolicExtent(name, low, 4096, 64) for name, low in zip("bmkln", (1, 1, 1, 0, 1), strict=True)}
SIZES = st.sampled_from([1, 2, 3, 7, 8, 9, 16, 17, 33, 50])


def transposed_scores(chain: Chain) -> Chain:
    """The chain with scores and weights stored keys first, so that lanes of the softmax are rows."""
    turned = set(chain.intermediates)

    def turn(access):
        return replace(access, indices=(*access.indices[:-2], *access.indices[:-3:-1])) if access.tensor in turned else access

    tensors = (replace(t, shape=(*t.shape[:-2], *t.shape[:-3:-1])) if t.name in turned else t for t in chain.tensors)
    operators = (replace(op, reads=tuple(map(turn, op.reads)), write=turn(op.write)) for op in chain.operators)
    return replace(chain, tensors=tuple(tensors), operators=tuple(operators))


@cache
def symbolic_plans() -> tuple[Plan, ...]:
    """Online and split schedules of a chain of any extents, with tiles drawn at random, scores rows first and keys first."""
    generator = np.random.default_rng(7)
    plans = []
    for number, (outer_loops, part) in enumerate(product(("bml", "blm", "l", "nbml"), (0, 16, 21))):
        tiles = {axis: int(generator.integers(2, 20)) for axis in "mkln"} | {"b": 1}
        chain = gemm_chain(SYMBOLS, batch=True, middle="softmax", suffix=f"_{number}")
        chain = transposed_scores(chain) if number % 3 == 1 else chain
        schedule = fused_schedule(chain, outer_loops, {"out": "n" if number % 2 and outer_loops != "nbml" else ""}, tiles)
        schedule = split(schedule, part) if part and outer_loops != "nbml" else schedule
        assert not why_not_executable(chain, schedule)
        plans.append(hand_plan(chain, schedule, MACHINE, KERNEL, parallel_axes(chain, schedule)))
    return tuple(plans)


def results(executable: Executable, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of all chains of a library."""
    shape = (*inputs["A"].shape[:2], inputs["D"].shape[2])
    outputs = [np.full(shape, np.nan, np.float32) for _ in symbolic_plans()]
    executable.run([inputs[slot.name] for slot in executable.origin.artifact.signature.inputs], outputs)
    return outputs


@pytest.mark.needs("avx2", "fma")
def test_any_size_and_any_number_of_threads() -> None:
    artifact = artifact_of(symbolic_plans())
    executable, alone = load(artifact, threads=2), load(artifact, threads=1)
    chain = symbolic_plans()[0].chain

    @given(sizes=st.fixed_dictionaries({"b": st.integers(1, 3), **dict.fromkeys("mkln", SIZES)}), seed=st.integers(0, 9))
    def every_size(sizes: dict[str, int], seed: int) -> None:
        inputs = random_inputs(chain, sizes, seed)
        expected, bound = interpreted(chain, inputs), gemm_chain_with_bound(inputs, "softmax")[1]
        together = results(executable, inputs)
        for plan, out in zip(symbolic_plans(), together, strict=True):
            assert (np.abs(out - expected) <= bound).all(), plan.schedule
        assert [out.tobytes() for out in together] == [out.tobytes() for out in results(alone, inputs)]

    every_size()


@pytest.mark.needs("avx2", "fma")
def test_no_keys_at_all_sum_to_zero() -> None:
    executable = load(artifact_of(symbolic_plans()), threads=1)
    inputs = random_inputs(symbolic_plans()[0].chain, {"b": 2, "m": 5, "k": 3, "l": 0, "n": 9})
    for plan, out in zip(symbolic_plans(), results(executable, inputs), strict=True):
        assert not out.any(), plan.schedule


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_outside_the_arrays_is_touched(at_end: bool) -> None:
    executable = load(artifact_of(symbolic_plans()), threads=1)
    inputs = random_inputs(symbolic_plans()[0].chain, {"b": 2, "m": 13, "k": 9, "l": 33, "n": 18})
    outputs = [guarded(np.zeros((2, 13, 18), np.float32), at_end=at_end) for _ in symbolic_plans()]
    protected = {name: guarded(value, at_end=at_end) for name, value in inputs.items()}
    executable.run([protected[slot.name] for slot in executable.origin.artifact.signature.inputs], outputs)
    expected = interpreted(symbolic_plans()[0].chain, inputs)
    assert all(np.allclose(out, expected, 1e-5, 1e-5) for out in outputs)


@pytest.mark.needs("avx2", "fma")
def test_extreme_scores_mean_what_the_definition_says() -> None:
    """Scores up to 1e4 either way, masked rows, masks over whole blocks of keys first and last, and NaN."""
    executable = load(artifact_of(symbolic_plans()), threads=2)
    inputs = random_inputs(symbolic_plans()[0].chain, {"b": 1, "m": 12, "k": 2, "l": 50, "n": 5})
    rows = inputs["A"][0]
    rows[:, 1] = 1.0
    rows[1, 0], rows[2, 0], rows[3, 0] = 1e4, -1e4, np.nan
    inputs["B"][0, 1] = 0.0
    inputs["B"][0, 1, :25] = -np.inf
    inputs["B"][0, 1, 45:] = -np.inf
    rows[4] = 0.0, 1.0
    masked = {**inputs, "B": inputs["B"].copy()}
    masked["B"][0, 1] = -np.inf
    for one in (inputs, masked):
        with np.errstate(invalid="ignore"):
            expected = interpreted(symbolic_plans()[0].chain, one)
        for plan, out in zip(symbolic_plans(), results(executable, one), strict=True):
            np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5, err_msg=str(plan.schedule))
    assert np.isnan(out).all()
