"""Masks whose limits bound the keys of a block of rows, compiled and run in all forms, against the interpreter."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.test_gemm_chains import guarded
from tests.support.chains import artifact_of, hand_plan, random_inputs
from tests.support.masked_chains import CAUSAL, L, M, both, by_data, masked_chain, shifted, window
from tilewright.graph.expressions.scalar import Literal, Scalar, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Chain, Graph, SymbolicExtent
from tilewright.kernels.registry import for_machine
from tilewright.machine import Machine
from tilewright.plan.layout import panels
from tilewright.plan.regions.loop_views import parallel_axes
from tilewright.plan.regions.masks import key_mask_of
from tilewright.plan.schedule import Loop, Pack, Schedule, fused_schedule
from tilewright.plan.space.executability import why_not_executable
from tilewright.plan.types import Plan
from tilewright.runtime.executable import Executable, load

pytestmark = pytest.mark.needs("avx2", "fma")
MACHINE = Machine.named("x86-64-v3")
KERNEL = for_machine(MACHINE)[0]
EXTENTS = {"b": 2, "m": 37, "l": 53, "k": 5, "n": 18}
TILES = {"b": 1, "m": 8, "l": 16, "n": 16, "k": 2}
SYMBOLS = {name: SymbolicExtent(name, 1, 4096, 64) for name in "bmkln"}
FORMS = (
    ("bm", "", False, 0),
    ("bm", "l", True, 0),
    ("bml", "", True, 0),
    ("blm", "n", False, 0),
    ("bm", "", False, 20),
    ("bml", "", True, 32),
    ("", "l", True, 0),
)
"""Prefix, inner loops of the last operator, whether operands are packed outside, keys of a part: whole rows, online, in parts."""
SIZES = st.sampled_from([1, 2, 7, 8, 9, 16, 17, 33, 50])


def schedule_of(chain: Chain, outer_loops: str, own: str, packs: bool, part: int) -> Schedule:
    """A schedule of one form."""
    schedule = fused_schedule(chain, outer_loops, {"out": own}, TILES)
    if packs:
        packs_of_both = (Pack(name, 1, panels(KERNEL.columns)) for name in ("scores", "out"))
        schedule = replace(schedule, body=(*packs_of_both, *schedule.body))
    return replace(schedule, body=(Loop("l", part, schedule.body),), split="l") if part else schedule


def plans_of(condition: Scalar, more: tuple[str, ...] = (), *, extents=EXTENTS, safe=False, middle="softmax") -> tuple[Plan, ...]:
    """All forms of a chain."""
    plans = []
    for number, form in enumerate(FORMS if middle else (FORMS[0], FORMS[1], FORMS[2])):
        chain = masked_chain(extents, condition, more, suffix=f"_{number}", safe=safe, middle=middle)
        assert key_mask_of(chain) is not None
        schedule = schedule_of(chain, *form)
        assert not why_not_executable(chain, schedule)
        plans.append(hand_plan(chain, schedule, MACHINE, KERNEL, parallel_axes(chain, schedule)))
    return tuple(plans)


def interpreted(chain: Chain, inputs: dict[str, np.ndarray]) -> np.ndarray:
    """The meaning of a chain, in float64."""
    graph = Graph(chain.name, chain.tensors, chain.operators, chain.inputs, (chain.output,))
    return evaluate(graph, inputs, dtype="float64")[chain.output]


def results(executable: Executable, plans: tuple[Plan, ...], inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The outputs of all forms."""
    shape = (*inputs["A"].shape[:2], inputs["D"].shape[2])
    outputs = [np.full(shape, np.nan, np.float32) for _ in plans]
    executable.run([inputs[slot.name] for slot in executable.origin.artifact.signature.inputs], outputs)
    return outputs


def check(plans: tuple[Plan, ...], executable: Executable, inputs: dict[str, np.ndarray]) -> None:
    """All forms mean what the graph says."""
    expected = interpreted(plans[0].chain, inputs)
    for plan, out in zip(plans, results(executable, plans, inputs), strict=True):
        np.testing.assert_allclose(out, expected, 1e-5, 1e-5, err_msg=str(plan.schedule))


def test_masks_of_positions() -> None:
    far = apply("less", Literal(20.0), L)
    steep = apply("less_equal", apply("multiply", L, Literal(3.0)), apply("add", M, Literal(7.5)))
    never = apply("less", apply("add", M, Literal(100.0)), L)
    cases = ((CAUSAL, 0), (CAUSAL, 1), (both(shifted(16), window(20)), 2), (both(shifted(16), window(20)), 5))
    cases += ((shifted(-10), 0), (steep, 2), (both(far, shifted(30)), 3), (never, 4))
    plans = []
    for number, (condition, form) in enumerate(cases):
        chain = masked_chain(EXTENTS, condition, suffix=f"_{number}")
        plans.append(
            hand_plan(chain, schedule := schedule_of(chain, *FORMS[form]), MACHINE, KERNEL, parallel_axes(chain, schedule))
        )
    inputs = random_inputs(plans[0].chain)
    found = results(load(artifact_of(plans), threads=1), tuple(plans), inputs)
    for plan, out in zip(plans, found, strict=True):
        np.testing.assert_allclose(out, interpreted(plan.chain, inputs), 1e-5, 1e-5, err_msg=str(plan.schedule))


@cache
def data_plans() -> tuple[Plan, ...]:
    """All forms of a chain of any extents whose limits are data."""
    return plans_of(*by_data(), extents=SYMBOLS, safe=True)


@cache
def data_library(threads: int) -> Executable:
    """Its code."""
    return load(artifact_of(data_plans()), threads=threads)


def test_any_lengths_windows_and_extents() -> None:
    @given(sizes=st.fixed_dictionaries({"b": st.integers(1, 3), **dict.fromkeys("mkln", SIZES)}), data=st.data())
    @settings(max_examples=30)
    def every_size(sizes: dict[str, int], data: st.DataObject) -> None:
        inputs = random_inputs(data_plans()[0].chain, sizes)
        numbers = st.one_of(st.integers(-3, 60), st.sampled_from([0.0, 1.0, 7.5, -0.5, 1e30, -np.inf, np.inf, np.nan]))
        for name in ("Lengths", "Shifts", "Windows"):
            inputs[name] = np.array([data.draw(numbers) for _ in range(sizes["b"])], np.float32)
        check(data_plans(), data_library(1), inputs)

    every_size()


def test_bits_do_not_depend_on_the_number_of_threads() -> None:
    inputs = random_inputs(data_plans()[0].chain, {"b": 3, "m": 50, "k": 9, "l": 70, "n": 20})
    inputs |= {"Lengths": np.array([70, 31, 1], "f"), "Shifts": np.array([20, 5, 0], "f"), "Windows": np.array([9, 99, 5], "f")}
    alone, together = (results(data_library(threads), data_plans(), inputs) for threads in (1, 2))
    assert [one.tobytes() for one in alone] == [one.tobytes() for one in together]


@pytest.mark.parametrize("at_end", [False, True])
def test_nothing_outside_the_arrays_is_touched(at_end: bool) -> None:
    inputs = random_inputs(data_plans()[0].chain, {"b": 2, "m": 13, "k": 9, "l": 33, "n": 18})
    inputs |= {"Lengths": np.array([33, 12], "f"), "Shifts": np.array([20, 5], "f"), "Windows": np.array([9, 99], "f")}
    outputs = [guarded(np.zeros((2, 13, 18), np.float32), at_end=at_end) for _ in data_plans()]
    protected = {name: guarded(value, at_end=at_end) for name, value in inputs.items()}
    executable = data_library(1)
    executable.run([protected[slot.name] for slot in executable.origin.artifact.signature.inputs], outputs)
    expected = interpreted(data_plans()[0].chain, inputs)
    assert all(np.allclose(out, expected, 1e-5, 1e-5) for out in outputs)


def test_keys_that_no_row_of_a_block_needs_are_not_read() -> None:
    inputs = random_inputs(data_plans()[0].chain, {"b": 2, "m": 13, "k": 9, "l": 64, "n": 18})
    inputs |= {"Lengths": np.array([64, 20], "f"), "Shifts": np.array([6, 99], "f"), "Windows": np.array([99, 99], "f")}
    expected = interpreted(data_plans()[0].chain, inputs)
    inputs["D"][:, 32:] = np.nan
    inputs["B"][:, :, 32:] = np.nan
    found = results(data_library(1), data_plans(), inputs)
    restricted = [out for out, (outer_loops, _, _, part) in zip(found, FORMS, strict=True) if "bm" in outer_loops and not part]
    assert len(restricted) == 3
    assert all(np.allclose(out, expected, 1e-5, 1e-5) for out in restricted)


def test_products_leave_out_what_counts_nothing() -> None:
    plans = plans_of(CAUSAL, middle="")
    check(plans, load(artifact_of(plans), threads=1), random_inputs(plans[0].chain))


def test_bounds_are_literal_c() -> None:
    chain = masked_chain(EXTENTS, both(CAUSAL, window(20)))
    schedule = schedule_of(chain, "bm", "", False, 0)
    text = chain_text_of(hand_plan(chain, schedule, MACHINE, KERNEL, ("b", "m")))
    assert "const long first_l = (tw_max(0, tw_min(at_m + (-20), 52)) / 16) * 16;" in text
    assert "const long count_l = tw_min(tw_max((" in text
    assert "if (plain_to_mask < count_l) {" in text


def chain_text_of(plan: Plan) -> str:
    """Of the chain alone."""
    text = artifact_of([plan]).source
    return text[text.index("static void masked_task") :]
