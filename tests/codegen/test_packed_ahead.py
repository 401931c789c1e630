"""Constants that are packed when a kernel is loaded: any layout, any loops around the contraction, any threads."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from math import prod

import numpy as np
import pytest

from tests.codegen.test_halos import cases, interpreted, planned
from tests.codegen.test_single_operators import KERNEL, MACHINE
from tests.support.chains import artifact_of, chain, hand_plan, random_inputs
from tests.support.expected import EPS
from tests.support.guarded import GuardedMemory, in_child
from tests.support.halo_chains import conv, halo_chain
from tests.support.operators import contraction
from tilewright.artifact import Artifact
from tilewright.errors import DTypeError, PlanningError, ShapeError
from tilewright.graph.expressions.index import axis
from tilewright.graph.types import Access, Tensor
from tilewright.plan.layout import panels
from tilewright.plan.schedule import Compute, Loop, Node, Pack, Schedule, fused_schedule
from tilewright.plan.types import Plan
from tilewright.runtime.executable import Executable, load

pytestmark = pytest.mark.needs("avx2", "fma")
COLUMNS = KERNEL.columns
RIGHTS = ("kn", "nk", "bkn", "bnk", "nbk", "kbn")
SIZES = {
    "b": (1, 2, 3),
    "m": (1, KERNEL.rows - 1, KERNEL.rows + 1, 13),
    "n": (1, 7, COLUMNS - 1, COLUMNS, COLUMNS + 1, 37, 3 * COLUMNS),
    "k": (1, 2, 15, 16, 17, 31, 64),
}


def random_loops(random: np.random.Generator, tree: tuple[Node, ...]) -> tuple[Node, ...]:
    """Up to five loops in any order, over the depth up to three times, with and without rests."""
    for letter in random.permutation(list("bmnkkk"))[: random.integers(0, 6)]:
        tile = COLUMNS * int(random.integers(1, 3)) if letter == "n" else int(random.integers(1, 20))
        tree = (Loop(str(letter), tile, tree),)
    return tree


def random_plan(random: np.random.Generator, number: int, right: str) -> Plan:
    extents = {axis: int(random.choice(sizes)) for axis, sizes in SIZES.items()}
    operator = contraction(f"f{number}", f"x{number}:bmk", f"y{number}:{right}", f"z{number}:bmn", extents)
    body = random_loops(random, (Compute(operator.name),))
    schedule = Schedule(body, ahead=(Pack(operator.name, 1, panels(COLUMNS)),))
    return hand_plan(chain(f"chain_{number}", [operator]), schedule, MACHINE, KERNEL)


def loaded(plans: list[Plan], constants: dict[str, np.ndarray], threads: int = 1) -> Executable:
    artifact = artifact_of(plans, constants)
    return load(artifact, threads=threads, constants=[constants[slot.name] for slot in artifact.signature.constants])


def run(executable: Executable, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    outputs = executable.new_outputs([inputs[slot.name] for slot in executable.signature.inputs])
    executable.run([inputs[slot.name] for slot in executable.signature.inputs], outputs)
    return outputs


@pytest.mark.parametrize("right", RIGHTS)
def test_any_loops_give_the_product(right: str) -> None:
    random = np.random.default_rng(RIGHTS.index(right))
    plans = [random_plan(random, number, right) for number in range(24)]
    inputs = {name: x for number, plan in enumerate(plans) for name, x in random_inputs(plan.chain, seed=number).items()}
    constants = {name: x for name, x in inputs.items() if name.startswith("y")}
    for number, got in enumerate(run(loaded(plans, constants, threads=2), inputs)):
        x, y = inputs[f"x{number}"].astype("f8"), inputs[f"y{number}"].astype("f8")
        bound = 150 * EPS * np.einsum(f"bmk,{right}->bmn", np.abs(x), np.abs(y))
        assert (np.abs(got - np.einsum(f"bmk,{right}->bmn", x, y)) <= bound).all(), plans[number].schedule


def products(*rights: str, extents: dict[str, int], kept: bool = False) -> list[Plan]:
    """Products with one constant y, each a chain of its own."""
    plans = []
    for number, right in enumerate(rights):
        operator = contraction(f"f{number}", f"x{number}:mk", f"y:{right}", f"z{number}:mn", extents)
        ahead = () if kept and not number else (Pack(operator.name, 1, panels(COLUMNS)),)
        schedule = Schedule((Compute(operator.name),), ahead=ahead)
        plans.append(hand_plan(chain(f"chain_{number}", [operator]), schedule, MACHINE, KERNEL))
    return plans


SQUARE = {"m": 5, "k": 37, "n": 37}
PANELS = 37 * -(-37 // COLUMNS) * COLUMNS * 4


def panel_bytes(copies: int) -> int:
    return copies * -(-PANELS // 64) * 64


@pytest.mark.parametrize(("rights", "copies"), [(("kn", "kn"), 1), (("kn", "nk"), 2), (("nk", "kn", "nk"), 2)])
def test_each_packing_of_a_constant_lies_there_once(rights: tuple[str, ...], copies: int) -> None:
    plans = products(*rights, extents=SQUARE)
    inputs = {name: x for plan in plans for name, x in random_inputs(plan.chain).items()}
    executable = loaded(plans, {"y": inputs["y"]})
    assert executable.memory_stats().constant_bytes == panel_bytes(copies)
    for number, (right, got) in enumerate(zip(rights, run(executable, inputs), strict=True)):
        expected = np.einsum(f"mk,{right}->mn", inputs[f"x{number}"], inputs["y"])
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


def test_a_constant_that_calls_read_too_stays_an_argument() -> None:
    plans = products("kn", "kn", extents=SQUARE, kept=True)
    inputs = {name: x for plan in plans for name, x in random_inputs(plan.chain).items()}
    executable = loaded(plans, {"y": inputs["y"]})
    assert [slot.name for slot in executable.signature.inputs] == ["x0", "x1", "y"]
    assert [slot.name for slot in executable.signature.constants] == ["y"]
    for number, got in enumerate(run(executable, inputs)):
        np.testing.assert_allclose(got, inputs[f"x{number}"] @ inputs["y"], rtol=1e-4, atol=1e-4)


def prepare_between_guards(executable: Executable, y: np.ndarray) -> None:
    library = ctypes.CDLL(str(executable.path))
    (slot,), (expected,) = executable.signature.packed, executable.packed.arrays
    source, target = GuardedMemory(y.nbytes), GuardedMemory(slot.size_bytes)
    for at_end in (False, True):
        constant, packed = source.place(y.size, at_end=at_end), target.place(slot.size_bytes // 4, at_end=at_end)
        constant[...] = y.ravel()
        library.tilewright_run_prepare(0, ctypes.c_void_p(constant.ctypes.data), ctypes.c_void_p(packed.ctypes.data))
        assert packed.tobytes() == expected.tobytes()


@pytest.mark.parametrize("right", ["kn", "nk"])
def test_preparation_touches_nothing_else(right: str) -> None:
    plans = products(right, extents={**SQUARE, "n": 2 * COLUMNS - 3})
    y = random_inputs(plans[0].chain)["y"]
    in_child(prepare_between_guards, loaded(plans, {"y": y}), y)


def test_a_part_of_a_constant() -> None:
    """Every other row, and columns that start behind the first."""
    (plan,) = products("kn", extents=SQUARE)
    (operator,) = plan.chain.operators
    part = Access("y", (axis("k") * 2 + 1, axis("n") + 3))
    tensors = tuple(Tensor("y", (75, 40)) if tensor.name == "y" else tensor for tensor in plan.chain.tensors)
    operators = (replace(operator, reads=(operator.reads[0], part)),)
    sliced = hand_plan(replace(plan.chain, tensors=tensors, operators=operators), plan.schedule, MACHINE, KERNEL)
    inputs = random_inputs(sliced.chain)
    (got,) = run(loaded([sliced], {"y": inputs["y"]}), inputs)
    np.testing.assert_allclose(got, inputs["x0"] @ inputs["y"][1:75:2, 3:], rtol=1e-4, atol=1e-4)


def test_weights_of_images_that_are_kept_recomputed_and_rolled() -> None:
    stages = [conv(3, 3), conv((4, 2), COLUMNS + 3, (3, 1))]
    plans = []
    for number, (outer_loops, tiles, line_buffered) in enumerate(cases(halo_chain(11, 7, 2, stages))):
        one = halo_chain(11, 7, 2, stages, suffix=f"_{number}", batch=2)
        schedule = fused_schedule(one, outer_loops, {}, tiles, line_buffered=[f"{tensor}_{number}" for tensor in line_buffered])
        ahead = tuple(Pack(operator.name, 1, panels(COLUMNS)) for operator in one.operators)
        plans.append(planned(replace(schedule, ahead=ahead), one))
    inputs = random_inputs(plans[0].chain)
    outputs = run(loaded(plans, {name: inputs[name] for name in ("F1", "F2")}, threads=2), inputs)
    expected = interpreted(plans[0].chain, inputs)
    assert all(np.allclose(got, expected, 1e-4, 1e-4) for got in outputs)


LAYOUTS = {
    "transposed": lambda y: np.ascontiguousarray(y.T).T,
    "backwards": lambda y: y[::-1].copy()[::-1],
    "every other": lambda y: np.repeat(y, 2, axis=1)[:, ::2],
    "unaligned": lambda y: np.frombuffer(b"\0" + y.tobytes(), np.float32, y.size, 1).reshape(y.shape),
    "big-endian": lambda y: y.astype(">f4"),
    "read-only": lambda y: np.broadcast_to(y, y.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_constants_may_lie_in_any_way(layout: str) -> None:
    plans = products("kn", extents=SQUARE)
    inputs = random_inputs(plans[0].chain)
    artifact = artifact_of(plans, {"y": inputs["y"]})
    (got,) = run(load(artifact, threads=1, constants=[LAYOUTS[layout](inputs["y"])]), inputs)
    np.testing.assert_allclose(got, inputs["x0"] @ inputs["y"], rtol=1e-4, atol=1e-4)


def one_product() -> tuple[Artifact, np.ndarray]:
    plans = products("kn", extents=SQUARE)
    y = random_inputs(plans[0].chain)["y"]
    return artifact_of(plans, {"y": y}), y


def test_constants_must_be_those_of_the_signature() -> None:
    artifact, y = one_product()
    with pytest.raises(ShapeError, match="got 0 constants, expected 1: y"):
        load(artifact, threads=1)
    with pytest.raises(ShapeError, match=r"argument y has shape \(36, 37\), expected \(37, 37\)"):
        load(artifact, threads=1, constants=[y[1:]])
    with pytest.raises(DTypeError, match="argument y has element type float64"):
        load(artifact, threads=1, constants=[y.astype(np.float64)])


def test_packed_constants_lie_on_cache_lines_and_large_ones_on_huge_pages() -> None:
    artifact, y = one_product()
    assert load(artifact, threads=1, constants=[y]).packed.arrays[0].ctypes.data % 64 == 0
    extents = {"m": 2, "k": 1024, "n": 8 * COLUMNS * 8}
    plans = products("kn", extents=extents)
    inputs = random_inputs(plans[0].chain)
    executable = loaded(plans, {"y": inputs["y"]})
    assert executable.memory_stats().constant_bytes == 4 * prod((extents["k"], extents["n"]))
    assert executable.packed.arrays[0].ctypes.data % (2 << 20) == 0
    np.testing.assert_allclose(run(executable, inputs)[0], inputs["x0"] @ inputs["y"], rtol=1e-3, atol=1e-3)


def test_a_loop_that_cuts_panels_is_refused() -> None:
    (plan,) = products("kn", extents=SQUARE)
    schedule = Schedule((Loop("n", COLUMNS - 1, plan.schedule.body),), ahead=plan.schedule.ahead)
    cut = hand_plan(plan.chain, schedule, MACHINE, KERNEL)
    with pytest.raises(PlanningError, match="a loop over n cuts the packed panels of f0"):
        artifact_of([cut], {"y": np.zeros((37, 37), np.float32)})
