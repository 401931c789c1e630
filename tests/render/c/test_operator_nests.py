"""Shared loop nests: the same bits as loops of literals in every chain, one function for operators that differ in numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tilewright as tw
from tests.support.chains import artifact_of, attention_plan, chain_text
from tests.support.graphs import random
from tests.support.random.chains import random_graph
from tilewright import compiler
from tilewright.artifact import Artifact
from tilewright.backends import loading
from tilewright.block.execution import Nests
from tilewright.block.integers import Variable, VariableKind
from tilewright.block.statements import VectorLoops
from tilewright.c_text.names import buffer_name, variable_name
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.reshape import gather
from tilewright.graph.types import Graph
from tilewright.machine import Machine
from tilewright.plan.types import ModelPlan
from tilewright.render.c import library
from tilewright.render.c.c_file import NestCall, OperatorNest, nest_name, nest_text
from tilewright.render.c.operator_nests import with_shared_nests
from tilewright.render.c.program import Program, emit_program, lower_program

HOST = Machine.named("x86-64-v2")
Results = list[np.ndarray]


def program_of(function: Callable[..., Any], *operands: Any) -> Program:
    """Every operator in a chain of its own."""
    given = [tw.spec(operand) if isinstance(operand, tuple) else operand for operand in operands]
    return lower_program(tw.jit(function, target="x86-64-v2", fuse=False).lower(*given).model_plan)


def nests_of(program: Program, nests: Nests | None = None) -> list[OperatorNest]:
    """In the order of their calls."""
    shared = [with_shared_nests(nest, nests or Nests(), program.dialect) for nest in program.regions]
    return [node.nest for nest in shared for node in nest.nodes() if isinstance(node, NestCall)]


def both_forms(model_plan: ModelPlan) -> tuple[Artifact, Artifact]:
    """With shared nests, and with loops of literals in every chain."""
    program = lower_program(model_plan)
    with mock.patch("tilewright.render.c.nest.with_shared_nests", lambda nest, *_: nest):
        copied = emit_program(program)
    return emit_program(program), copied


def results(artifact: Artifact, model_plan: ModelPlan, inputs: list[np.ndarray]) -> Results:
    artifact = replace(artifact, recipe=compiler.generate(model_plan).recipe)
    given = replace(model_plan.graph, constants=model_plan.given)
    executable, constants = loading.load(artifact, given, HOST, threads=1)
    outputs = executable.new_outputs([*inputs, *constants])
    executable.run([*inputs, *constants], outputs)
    return outputs


def check_same_bits(model_plan: ModelPlan, *all_inputs: list[np.ndarray]) -> None:
    shared, copied = both_forms(model_plan)
    for inputs in all_inputs:
        for one, other in zip(*(results(artifact, model_plan, inputs) for artifact in (shared, copied)), strict=True):
            np.testing.assert_array_equal(one, other)


def arrays_of(graph: Graph) -> list[np.ndarray]:
    return [random(*graph.tensor(name).shape, seed=number) for number, name in enumerate(graph.inputs)]


@pytest.mark.parametrize("seed", [0, 1, 2, 3, *range(5, 13)])
def test_random_graphs_have_the_same_bits(seed: int) -> None:
    """Without seed 4, whose input takes 3.5 GB."""
    model_plan = compiler.plan(random_graph(seed, steps=8), HOST)
    check_same_bits(model_plan, arrays_of(model_plan.graph))


def attention(q: Any, k: Any, v: Any) -> Any:
    return tw.softmax(tw.einsum("hmk,hlk->hml", q, k), axis=-1) @ v


def network(x: Any, w: Any, v: Any) -> Any:
    return tw.layer_norm(tw.softmax(tw.relu(x @ w) @ v, axis=-1) + 1.0)


@pytest.mark.parametrize("fuse", [True, False])
def test_attention_and_layers_have_the_same_bits(fuse: bool) -> None:
    for function, *shapes in (
        (attention, (2, 33, 16), (2, 200, 16), (2, 200, 40)),
        (network, (37, 50), (50, 130), (130, 61)),
    ):
        model_plan = tw.jit(function, target="x86-64-v2", fuse=fuse).lower(*map(tw.spec, shapes)).model_plan
        check_same_bits(model_plan, arrays_of(model_plan.graph))


@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 17, 63, 64, 70])
def test_numbers_of_a_call_may_be_empty_one_or_ragged(length: int) -> None:
    dim = tw.Dim("l", 0, 70)
    specs = tw.spec((3, 16)), tw.spec((dim, 16)), tw.spec((dim, 24))

    def attended(q: Any, k: Any, v: Any) -> Any:
        return tw.softmax(q @ tw.matrix_transpose(k), axis=-1) @ v + tw.sum(tw.relu(v), axis=0)

    model_plan = tw.jit(attended, target="x86-64-v2").lower(*specs).model_plan
    check_same_bits(model_plan, [random(3, 16), random(length, 16, seed=1), random(length, 24, seed=2)])


def test_layers_that_differ_in_long_extents_share_a_nest() -> None:
    def layers(x: Any, y: Any) -> Any:
        return tw.softmax(x, axis=-1), tw.softmax(y, axis=-1)

    first, second = nests_of(program_of(layers, (64, 500), (64, 700)))
    assert first == second
    assert Variable(VariableKind.BLOCK_SIZE, "d1") in first.numbers


def test_maps_that_transpose_share_a_nest() -> None:
    """Tiles are loaded and stored row by row: neither extents nor strides decide about the text of a loop."""

    def layers(x: Any, y: Any) -> Any:
        return tw.relu(tw.matrix_transpose(x)), tw.relu(tw.matrix_transpose(y))

    first, second = nests_of(program_of(layers, (640, 480), (600, 960)))
    assert "__builtin_shuffle" in nest_text(first)
    assert nest_name(first) == nest_name(second)


@pytest.mark.parametrize("fuse", [True, False])
def test_large_programs_link_loops_with_the_same_bits(fuse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that pack constants among them."""
    w, v = random(50, 130), random(130, 61)

    def layers(x: Any, y: Any) -> Any:
        return tw.softmax(network(x, w, v), axis=0), tw.relu(tw.matrix_transpose(y))

    model_plan = tw.jit(layers, target="x86-64-v2", fuse=fuse).lower(tw.spec((37, 50)), tw.spec((64, 48))).model_plan
    program = lower_program(model_plan)
    monkeypatch.setattr(library, "LEAST_CHARACTERS", 1 << 30)
    whole = emit_program(program)
    monkeypatch.setattr(library, "LEAST_CHARACTERS", 0)
    linked = emit_program(program)
    names = {nest_name(nest) for nest in nests_of(program)}
    assert not whole.linked
    assert len(linked.linked) == 1
    assert all(
        f"static void {name}(" in whole.text and f"extern void {name}(" in linked.linked[0].octets.decode() for name in names
    )
    assert len({source for source in linked.kernels if b" void pack_" in source.octets}) > 0
    inputs = [random(37, 50, seed=3), random(64, 48, seed=4)]
    for one, other in zip(*(results(artifact, model_plan, inputs) for artifact in (whole, linked)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_short_extents_are_literals() -> None:
    """Of 7 and 9 columns every layer has loops of its own; a limit of none makes them arguments."""
    program = program_of(lambda x, y: (tw.softmax(x, axis=-1), tw.softmax(y, axis=-1)), (40, 7), (40, 9))
    first, second = nests_of(program)
    assert first != second
    assert Variable(VariableKind.BLOCK_SIZE, "d1") not in first.numbers
    first, second = nests_of(program, Nests(most_literal=1, most_literal_lanes=1))
    assert first == second
    assert Variable(VariableKind.BLOCK_SIZE, "d1") in first.numbers


def test_rows_that_fill_groups_have_loops_without_a_rest() -> None:
    """A number that is an argument may leave a rest; the text has a loop for it only where some layer of the nest has."""
    whole, ragged = nests_of(program_of(lambda x, y: (tw.softmax(x, axis=-1), tw.softmax(y, axis=-1)), (40, 300), (41, 300)))
    assert whole != ragged


def test_strides_of_neighbours_are_literals() -> None:
    """How a vector is loaded depends on them: neighbours at a stride of 30 or 50."""
    turned = program_of(lambda x, y: (tw.sum(x, axis=1) * 2.0, tw.sum(y, axis=1) * 2.0), (40, 30), (40, 50))
    strides = {
        view.stride(node.loops.vector_axis)
        for node in nests_of(turned)
        if isinstance(node.loops, VectorLoops)
        for view in node.loops.places()
    }
    assert all(isinstance(stride, int) for stride in strides)


def test_loops_that_mention_more_than_their_operands_stay_in_their_chain() -> None:
    """A length in a formula is a variable of the chain, and a position outside of its range is reported to the chain's caller."""
    dim = tw.Dim("l", 1, 70)
    with_length = program_of(lambda x: tw.mean(x, axis=0), tw.spec((dim, 40)))
    builder = Builder("rows")
    x, ids = builder.input("x", (50, 40), "float32"), builder.input("ids", (20,), "int64")
    rows = builder.graph((builder.record(gather, x, ids, 0, kind="gather").name,))
    looked_up = lower_program(compiler.plan(rows, HOST))
    for program in (with_length, looked_up):
        assert any(isinstance(node, VectorLoops) for nest in program.regions for node in nest.nodes())
        assert nests_of(program) == []


def test_a_nest_writes_over_what_it_reads_where_its_chain_does() -> None:
    """One pointer for both: what a pass stores over its operand is known to be lost."""

    def attended(x: Any) -> Any:
        return tw.softmax(x @ tw.matrix_transpose(x), axis=-1) @ x

    program = lower_program(tw.jit(attended, target="x86-64-v2", fuse=True).lower(tw.spec((40, 300))).model_plan)
    chains = [node for nest in program.regions for node in nest.nodes() if isinstance(node, VectorLoops)]
    nests = [nest for nest in nests_of(program) if isinstance(nest.loops, VectorLoops)]
    for loops, nest in zip(chains, nests, strict=True):
        buffers = {view.buffer for view in (*loops.reads, *loops.places())}
        assert len(nest.pointers) == len(buffers)


def test_every_pointer_and_number_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "LEAST_CHARACTERS", 1 << 30)
    program = program_of(network, (37, 50), (50, 130), (130, 61))
    text = emit_program(program).source
    for nest in dict.fromkeys(nests_of(program)):
        assert text.count(f"static void {nest_name(nest)}(") == 1
        head, _, body = nest_text(nest).partition(") {")
        for name in (*(buffer_name(pointer.name) for pointer in nest.pointers), *map(variable_name, nest.numbers)):
            assert name in head
            assert name in body


def test_panels_of_one_width_are_filled_by_one_nest() -> None:
    """Those of keys and of values, which lie in another way and have other extents."""
    text = chain_text(artifact_of([attention_plan("x86-64-v4", "", {"b": 12, "m": 512, "n": 64, "k": 64, "l": 512})]))
    assert len(re.findall(r"^static void pack_", text, re.MULTILINE)) == 1
    assert len(re.findall(r"^ +pack_", text, re.MULTILINE)) == 2


@pytest.mark.parametrize(
    ("target", "dialect"),
    [("x86-64-v2", "sse"), ("x86-64-v3", "avx2"), ("x86-64-v4", "avx512"), ("zen4", "avx512_bf16"), ("neoverse-v2", "neon")],
)
def test_leaves_take_the_instructions_of_the_machine(target: str, dialect: str) -> None:
    program = lower_program(tw.jit(lambda x: x + 1.0, target=target).lower(tw.spec((8,))).model_plan)
    assert program.dialect.name == dialect
    assert program.dialect.features <= emit_program(program).features
