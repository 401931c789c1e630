"""Maps behind products of integers, in their micro tiles: exactly what NumPy gives, at the extremes and at ragged shapes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.trace_replay import record
from tests.support.chains import artifact_of, chain, hand_plan
from tests.support.exact_kernels import exact_kernels
from tests.support.operators import contraction, mapping
from tilewright.errors import InternalError
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Chain, Graph, Operator
from tilewright.machine import Machine
from tilewright.plan.regions.epilogues import epilogues, in_registers
from tilewright.plan.schedule import Compute, Loop, Node, Schedule
from tilewright.plan.space.executability import why_not_executable
from tilewright.plan.types import ModelPlan, Plan
from tilewright.render.c.program import lower_program
from tilewright.runtime.executable import load

Array = np.ndarray[Any, Any]
TARGETS = [
    "x86-64-v2",
    pytest.param("x86-64-v3", marks=pytest.mark.needs("avx2", "fma")),
    pytest.param("x86-64-v4", marks=pytest.mark.needs("avx512bw", "avx512dq")),
    pytest.param("sapphirerapids", marks=pytest.mark.needs("amx_int8", "avx512_vnni")),
]
U8_S8 = ("uint8", "int8", "int32")
ZERO_POINTS = apply("subtract", apply("subtract", Load(0), apply("multiply", Load(1), Load(2))), Load(3))
"""Sums less the zero point of rows times the totals of columns, less what the columns' zero points add to each row."""
SCALE = apply("multiply", Load(0), apply("multiply", Load(1), Load(2)))
RELU: Scalar = apply("maximum", Load(0), Literal(0.0))
TYPES = {"z": "uint8", "t": "int32", "r": "int32", "s": "float32", "q": "float32", "y": "float32"}
"""Element types of the inputs of maps, by the first letters of their names."""


def quantised(dtype: str) -> Scalar:
    """Multiples of a scale, rounded to even, about a zero point."""
    limits = np.iinfo(dtype)
    steps = apply("add", apply("round", apply("divide", Load(0), Load(1))), Literal(3.0))
    return apply("minimum", apply("maximum", steps, Literal(float(limits.min))), Literal(float(limits.max)))


def build(number: int, stored: str, m: int, n: int, k: int) -> Chain:
    """A product, its zero points, and, unless int32 is stored, its scales, bias, activation and quantisation."""
    extents = {"m": m, "n": n, "k": k}

    def map_of(name: str, body: Scalar, reads: list[str], result: str, accumulator: str) -> Operator:
        return replace(mapping(f"{name}{number}", body, reads, f"{result}{number}:mn", extents), accumulator=accumulator)

    operators = [
        replace(contraction(f"product{number}", f"a{number}:mk", f"b{number}:kn", f"i{number}:mn", extents), accumulator="int32"),
        map_of("zeros", ZERO_POINTS, [f"i{number}:mn", f"z{number}:", f"t{number}:n", f"r{number}:m"], "j", "int32"),
    ]
    types = {f"a{number}": "uint8", f"b{number}": "int8", f"i{number}": "int32", f"j{number}": "int32"}
    if stored != "int32":
        operators += [
            map_of("scale", SCALE, [f"j{number}:mn", f"s{number}:n", f"q{number}:m"], "f", "float32"),
            map_of("residual", apply("subtract", Load(0), Load(1)), [f"f{number}:mn", f"y{number}:mn"], "g", "float32"),
            map_of("relu", RELU, [f"g{number}:mn"], "h", "float32"),
        ]
    if stored not in ("int32", "float32"):
        operators.append(map_of("quantise", quantised(stored), [f"h{number}:mn", f"w{number}:n"], "o", "float32"))
        types[f"o{number}"] = stored
    one = chain(f"chain_{number}", operators)
    types |= {name: TYPES[name[0]] for name in one.inputs if name[0] in TYPES}
    return replace(one, tensors=tuple(replace(tensor, dtype=types.get(tensor.name, "float32")) for tensor in one.tensors))


def inputs_of(one: Chain, random: np.random.Generator) -> dict[str, Array]:
    """Bytes from their whole range, the extremes often; scales that bring sums near bytes, and residuals that do not round."""
    return {name: drawn(random, one.tensor(name).dtype, one.tensor(name).shape, name[0]) for name in one.inputs}


def drawn(random: np.random.Generator, dtype: str, shape: Any, letter: str) -> Array:
    if letter == "y":
        return random.integers(-3, 4, shape).astype(np.float32)
    if dtype == "float32":
        return np.asarray(2.0 ** random.integers(-8, -4, shape), np.float32)
    limits = np.iinfo(dtype)
    values = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    ends = random.integers(0, 3, shape)
    return np.where(ends == 0, np.asarray(limits.min, dtype), np.where(ends == 1, np.asarray(limits.max, dtype), values))


def expected(stored: str, number: int, given: dict[str, Array]) -> Array:
    """The same in NumPy, rounding where float32 does: scales are powers of two, so that a fused subtraction rounds alike."""
    a, b, z, t, r = (given[f"{letter}{number}"].astype(np.int64) for letter in "abztr")
    whole = (a @ b - z * t - r[:, None]).astype(np.int32)
    if stored == "int32":
        return whole
    s, q, y = (given[f"{letter}{number}"] for letter in "sqy")
    value = np.maximum(whole.astype(np.float32) * (s * q[:, None]) - y, np.float32(0))
    if stored == "float32":
        return np.asarray(value)
    limits = np.iinfo(stored)
    return np.clip(np.rint(value / given[f"w{number}"]) + np.float32(3), limits.min, limits.max).astype(stored)


def planned(one: Chain, target: str, tiles: dict[str, int], number: int = 0) -> Plan:
    """Loops around all operators; each micro kernel of the target's width in turn that is exact for all operands."""
    body: tuple[Node, ...] = tuple(Compute(operator.name) for operator in one.operators)
    for axis, tile in tiles.items():
        body = (Loop(axis, tile, body),)
    machine = Machine.named(target)
    kernels = [one for one in exact_kernels(machine, U8_S8) if one.vector_bits == machine.vector_bits]
    return hand_plan(one, Schedule(body), machine, kernels[number % len(kernels)])


def run(plans: list[Plan], given: dict[str, Array]) -> list[Array]:
    artifact = artifact_of(plans)
    executable = load(artifact, threads=1)
    inputs = [given[slot.name] for slot in executable.signature.inputs]
    outputs: list[Array] = executable.new_outputs(inputs)
    executable.run(inputs, outputs)
    return outputs


def assert_exact(target: str, cases: list[tuple[str, int, int, int, dict[str, int]]], seed: int) -> None:
    """All in one library."""
    random = np.random.default_rng(seed)
    chains = [build(number, stored, m, n, k) for number, (stored, m, n, k, _) in enumerate(cases)]
    plans = [planned(one, target, case[-1], number) for number, (one, case) in enumerate(zip(chains, cases, strict=True))]
    for plan in plans:
        names = [operator.name for operator in plan.chain.operators]
        assert all(plan.operator_plan(name).epilogue_of == names[0] for name in names[1:])
    given = {name: value for one in chains for name, value in inputs_of(one, random).items()}
    for number, (case, got) in enumerate(zip(cases, run(plans, given), strict=True)):
        np.testing.assert_array_equal(got, expected(case[0], number, given), str(case))


STORED = ("int32", "float32", "uint8", "int8", "int16", "uint16")
SHAPES = [(1, 1, 1), (5, 33, 70), (13, 37, 3), (67, 96, 130), (130, 31, 64), (32, 16, 257)]


@pytest.mark.parametrize("target", TARGETS)
def test_every_type_at_shapes_around_those_of_tiles(target: str) -> None:
    tiles: list[dict[str, int]] = [{}, {"n": 192, "m": 12}, {"m": 32}]
    places = [(i, j) for i in range(len(STORED)) for j in range(len(SHAPES)) if (i + j) % 3 == 0]
    cases = [(STORED[i], *SHAPES[j], tiles[(i + j) // 3 % 3]) for i, j in places]
    assert_exact(target, cases, 0)


@pytest.mark.parametrize("target", TARGETS)
@settings(deadline=None, max_examples=3)
@given(
    cases=st.lists(
        st.tuples(st.sampled_from(STORED), st.integers(1, 140), st.integers(1, 140), st.integers(1, 300)),
        min_size=4,
        max_size=4,
    ),
    seed=st.integers(0, 1000),
)
def test_ragged_shapes(target: str, cases: list[tuple[str, int, int, int]], seed: int) -> None:
    assert_exact(target, [(*case, {}) for case in cases], seed)


def test_sums_that_become_bytes_need_no_memory() -> None:
    one = build(0, "uint8", 64, 96, 128)
    assert in_registers(one) == ("i0", "j0", "f0", "g0", "h0")
    (epilogue,) = epilogues(one)
    assert epilogue.element_type(one) == "uint8"
    plan = planned(one, "x86-64-v2", {"m": 16})
    graph = Graph("test", one.tensors, one.operators, one.inputs, (one.output,))
    touched = record(lower_program(ModelPlan(graph, (plan,), ())))
    assert not {"i0", "j0", "f0", "g0", "h0"} & set(touched.buffers)
    lines = {name: len(np.unique(touched.lines[touched.owners == number])) for number, name in enumerate(touched.buffers)}
    assert lines["o0"] == 64 * 96 // 64


def test_blocks_of_the_sum_are_refused_where_bytes_are_stored() -> None:
    for stored, problem in (("uint8", "leave sums of product0 that no memory holds"), ("int32", "")):
        one = build(0, stored, 8, 32, 256)
        names = [operator.name for operator in one.operators]
        body: tuple[Node, ...] = (Loop("k", 64, (Compute(names[0]),)), *map(Compute, names[1:]))
        assert problem in why_not_executable(one, Schedule(body))
        assert bool(problem) == bool(why_not_executable(one, Schedule(body)))


def test_a_plan_that_cuts_such_sums_is_an_internal_error() -> None:
    one = build(0, "uint8", 8, 32, 256)
    names = [operator.name for operator in one.operators]
    machine = Machine.named("x86-64-v2")
    whole = planned(one, "x86-64-v2", {})
    cut = Schedule((Loop("k", 64, (Compute(names[0]),)), *map(Compute, names[1:])))
    with pytest.raises(InternalError, match="are not complete"):
        artifact_of([replace(whole, schedule=cut, machine=machine)])


def test_unfinished_sums_of_int32_lie_where_the_output_does() -> None:
    one = build(0, "int32", 21, 37, 256)
    names = [operator.name for operator in one.operators]
    schedule = Schedule((Loop("k", 64, (Compute(names[0]),)), *map(Compute, names[1:])))
    machine = Machine.named("x86-64-v2")
    plan = hand_plan(one, schedule, machine, exact_kernels(machine, U8_S8)[0])
    given = inputs_of(one, np.random.default_rng(3))
    np.testing.assert_array_equal(run([plan], given)[0], expected("int32", 0, given))
