"""Products of short floats: as they are where a kernel takes them, or widened to float32 where that is faster."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify
from tilewright.kernels import register, registered, unregister
from tilewright.machine import Machine
from tilewright.plan.algorithms import as_written
from tilewright.plan.algorithms.definition import Problem, expanded

MACHINE = Machine.named("x86-64-v4")
V2 = Machine.named("x86-64-v2")


def product(left: str, right: str, shapes: tuple[tuple[int, ...], tuple[int, ...]] = ((64, 256), (256, 128))) -> Graph:
    """The float32 product of two matrices."""
    builder = Builder("product")
    a, b = (builder.input(name, shape, dtype) for name, shape, dtype in zip("ab", shapes, (left, right), strict=True))
    return builder.graph((builder.einsum("mk,kn->mn", a, b, dtype="float32").name,))


def problem_of(graph: Graph) -> Problem:
    return Problem(graph.operators[-1], {tensor.name: tensor for tensor in graph.tensors}, frozenset(), MACHINE)


@pytest.mark.parametrize(
    ("left", "right", "written", "widened"),
    [
        ("bfloat16", "bfloat16", True, True),
        ("float16", "float16", True, True),
        ("float32", "bfloat16", False, True),
        ("bfloat16", "float16", False, True),
        ("float32", "float32", True, False),
    ],
)
def test_each_way_applies_where_its_operands_have_kernels(left: str, right: str, written: bool, widened: bool) -> None:
    problem = problem_of(product(left, right))
    assert (as_written.applies(problem), as_written.is_widened(problem)) == (written, widened)


@pytest.mark.parametrize(("left", "right"), [("bfloat16", "bfloat16"), ("float32", "float16")])
def test_the_expansion_is_the_operator(left: str, right: str) -> None:
    graph = product(left, right)
    found = expanded(graph, {graph.operators[-1].name: as_written.WIDENED_OPERANDS}, frozenset(), MACHINE)
    verify(found)
    random = np.random.default_rng(0)
    values = {
        name: random.standard_normal(graph.tensor(name).shape).astype(dtype)
        for name, dtype in zip("ab", (left, right), strict=True)
    }
    (wanted,), (got,) = (tuple(evaluate(one, values)[name] for name in one.outputs) for one in (graph, found))
    np.testing.assert_array_equal(got, wanted)


def kernel_of(graph: Graph, machine: Machine) -> str:
    plan = compiler.plan(graph, machine)
    return next(part.micro_kernel for chain in plan.plans for part in chain.operators if part.micro_kernel)


def test_the_price_decides() -> None:
    """A matrix that is read once per call is not packed for one row."""
    assert "_bf16_" in kernel_of(product("bfloat16", "bfloat16", ((512, 512), (512, 512))), MACHINE)
    assert "_f32_" in kernel_of(product("bfloat16", "bfloat16", ((1, 4096), (4096, 4096))), MACHINE)


def test_without_a_kernel_operands_are_widened() -> None:
    graph = product("bfloat16", "bfloat16", ((512, 512), (512, 512)))
    removed = [kernel for kernel in registered() if kernel.element_types[0] == "bfloat16"]
    for kernel in removed:
        unregister(kernel.name)
    try:
        assert "_f32_" in kernel_of(graph, MACHINE)
    finally:
        for kernel in removed:
            register(kernel)


def values_with(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of bfloat16, denormal ones, infinities and NaN among them."""
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40], np.float32)
    values = random.standard_normal(shape).astype(np.float32)
    places = random.random(shape) < 0.002
    values[places] = random.choice(special, places.sum())
    return values.astype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("shapes", [((37, 130), (130, 61)), ((64, 5), (5, 96)), ((1, 300), (300, 40))])
def test_results_are_those_of_float64_with_special_values(shapes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    graph = product("bfloat16", "bfloat16", shapes)
    random = np.random.default_rng(0)
    a, b = (values_with(random, shape) for shape in shapes)
    executable = compiler.build(compiler.plan(graph, V2), threads=2)
    outputs = executable.new_outputs([a, b])
    executable.run([a, b], outputs)
    x, y = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(invalid="ignore"):
        expected, magnitude = x @ y, np.abs(x) @ np.abs(y)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(outputs[0][~finite], expected[~finite])
    error = np.abs(outputs[0][finite] - expected[finite])
    assert (error <= 2 * shapes[0][1] * 2.0**-24 * magnitude[finite]).all()
