"""Zero points apart from products of bytes: the expansion against NumPy, signs, wrapping sums, and where it must not apply."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from tests.support.operators import integer_matmul_reference
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.einsum import integer_matmul
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.expressions.index import axis
from tilewright.graph.expressions.scalar import Load, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import PRODUCT, Graph, Guard, Operator
from tilewright.graph.verifier import verify
from tilewright.machine import Machine
from tilewright.plan.algorithms import as_written
from tilewright.plan.algorithms.definition import Problem, expanded, registered
from tilewright.plan.algorithms.of_bytes.integer_product import PRODUCT_OF_BYTES

MACHINE = Machine.named("x86-64-v3")
TYPES = ("uint8", "int8")
SHAPES = {"left": (5, 7), "right": (7, 3)}


def extremes(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """Numbers that are often the smallest or the largest of their type."""
    limits = np.iinfo(dtype)
    return rng.choice([limits.min, limits.max, *rng.integers(limits.min, limits.max, 4)], shape).astype(dtype)


def graph_of(left: Any, right: Any, left_zero: Any = None, right_zero: Any = None) -> Graph:
    builder = Builder("product")
    given = [
        None if x is None else builder.input(name, x.shape, x.dtype.name)
        for name, x in zip("abcd", (left, right, left_zero, right_zero), strict=True)
    ]
    result = builder.record(integer_matmul, *given, kind="matmul")
    return builder.graph((result.name,))


def problem_of(graph: Graph, operator: Operator | None = None) -> Problem:
    return Problem(operator or graph.operators[-1], {tensor.name: tensor for tensor in graph.tensors}, frozenset(), MACHINE)


def computed(graph: Graph, *values: Any) -> Any:
    given = [x for x in values if x is not None]
    (result,) = evaluate(graph, dict(zip(graph.inputs, given, strict=True))).values()
    return result


def of_expansion(graph: Graph) -> Graph:
    found = expanded(graph, {graph.operators[-1].name: PRODUCT_OF_BYTES}, frozenset(), MACHINE)
    verify(found)
    return found


ZEROS = {"none": (None, None), "of the tensors": ((), ()), "of rows and columns": ((5, 1), (1, 3)), "of one operand": ((), None)}


@pytest.mark.parametrize("zeros", list(ZEROS))
@pytest.mark.parametrize(("left", "right"), list(product(TYPES, TYPES)))
def test_the_expansion_is_the_operator(left: str, right: str, zeros: str) -> None:
    rng = np.random.default_rng(3)
    shapes = ZEROS[zeros]
    values = [extremes(rng, SHAPES["left"], left), extremes(rng, SHAPES["right"], right)]
    values += [None if shape is None else extremes(rng, shape, dtype) for shape, dtype in zip(shapes, (left, right), strict=True)]
    graph = graph_of(*values)
    wanted = integer_matmul_reference(*(0 if x is None else x for x in values))
    np.testing.assert_array_equal(computed(graph, *values), wanted)
    if left != right and zeros == "none":
        assert not PRODUCT_OF_BYTES.applies(problem_of(graph)), "a micro kernel takes it as it is"
        return
    assert PRODUCT_OF_BYTES.applies(problem_of(graph))
    found = of_expansion(graph)
    np.testing.assert_array_equal(computed(found, *values), wanted)
    (contraction,) = [operator for operator in found.operators if operator.is_contraction()]
    roles = contraction_roles(contraction)
    types = [found.tensor(contraction.reads[read].tensor).dtype for read in (roles.left, roles.right)]
    assert types == ([left, right] if left != right else ["uint8", "int8"])


def test_roles_that_are_exchanged_take_their_types_along() -> None:
    """The matrix of a matrix-vector product is the right operand, wherever it stands."""
    rng = np.random.default_rng(4)
    values = extremes(rng, (64, 7), "uint8"), extremes(rng, (7, 1), "int8"), extremes(rng, (), "uint8"), extremes(rng, (), "int8")
    graph = graph_of(*values)
    np.testing.assert_array_equal(computed(of_expansion(graph), *values), integer_matmul_reference(*values))


def test_sums_wrap_as_those_of_int32() -> None:
    """The parts of the equation are beyond 2^31, where the sum itself is not."""
    steps = 1 << 17
    left, right = np.full((1, steps), 255, "uint8"), np.full((steps, 2), -128, "int8")
    zeros = np.full((), 255, "uint8"), np.full((), -127, "int8")
    graph = graph_of(left, right, *zeros)
    assert abs(255 * -128 * steps) > 2**31
    found = computed(of_expansion(graph), left, right, *zeros)
    np.testing.assert_array_equal(found, integer_matmul_reference(left, right, *zeros))


def test_it_is_registered_beside_the_operator_as_it_is_written() -> None:
    graph = graph_of(np.zeros((5, 7), "uint8"), np.zeros((7, 3), "int8"), np.zeros((), "uint8"))
    applicable = [algorithm.name for algorithm in registered() if algorithm.applies(problem_of(graph))]
    assert {as_written.AS_WRITTEN.name, PRODUCT_OF_BYTES.name} <= set(applicable)


def test_zero_points_that_change_along_the_sum_stay() -> None:
    """Then the sum of products of zero points is no product of sums."""
    graph = graph_of(np.zeros((5, 7), "uint8"), np.zeros((7, 3), "int8"), np.zeros((5, 1), "uint8"))
    operator = graph.operators[-1]
    assert PRODUCT_OF_BYTES.applies(problem_of(graph))
    moving = replace(operator.reads[2], indices=(axis("m"), axis("k")))
    assert not PRODUCT_OF_BYTES.applies(problem_of(graph, replace(operator, reads=(*operator.reads[:2], moving))))


def test_padded_operands_stay() -> None:
    """Their zeros are less the zero point, too, but are no elements of the sums."""
    graph = graph_of(np.zeros((5, 7), "uint8"), np.zeros((7, 3), "int8"), np.zeros((), "uint8"))
    operator = graph.operators[-1]
    padded = replace(operator.reads[0], guard=Guard((axis("m"),), 0.0))
    assert not PRODUCT_OF_BYTES.applies(problem_of(graph, replace(operator, reads=(padded, *operator.reads[1:]))))


def test_operands_that_are_not_read_at_every_step_stay() -> None:
    """A sum over steps that an operand does not have would count it once, the product as often as there are steps."""
    graph = graph_of(np.zeros((5, 7), "uint8"), np.zeros((7, 3), "int8"), np.zeros((), "uint8"))
    operator = graph.operators[-1]
    fixed = replace(operator.reads[1], indices=(axis("k") * 0, axis("n")))
    assert not PRODUCT_OF_BYTES.applies(
        problem_of(graph, replace(operator, reads=(operator.reads[0], fixed, *operator.reads[2:])))
    )


def test_other_types_and_formulas_stay() -> None:
    graph = graph_of(np.zeros((5, 7), "uint8"), np.zeros((7, 3), "int8"), np.zeros((), "uint8"))
    operator, tensors = graph.operators[-1], {tensor.name: tensor for tensor in graph.tensors}
    wide = {**tensors, "a": replace(tensors["a"], dtype="int16")}
    assert not PRODUCT_OF_BYTES.applies(Problem(operator, wide, frozenset(), MACHINE))
    assert not PRODUCT_OF_BYTES.applies(problem_of(graph, replace(operator, accumulator="float32")))
    assert not PRODUCT_OF_BYTES.applies(problem_of(graph, replace(operator, body=apply("add", Load(0), Load(1)))))
    assert not PRODUCT_OF_BYTES.applies(problem_of(graph, replace(operator, body=PRODUCT, reads=operator.reads[:2])))
