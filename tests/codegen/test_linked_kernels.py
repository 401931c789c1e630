"""Micro kernels that are linked give the same bits as those that stand in the file; which are inlined is the plan's."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import tilewright as tw
from tests.support.chains import artifact_of, attention_plan, random_inputs
from tilewright.artifact import Artifact
from tilewright.graph.types import Graph, SymbolicExtent
from tilewright.kernels import registered
from tilewright.leaves.matrix_tiles import functions as matrix_tile_functions
from tilewright.plan.decisions import inlined_kernels
from tilewright.plan.types import ModelPlan, Plan
from tilewright.render.c import program
from tilewright.render.c.c_file import File
from tilewright.render.c.program import lower_program
from tilewright.runtime.executable import load
from tilewright.tile.dialects.registry import dialects

TARGETS = [
    pytest.param("x86-64-v4", marks=pytest.mark.needs("avx512f", "avx512dq")),
    pytest.param("x86-64-v3", marks=pytest.mark.needs("avx2", "fma")),
    "x86-64-v2",
]
SIZES = {"b": 2, "m": 45, "n": 37, "k": 19, "l": 71}
RNG = np.random.default_rng(31)


def outputs(artifact: Artifact, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    executable = load(artifact, threads=1)
    given = [inputs[slot.name] for slot in artifact.signature.inputs]
    results = executable.new_outputs(given)
    executable.run(given, results)
    return results


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "run-time"])
@pytest.mark.parametrize("middle", ["", "softmax", "relu"])
@pytest.mark.parametrize("target", TARGETS)
def test_the_same_bits(target: str, middle: str, is_known: bool) -> None:
    """Shapes that are known to the last tile, and shapes that are known at run time only."""
    extents = SIZES if is_known else {**SIZES, **{axis: SymbolicExtent(axis, 1, 128, SIZES[axis]) for axis in "mnl"}}
    plan = attention_plan(target, middle, dict(extents))
    linked, whole = artifact_of([plan]), artifact_of([plan], links_kernels=False)
    assert linked.kernels
    assert not whole.kernels
    inputs = random_inputs(plan.chain, SIZES)
    for one, other in zip(outputs(linked, inputs), outputs(whole, inputs), strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_bits_with_epilogues(target: str) -> None:
    weights, shift = RNG.standard_normal((70, 50)).astype(np.float32), RNG.standard_normal(50).astype(np.float32)

    def layer(x: Any, y: Any) -> Any:
        return tw.relu(x @ weights + shift), tw.gelu(x @ weights) * y

    model_plan = tw.jit(layer, target=target).lower(tw.spec((33, 70)), tw.spec((33, 50))).model_plan
    lowered = lower_program(linking(model_plan))
    linked, whole = program.emit_program(lowered), program.emit_program(lowered, links_kernels=False)
    assert linked.kernels
    values = {name: constant.array for name, constant in model_plan.graph.constants}
    x, y = (RNG.standard_normal(shape).astype(np.float32) for shape in ((33, 70), (33, 50)))
    results = []
    for artifact in (linked, whole):
        executable = load(artifact, threads=1, constants=[values[slot.name] for slot in artifact.signature.constants])
        given = [x, y, *(values[slot.name] for slot in artifact.signature.inputs[2:])]
        results.append(executable.new_outputs(given))
        executable.run(given, results[-1])
    for one, other in zip(*results, strict=True):
        assert one.tobytes() == other.tobytes()


def linking(model_plan: ModelPlan) -> ModelPlan:
    """The plan with nothing inlined."""

    def linked(plan: Plan) -> Plan:
        parts = (replace(part, calls=replace(part.calls, inlined=False)) for part in plan.operators)
        return replace(plan, operators=tuple(parts))

    return replace(model_plan, plans=tuple(map(linked, model_plan.plans)))


def test_texts_of_kernels_are_of_kernels_alone() -> None:
    """Chains of other extents call the same functions, loops over tiles included; each text defines one of them."""
    first = artifact_of([attention_plan("x86-64-v4", "relu", {**SIZES, "m": 24, "l": 64, "n": 64})])
    second = artifact_of([attention_plan("x86-64-v4", "relu", {**SIZES, "m": 48, "l": 128, "n": 128, "k": 23})])
    assert first.text != second.text
    assert set(first.kernels) == set(second.kernels)
    for kernel in first.kernels:
        defined = r"^__attribute__\(\(weak\)\) void \w+\(|^\t\.weak \w+$"
        assert len(re.findall(defined, str(kernel.content), re.MULTILINE)) == 1
        assert str(kernel.content) not in first.text


def test_source_holds_everything() -> None:
    artifact = artifact_of([attention_plan("x86-64-v4", "", dict(SIZES))])
    assert all(str(kernel.content) in artifact.source for kernel in artifact.kernels)


def test_what_the_plan_inlines_is_one_function_with_its_loops() -> None:
    plan = attention_plan("x86-64-v4", "", dict(SIZES))
    first, *others = (part for part in plan.operators if part.micro_kernel is not None)
    marked = replace(first, calls=replace(first.calls, inlined=True))
    artifact = emitted(replace(plan, operators=tuple(marked if part is first else part for part in plan.operators)))
    text = "\n".join(str(kernel.content) for kernel in artifact.kernels)
    assert "_inlined_tiles_" in artifact.text
    assert re.findall(r"_inlined_tiles_\w+:$", text, re.MULTILINE)
    assert not re.findall(r"_inlined_\d+x\w+:$", text, re.MULTILINE)
    assert others


def emitted(plan: Plan) -> Artifact:
    """Of a plan as it is: `artifact_of` decides execution anew."""
    chain = plan.chain
    graph = Graph("test", chain.tensors, chain.operators, tuple(chain.inputs), (chain.output,), ())
    return program.emit_program(lower_program(ModelPlan(graph, (plan,), ())))


def jitted(*widths: int, rows: int) -> ModelPlan:
    weights = [np.full((k, n), 0.1, np.float32) for k, n in pairwise(widths)]

    def network(x: Any) -> Any:
        for weight in weights:
            x = tw.relu(x @ weight)
        return x

    return tw.jit(network, target="x86-64-v4").lower(tw.spec((rows, widths[0]))).model_plan


def choices(model_plan: ModelPlan) -> list[bool]:
    return [part.calls.inlined for plan in model_plan.plans for part in plan.operators if part.micro_kernel is not None]


def test_short_tiles_are_inlined_and_long_ones_linked() -> None:
    assert all(choices(jitted(32, 64, 64, rows=4096)))
    assert not any(choices(jitted(2048, 512, rows=96)))


def test_short_tiles_of_a_small_part_of_the_model_are_linked() -> None:
    """What their calls cost is little beside the whole."""
    assert choices(jitted(32, 1024, rows=9600)) == [True]
    assert not choices(jitted(32, 1024, 4096, 4096, rows=9600))[0]


def test_equal_products_are_decided_together() -> None:
    """Each costs little, all of them more."""
    assert not choices(jitted(64, 64, 1024, 1024, rows=480))[0]
    assert choices(jitted(*[64] * 49, 1024, 1024, rows=480))[:48] == [True] * 48


def test_short_calls_wait_for_no_compiler() -> None:
    """A share of a few microseconds is no time."""
    assert not any(choices(jitted(32, 64, 64, rows=12)))


def test_kernels_without_functions_of_shapes_are_inlined() -> None:
    model_plan = jitted(4096, 1, rows=4096)
    kernels = {kernel.name: replace(kernel, emit_shape=None) for kernel in registered()}
    assert all(choices(inlined_kernels.with_inlined_kernels(linking(model_plan), kernels)))


@pytest.mark.needs("avx512f", "avx512dq")
def test_kernels_without_functions_of_single_shapes_stand_in_the_file() -> None:
    """Objects of two files would else define one function with other shapes."""
    kernel = next(one for one in registered() if one.name == "matmul_avx512_f32_6x64_nest3")
    assert kernel.emit_shape is None
    file = File("", (), dialects()["avx512"], {kernel.name: kernel}, (), (), 0)
    call = SimpleNamespace(epilogue=None, prefetching=False, shapes=None, inlined=False, known=None, m=6, n=64)
    whole = {"_variants": lambda kernel, calls: frozenset({(6, 4)}), "may_inline": lambda kernel, calls: False}
    with patch.multiple(matrix_tile_functions, **whole):
        found = matrix_tile_functions._inlined(file, kernel, "product", [call])  # type: ignore[list-item]
    assert found is not None
    assert not found.linked
