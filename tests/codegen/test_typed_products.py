"""Products of integers and short floats by micro kernels: typed packs, buffers and calls, under any loops, against NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from tests.oracles.trace_replay import record
from tests.support.chains import artifact_of, chain, decided, hand_plan
from tests.support.exact_kernels import exact_kernels
from tests.support.operators import contraction
from tilewright.dtypes import dtype_named
from tilewright.errors import InternalError, PlanningError
from tilewright.graph.exactness import INTEGERS
from tilewright.graph.types import Chain, Graph, element_bytes, planned_extent
from tilewright.kernels.contract import FLOAT32, ElementTypes
from tilewright.machine import Machine
from tilewright.plan.layout import panels
from tilewright.plan.schedule import Compute, Loop, Node, Pack, Schedule
from tilewright.plan.types import ModelPlan, Plan
from tilewright.render.c.program import lower_program
from tilewright.runtime.executable import load

U8_S8: ElementTypes = ("uint8", "int8", "int32")
BFLOAT16: ElementTypes = ("bfloat16", "bfloat16", "float32")
FLOAT16: ElementTypes = ("float16", "float16", "float32")
FLOAT64: ElementTypes = ("float64", "float64", "float64")
INT32: ElementTypes = ("int32", "int32", "int32")
INT64: ElementTypes = ("int64", "int64", "int64")
ALL_TYPES = {"u8s8": U8_S8, "bf16": BFLOAT16, "f16": FLOAT16, "f64": FLOAT64, "s32": INT32, "s64": INT64}
TARGETS = [
    "x86-64-v2",
    pytest.param("x86-64-v3", marks=pytest.mark.needs("avx2", "fma")),
    pytest.param("x86-64-v4", marks=pytest.mark.needs("avx512bw", "avx512dq")),
]
RIGHTS = ("kn", "nk", "bkn", "bnk", "nbk", "kbn")
SIZES = {"b": (1, 2, 3), "m": (1, 5, 13, 25), "n": (1, 7, 31, 32, 37, 96), "k": (1, 2, 3, 15, 16, 64, 130)}


def typed(one: Chain, types: ElementTypes) -> Chain:
    """The chain of one product with operands of these types."""
    operator = one.operators[0]
    by_name = dict(zip((*(read.tensor for read in operator.reads), operator.write.tensor), types, strict=True))
    tensors = tuple(replace(tensor, dtype=by_name[tensor.name]) for tensor in one.tensors)
    return Chain(one.name, tensors, (replace(operator, accumulator=types[2]),))


def random_plan(random: np.random.Generator, number: int, right: str, types: ElementTypes, target: str) -> Plan:
    """Up to five loops around or below a Pack, which may stand ahead of the call, anywhere in the tree, or nowhere."""
    machine = Machine.named(target)
    kernel = exact_kernels(machine, types)[0]
    extents = {axis: int(random.choice(sizes)) for axis, sizes in SIZES.items()}
    operator = contraction(f"f{number}", f"x{number}:bmk", f"y{number}:{right}", f"z{number}:bmn", extents)
    tiles = {"n": kernel.columns, "k": kernel.interleave, "b": 1, "m": 1}
    tree: tuple[Node, ...] = (Compute(operator.name),)
    pack, place = Pack(operator.name, 1, panels(kernel.columns, kernel.interleave)), int(random.integers(-1, 6))
    for depth, letter in enumerate(random.permutation(list("bmnkkk"))[: random.integers(0, 6)]):
        tree = (pack, *tree) if place == depth else tree
        tree = (Loop(str(letter), tiles[str(letter)] * int(random.integers(1, 9)), tree),)
    ahead = (pack,) if place == -1 else ()
    return hand_plan(typed(chain(f"chain_{number}", [operator]), types), Schedule(tree, ahead=ahead), machine, kernel)


def random_inputs(one: Chain, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    shapes = {name: tuple(map(planned_extent, one.tensor(name).shape)) for name in one.inputs}
    return {name: drawn(random, shape, one.tensor(name).dtype) for name, shape in shapes.items()}


def drawn(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    if dtype not in INTEGERS:
        return random.standard_normal(shape).astype(dtype_named(dtype))
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def run(plans: list[Plan], inputs: Mapping[str, np.ndarray], threads: int = 2) -> list[np.ndarray]:
    ahead = {pack.operator.replace("f", "y") for plan in plans for pack in plan.schedule.ahead}
    constants = {name: value for name, value in inputs.items() if name in ahead}
    artifact = artifact_of(plans, constants)
    executable = load(artifact, threads=threads, constants=[constants[slot.name] for slot in artifact.signature.constants])
    given = [inputs[slot.name] for slot in executable.signature.inputs]
    outputs = executable.new_outputs(given)
    executable.run(given, outputs)
    return outputs


def check(plan: Plan, got: np.ndarray, x: np.ndarray, y: np.ndarray, right: str) -> None:
    if x.dtype.kind in "iu":
        expected = np.einsum(f"bmk,{right}->bmn", x.astype(np.int64), y.astype(np.int64)).astype(got.dtype)
        np.testing.assert_array_equal(got, expected, str(plan.schedule))
        return
    x, y = x.astype(np.longdouble), y.astype(np.longdouble)
    bound = 150 * float(np.finfo(got.dtype).eps) * np.einsum(f"bmk,{right}->bmn", np.abs(x), np.abs(y))
    assert (np.abs(got - np.einsum(f"bmk,{right}->bmn", x, y)) <= bound).all(), plan.schedule


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("types", ALL_TYPES.values(), ids=ALL_TYPES)
def test_any_loops_and_packs_give_the_product(types: ElementTypes, target: str) -> None:
    if not exact_kernels(Machine.named(target), types):
        pytest.skip("no micro kernel")
    random = np.random.default_rng(0)
    rights = RIGHTS * 3
    plans = [random_plan(random, number, right, types, target) for number, right in enumerate(rights)]
    inputs = {name: x for number, plan in enumerate(plans) for name, x in random_inputs(plan.chain, number).items()}
    for number, got in enumerate(run(plans, inputs)):
        check(plans[number], got, inputs[f"x{number}"], inputs[f"y{number}"], rights[number])


def plan_of(types: ElementTypes, body: tuple[Node, ...], extents: Mapping[str, int], target: str = "x86-64-v2") -> Plan:
    machine = Machine.named(target)
    operator = contraction("f0", "x0:bmk", "y0:kn", "z0:bmn", extents)
    return hand_plan(typed(chain("chain_0", [operator]), types), Schedule(body), machine, exact_kernels(machine, types)[0])


EXTENTS = {"b": 1, "m": 7, "n": 33, "k": 70}


@pytest.mark.parametrize("types", [FLOAT64, INT32, INT64], ids=["f64", "s32", "s64"])
@pytest.mark.needs("avx2", "fma")
def test_columns_that_lie_apart_are_staged(types: ElementTypes) -> None:
    """Over blocks of the sum, which are added up where they belong."""
    machine = Machine.named("x86-64-v3")
    kernel = exact_kernels(machine, types)[0]
    operator = contraction("f0", "x0:bmk", "y0:kn", "z0:nbm", EXTENTS | {"b": 2})
    loops = Loop("n", kernel.columns, (Loop("k", 32, (Loop("m", 5, (Compute("f0"),)),)),))
    plan = hand_plan(typed(chain("chain_0", [operator]), types), Schedule((loops,)), machine, kernel)
    inputs = random_inputs(plan.chain, 0)
    (got,) = run([plan], inputs)
    check(plan, got.transpose(1, 2, 0), inputs["x0"], inputs["y0"], "kn")


def test_a_loop_that_cuts_groups_of_steps_is_refused() -> None:
    body = (Pack("f0", 1, panels(8, 4)), Loop("k", 6, (Compute("f0"),)))
    with pytest.raises(PlanningError, match="a loop over k cuts the packed panels of f0") as problem:
        artifact_of([plan_of(U8_S8, body, EXTENTS)])
    assert "4 interleaved steps" in str(problem.value)


def test_a_pack_of_another_element_type_is_an_internal_error() -> None:
    plan = plan_of(U8_S8, (Pack("f0", 1, panels(8, 4)), Compute("f0")), EXTENTS)
    tensors = tuple(replace(tensor, dtype="int16") if tensor.name == "y0" else tensor for tensor in plan.chain.tensors)
    with pytest.raises(InternalError, match="y0 of int16 is packed as int8"):
        artifact_of([replace(plan, chain=Chain("chain_0", tensors, plan.chain.operators))])


def test_sums_wrap() -> None:
    extents = {**EXTENTS, "k": 70_001}
    plan = plan_of(U8_S8, (Loop("k", 1024, (Pack("f0", 1, panels(8, 4)), Compute("f0"))),), extents)
    inputs = {"x0": np.full((1, 7, 70_001), 255, np.uint8), "y0": np.full((70_001, 33), -128, np.int8)}
    (got,) = run([plan], inputs)
    assert (got == np.int64(-255 * 128 * 70_001).astype(np.int32)).all()


def packed_plan(types: ElementTypes) -> Plan:
    kernel = exact_kernels(Machine.named("x86-64-v2"), types)[0]
    return plan_of(types, (Pack("f0", 1, panels(kernel.columns, kernel.interleave)), Compute("f0")), EXTENTS)


def test_bfloat16_products_are_those_of_widened_operands() -> None:
    """Bit for bit: sums of float32 kernels take the same steps."""
    narrow, wide = (packed_plan(types) for types in (BFLOAT16, FLOAT32))
    inputs = random_inputs(narrow.chain, 0)
    (got,) = run([narrow], inputs)
    (expected,) = run([wide], {name: value.astype(np.float32) for name, value in inputs.items()})
    np.testing.assert_array_equal(got.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("types", [U8_S8, BFLOAT16, FLOAT64], ids=["u8s8", "bf16", "f64"])
def test_traces_touch_every_line_of_typed_operands_and_of_their_panels(types: ElementTypes) -> None:
    """Operands begin where lines do, and rows are whole lines."""
    extents = {"b": 1, "m": 8, "n": 64, "k": 128}
    kernel = exact_kernels(Machine.named("x86-64-v2"), types)[0]
    plan = plan_of(types, (Pack("f0", 1, panels(kernel.columns, kernel.interleave)), Compute("f0")), extents)
    graph = Graph("test", plan.chain.tensors, plan.chain.operators, plan.chain.inputs, (plan.chain.output,))
    touched = record(lower_program(ModelPlan(graph, (decided(plan),), ())))
    lines = {name: len(np.unique(touched.lines[touched.owners == number])) for number, name in enumerate(touched.buffers)}
    left, right, result = (element_bytes(one) for one in types)
    packed = 128 * -(-64 // kernel.columns) * kernel.columns * right // 64
    assert lines.pop("packed_y0") - packed in (0, 1), "scratch may begin within a line"
    assert lines == {"x0": 8 * 128 * left // 64, "y0": 128 * right, "z0": 8 * result}
