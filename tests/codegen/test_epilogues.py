"""Maps that micro tiles apply in registers: against NumPy, and against the same chain whose maps are vector loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.support.chains import artifact_of, chain, hand_plan, random_inputs
from tests.support.operators import contraction, mapping
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Chain, Extent, Graph, SymbolicExtent
from tilewright.kernels.registry import for_machine
from tilewright.machine import Machine
from tilewright.plan.schedule import Compute, Loop, Node, Schedule
from tilewright.plan.types import Plan
from tilewright.runtime.executable import load

EXTENTS = {"b": 2, "m": 27, "n": 37, "k": 13, "l": 5}
TARGETS = [
    pytest.param("x86-64-v4", marks=pytest.mark.needs("avx512f", "avx512dq")),
    pytest.param("x86-64-v3", marks=pytest.mark.needs("avx2", "fma")),
    "x86-64-v2",
]
HALVES = {"x86-64-v4": (0,), "x86-64-v3": (1,), "x86-64-v2": (0, 1)}
"""Of the forms with their maps: every form, map and tile is in both; loops and maps are those of all targets."""
KERNELS = {name: for_machine(Machine.named(name))[0] for name in ("x86-64-v4", "x86-64-v3", "x86-64-v2")}
RELU: Scalar = apply("maximum", Load(0), Literal(0.0))
ADD, MULTIPLY = apply("add", Load(0), Load(1)), apply("multiply", Load(0), Load(1))
CHOOSE = apply("where", apply("greater", Load(0), Literal(-0.5)), Load(1), Literal(2.0))

MULTIPLIED_THEN_ADDED = {"rows_and_columns"}
"""Where one instruction takes the place of two roundings."""

Steps = Sequence[tuple[Scalar, Sequence[str]]]
"""(body, letters of all reads but the first, which is what came before) of the maps behind a contraction."""
MAPS: dict[str, Steps] = {
    "bias_relu": [(ADD, ["n"]), (RELU, [])],
    "rows_and_columns": [(MULTIPLY, ["m"]), (ADD, ["n"])],
    "residual": [(ADD, ["mn"]), (RELU, []), (ADD, ["mn"])],
    "number": [(apply("multiply", Load(0), Literal(0.125)), [])],
    "choice": [(CHOOSE, ["n"]), (apply("negative", Load(0)), [])],
    "swapped": [(apply("subtract", Load(1), Load(0)), ["m"])],
}
FORMS = [
    ("mk", "kn", "mn"),
    ("bmk", "kn", "bmn"),
    ("mkl", "kln", "mn"),
    ("bmk", "bkn", "mbn"),
    ("mk", "k", "m"),
    ("m", "n", "mn"),
]
"""The last two have no columns, or no reduction."""
TILES = [{}, {"m": 7, "n": 16}, {"k": 4}, {"n": 16, "k": 5, "l": 2}]


def build(form: tuple[str, str, str], steps: Steps, number: int, extents: Mapping[str, Extent]) -> Chain:
    """A contraction with maps behind it; inputs of equal shapes have equal names in all chains."""
    left, right, out = form
    operators = [contraction("product", f"a_{left}:{left}", f"w_{right}:{right}", f"t0_{number}:{out}", extents)]
    for step, (body, more) in enumerate(steps, 1):
        kept = ["".join(letter for letter in letters if letter in out) for letters in more]
        reads = [f"t{step - 1}_{number}:{out}", *(f"x{step}_{letters}:{letters}" for letters in kept)]
        target = f"y_{number}" if step == len(steps) else f"t{step}_{number}"
        operators.append(mapping(f"map{step}", body, reads, f"{target}:{out}", extents))
    return chain(f"chain_{number}", operators)


def planned(one: Chain, target: str, tiles: Mapping[str, int]) -> Plan:
    """Loops around all operators over what they share, around the contraction over what it sums."""
    first: tuple[Node, ...] = (Compute("product"),)
    for axis in {own.name for own in one.operators[0].reduction_axes()} & tiles.keys():
        first = (Loop(axis, tiles[axis], first),)
    body: tuple[Node, ...] = (*first, *(Compute(operator.name) for operator in one.operators[1:]))
    for axis in [axis for axis in tiles if axis in one.shared_axes]:
        body = (Loop(axis, tiles[axis], body),)
    return hand_plan(one, Schedule(body), Machine.named(target), KERNELS[target])


def separate(plan: Plan) -> Plan:
    """The same with vector loops in the place of epilogues."""
    return replace(plan, operators=tuple(replace(operator, epilogue_of="") for operator in plan.operators))


def run(plans: Sequence[Plan], inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int]) -> list[np.ndarray]:
    """The results of chains, from one library."""
    artifact = artifact_of(plans)
    shapes = [plan.chain.tensor(plan.chain.output).shape for plan in plans]
    outputs = [np.full([e if isinstance(e, int) else sizes[e.name] for e in shape], np.nan, np.float32) for shape in shapes]
    load(artifact, threads=1).run([inputs[slot.name] for slot in artifact.signature.inputs], outputs)
    return outputs


def typed(one: Chain, dtypes: Mapping[str, str]) -> Chain:
    """The same with other types of elements."""
    return replace(one, tensors=tuple(replace(tensor, dtype=dtypes.get(tensor.name, tensor.dtype)) for tensor in one.tensors))


def renamed(one: Chain, names: Mapping[str, str]) -> Chain:
    """The same with other names of tensors."""
    operators = tuple(
        replace(operator, reads=tuple(replace(read, tensor=names.get(read.tensor, read.tensor)) for read in operator.reads))
        for operator in one.operators
    )
    tensors = tuple(replace(tensor, name=names.get(tensor.name, tensor.name)) for tensor in one.tensors)
    return Chain(one.name, tensors, operators)


def interpreted(one: Chain, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """The meaning of a chain, in float64."""
    graph = Graph(one.name, one.tensors, one.operators, one.inputs, (one.output,))
    return evaluate(graph, dict(inputs), dtype="float64")[one.output]


@pytest.mark.parametrize("target", TARGETS)
def test_epilogues_compute_what_the_maps_say(target: str) -> None:
    """In every form, blocked and in blocks of the sum; bit for bit as vector loops where nothing is multiplied and then added."""
    turns = [
        (turn, one) for turn, one in enumerate(product(FORMS, MAPS)) if (turn + turn // (2 * len(MAPS))) % 2 in HALVES[target]
    ]
    cases = [(form, maps, TILES[(turn + turn // len(MAPS)) % len(TILES)]) for turn, (form, maps) in turns]
    plans = [planned(build(form, MAPS[maps], i, EXTENTS), target, tiles) for i, (form, maps, tiles) in enumerate(cases)]
    apart = [
        separate(planned(build(form, MAPS[maps], 1000 + i, EXTENTS), target, tiles))
        for i, (form, maps, tiles) in enumerate(cases)
    ]
    assert all(plan.operator_plan(op.name).epilogue_of == "product" for plan in plans for op in plan.chain.operators[1:])
    inputs = {name: value for plan in plans for name, value in random_inputs(plan.chain).items()}
    outputs = run([*plans, *apart], inputs, {})
    for case, plan, one, other in zip(cases, plans, outputs, outputs[len(plans) :], strict=False):
        np.testing.assert_allclose(one, interpreted(plan.chain, inputs), 1e-5, 1e-4, err_msg=str(case))
        if case[1] not in MULTIPLIED_THEN_ADDED:
            np.testing.assert_array_equal(one, other, str(case))


@pytest.mark.parametrize("target", TARGETS)
def test_masks_of_every_type_in_every_direction(target: str) -> None:
    """Padding (columns), queries (rows), both, and one for all; with widths around those of tiles and vectors."""
    masked = apply("where", Load(1), Load(0), Literal(float("-inf")))
    turns = product((1, 16, 37, 64, 67), ("n", "m", "mn", ""), ("bool", "int16", "int32"))
    chosen = [turn for number, turn in enumerate(turns) if number % 7 == 0]
    built = []
    for number, (width, letters, dtype) in enumerate(chosen):
        one = build(("bmk", "bkn", "bmn"), [(masked, [letters])], number, {**EXTENTS, "n": width})
        renames = {name: f"{name}_{number}" for name in one.inputs}
        built.append(typed(renamed(one, renames), {f"x1_{letters}_{number}": dtype}))
    plans = [planned(one, target, TILES[number % len(TILES)]) for number, one in enumerate(built)]
    assert all(plan.operator_plan("map1").epilogue_of == "product" for plan in plans)
    inputs = {name: value for one in built for name, value in random_inputs(one).items()}
    types = {tensor.name: tensor.dtype for one in built for tensor in one.tensors}
    inputs = {name: value if types[name] == "float32" else (value > 0).astype(types[name]) for name, value in inputs.items()}
    for case, one, output in zip(chosen, built, run(plans, inputs, {}), strict=True):
        np.testing.assert_allclose(output, interpreted(one, inputs), 1e-5, 1e-4, err_msg=str(case))


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("tiles", [{}, {"m": 7}, {"k": 4}], ids=["whole", "blocks", "sums"])
def test_lengths_known_at_run_time_have_their_epilogue_too(tiles: Mapping[str, int]) -> None:
    """An empty sum is 0, and its maps are applied to that."""
    extents = {**EXTENTS, "m": SymbolicExtent("rows", 1, 40, 16), "k": SymbolicExtent("depth", 0, 20, 8)}
    plan = planned(build(("mk", "kn", "mn"), MAPS["residual"], 0, extents), "x86-64-v3", tiles)
    assert plan.operator_plan("map3").epilogue_of == "product"
    artifact = artifact_of([plan])
    library = load(artifact, threads=1)
    for rows, depth in ((1, 0), (7, 4), (16, 8), (23, 5), (40, 20)):
        inputs = random_inputs(plan.chain, {"rows": rows, "depth": depth})
        output = np.full((rows, EXTENTS["n"]), np.nan, np.float32)
        library.run([inputs[slot.name] for slot in artifact.signature.inputs], [output])
        np.testing.assert_allclose(output, interpreted(plan.chain, inputs), 1e-5, 1e-4, err_msg=f"{rows} rows, {depth} deep")
