"""Rewrites keep the meaning of a graph and do what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.graphs import random
from tilewright.compiler import PLANNING_FORMS, REWRITES
from tilewright.errors import InternalError
from tilewright.frontend.tracing.trace import TensorSpec, trace
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constant_factors import Reciprocals
from tilewright.graph.rewrites.fusion.compose import consumer_positions
from tilewright.graph.rewrites.fusion.fuse_row_reductions import FuseRowReductions
from tilewright.graph.rewrites.redundancy import CanonicalBodies
from tilewright.graph.scaled_points import point_factor
from tilewright.graph.types import Graph
from tilewright.graph.verifier import verify
from tilewright.machine import Machine
from tilewright.plan.chains import canonical_form, make_chain
from tilewright.plan.reasons import Barrier, CannotFuse
from tilewright.plan.whole_model.partition import partition

EVERY = (*REWRITES, *PLANNING_FORMS)
EXACT = tuple(one for one in EVERY if not isinstance(one, CanonicalBodies | Reciprocals))
"""What rounds no literals and no reciprocals: these change nothing but the order of float64 operations."""

IN_PIECES = tuple(one for one in EVERY if not isinstance(one, FuseRowReductions))
"""What leaves formulas of rows in the pieces in which they are written."""


def rewritten(graph: Graph, passes: Sequence[Rewrite] = EVERY) -> Graph:
    for one in passes:
        graph = one.run(graph)
        verify(graph)
    return graph


def heads(x: Any, w: Any) -> Any:
    return (x @ w).reshape(2, 8, 3, 4).transpose(0, 2, 1, 3)


def attention(x: Any, wq: Any, wk: Any, wv: Any) -> Any:
    q, k, v = heads(x, wq), heads(x, wk), heads(x, wv)
    scores = tw.softmax(q @ k.mT / np.sqrt(4))
    return (scores @ v).transpose(0, 2, 1, 3).reshape(2, 8, 12)


def beside_points(x: Any, y: Any) -> Any:
    distances = x - tw.min(x, axis=1, keepdims=True)
    return tw.where(y > 0, distances, distances * 0.5 + y) / 1.7


def masked(x: Any, y: Any) -> Any:
    return tw.where((x > 0) & (y.T <= 0.5), x * 2, y.T[0])


CASES: dict[str, tuple[Any, list[tuple[int, ...]]]] = {
    "attention": (attention, [(2, 8, 12), (12, 12), (12, 12), (12, 12)]),
    "masked": (masked, [(3, 4), (4, 3)]),
    "slices": (lambda x, y: x[::-1, 1:] @ y[1:4], [(5, 4), (6, 3)]),
    "only index changes": (lambda x: (x.T.T, x.T), [(5, 4)]),
    "merge, then split": (lambda x: x.reshape(12).reshape(3, 4) + 1.0, [(3, 4)]),
    "kept dimensions": (lambda x: x - tw.mean(x, axis=1, keepdims=True), [(3, 4)]),
    "unused": (lambda x, y: (x + y, (x @ y.T))[0], [(3, 4), (3, 4)]),
    "gelu with a bias and a gate": (lambda x, b, y: y * gelu(x + b), [(3, 4), (4,), (3, 4)]),
    "gelu of which a part is an output": (lambda x: (gelu(x), x / np.sqrt(2)), [(3, 4)]),
    "gelu, the tanh form": (lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), [(3, 4)]),
    "swish": (lambda x: x / (1 + np.exp(-1.702 * x)), [(3, 4)]),
    "steps of one formula": (lambda x, y: 2.0 * (x @ y) / 4.0 - tw.exp(x @ y) * 0.5, [(3, 4), (4, 5)]),
    "a broadcast map": (lambda x: tw.exp(tw.max(x, axis=1, keepdims=True)) + x, [(3, 4)]),
    "positions": (lambda x: tw.where(tw.arange(1, 25, 2).reshape(3, 4) > 5, x, -tw.arange(4).astype(float)), [(3, 4)]),
    "heads of one row": (lambda x: tw.exp(x).transpose(1, 0, 2).reshape(1, 15), [(3, 1, 5)]),
    "merged, exchanged, merged": (lambda x: tw.exp(x).reshape(6, 4, 5).transpose(1, 0, 2).reshape(4, 30), [(2, 3, 4, 5)]),
    "exchanged, then summed": (lambda x, y: (x @ y).T.reshape(3, 2, 4) + 1.0, [(4, 2), (2, 6)]),
    "the only element of a row": (lambda x: tw.sum(x, axis=0)[0], [(5, 1)]),
    "the only element of a product": (lambda x, y: (x @ y)[0, 0] * 2.0, [(1, 5), (5, 1)]),
    "a mean without dimensions": (lambda x: tw.mean(x, axis=1, keepdims=True).reshape(()), [(1, 5)]),
    "repeated, then sliced": (lambda x: tw.broadcast_to(tw.exp(x)[:2], (2, 2)).reshape(4)[:3], [(3,)]),
    "merged and split, then a softmax": (lambda x: tw.softmax((x * 2.0).reshape(6, 4)), [(3, 8)]),
    "merged, then a softmax of columns": (lambda x: tw.softmax((x / 3.0).reshape(6, 4), axis=0), [(2, 3, 4)]),
    "split, then a softmax": (lambda x: tw.softmax((x / 3.0).reshape(2, 3, 4)), [(6, 4)]),
    "masked and merged, then a softmax": (
        lambda x: tw.softmax(tw.where(x > 0, x * 2.0, -np.inf).reshape(2, 12)),
        [(2, 3, 4)],
    ),
    "merged, then a norm": (lambda x: tw.rms_norm((x * 2.0).reshape(2, 12)), [(2, 3, 4)]),
    "rows that load beside their points": (lambda x, y: beside_points(x * 0.5, y), [(3, 4), (4,)]),
    "a condition used twice": (lambda x: tw.where(x > 0, x, 0.0) + tw.where(x > 0, 1.0, x) * (x > 1), [(7,)]),
}


SCALED: dict[str, tuple[Any, list[str], float]] = {
    "behind the product": (lambda q, k: tw.softmax(q @ k * 0.125), ["matmul", "softmax"], 0.125),
    "divided": (lambda q, k: tw.softmax(q @ k / 8.0), ["matmul", "softmax"], 0.125),
    "on one operand": (lambda q, k: tw.softmax((0.5 * q) @ k), ["matmul", "softmax"], 0.5),
    "on both operands": (lambda q, k: tw.softmax((0.5 * q) @ (k * 0.25)), ["matmul", "softmax"], 0.125),
    "in front of a mask": (
        lambda q, k: tw.softmax(tw.where(q @ k > 0, 2.0 * (q @ (k * 1.5)), -np.inf)),
        ["matmul", "where", "softmax"],
        3.0,
    ),
    "through another axis": (lambda q, k: tw.softmax((q @ k * 2.0).T, axis=0), ["matmul", "softmax"], 2.0),
    "twice": (lambda q, k: tw.softmax(q @ k * 2.0 / 4.0), ["matmul", "softmax"], 0.5),
    "rows without points": (lambda q, k: tw.safe_softmax(q @ k * 0.5), ["matmul", "softmax"], 0.5),
    "not of a sum": (lambda q, k: tw.softmax(q @ k * 0.5 + 1.0), ["matmul", "add", "softmax"], 1.0),
    "not negative": (lambda q, k: tw.softmax(q @ k * -0.5), ["matmul", "multiply", "softmax"], 1.0),
    "not where it is read twice": (
        lambda q, k: next(tw.softmax(s) + s for s in [q @ k * 0.5]),
        ["matmul", "multiply", "softmax", "add"],
        1.0,
    ),
    "not before other reductions": (lambda q, k: tw.sum(q @ k * 0.5, axis=-1), ["matmul", "multiply", "sum"], 1.0),
}
"""Functions of (5, 4) and (4, 6), the operators that are left, and the factor in the row-wise reduction."""
CASES |= {f"scaled {name}": (function, [(5, 4), (4, 6)]) for name, (function, _, _) in SCALED.items()}


def gelu(x: Any) -> Any:
    return x * 0.5 * (1 + tw.erf(x / np.sqrt(2)))


def traced(name: str) -> Graph:
    function, shapes = CASES[name]
    return trace(function, [TensorSpec(shape, name=f"x{i}") for i, shape in enumerate(shapes)])


@pytest.mark.parametrize("name", CASES)
def test_the_meaning_stays(name: str) -> None:
    graph = traced(name)
    values = {f"x{i}": random(*shape, seed=i) for i, shape in enumerate(CASES[name][1])}
    before = evaluate(graph, values, dtype="float64")
    for passes, tolerance in ((EXACT, 1e-12), (EVERY, 2e-6)):
        after = evaluate(rewritten(graph, passes), values, dtype="float64")
        for output in graph.outputs:
            np.testing.assert_allclose(after[output], before[output], rtol=tolerance)


def test_index_changes_of_attention_vanish() -> None:
    graph = rewritten(traced("attention"))
    kinds = [operator.kind for operator in graph.operators]
    assert kinds == ["matmul"] * 3 + ["matmul", "softmax", "matmul"]
    assert all(operator.is_contraction() for operator in graph.operators if operator.kind == "matmul")


@pytest.mark.parametrize("name", ["heads of one row", "merged, exchanged, merged"])
def test_index_changes_behind_an_operator_become_its_write(name: str) -> None:
    (operator,) = rewritten(traced(name)).operators
    assert operator.kind == "exp"


def test_what_writes_several_axes_into_a_dimension_is_not_read_through() -> None:
    (producer,) = rewritten(traced("heads of one row")).operators
    with pytest.raises(InternalError, match="which point it is"):
        consumer_positions(producer, producer.write)


def test_what_writes_a_number_has_no_place_for_axes_of_one_point() -> None:
    kinds = [operator.kind for operator in rewritten(traced("a mean without dimensions")).operators]
    assert kinds == ["mean", "reshape"]


def test_what_repeats_elements_is_not_merged_with_what_makes_them() -> None:
    kinds = [operator.kind for operator in rewritten(traced("repeated, then sliced")).operators]
    assert kinds[0] == "exp"
    assert len(kinds) == 2


@pytest.mark.parametrize("name", [name for name in CASES if name.endswith("then a softmax")])
def test_a_scale_moves_into_a_row_operator_that_reads_without_divisions(name: str) -> None:
    *_, softmax = rewritten(traced(name)).operators
    assert softmax.reduction is not None
    assert point_factor(softmax.reduction) != 1
    assert all(access.is_affine() for access in softmax.reads)


def test_what_a_later_operator_reads_is_not_merged_with_it() -> None:
    graph = rewritten(
        trace(lambda x, w: tw.exp(x).transpose(1, 0, 2).reshape(4, 15) @ w, [TensorSpec((3, 4, 5)), TensorSpec((15, 2))])
    )
    plans = partition(graph, Machine.named("x86-64-v3"))
    assert [cut.reason for cut in plans.cuts] == [CannotFuse(Barrier.MERGED_DIMENSION, ("exp",))]


def test_a_merge_is_undone_by_a_split() -> None:
    assert [operator.kind for operator in rewritten(traced("merge, then split")).operators] == ["add"]


def test_kept_dimensions_are_read_through() -> None:
    assert [operator.kind for operator in rewritten(traced("kept dimensions"), IN_PIECES).operators] == ["mean", "subtract"]


def test_index_changes_that_are_outputs_stay() -> None:
    graph = rewritten(traced("only index changes"))
    assert graph.outputs == ("out_0", "out_1")
    assert all(operator.reads[0].tensor == "x0" for operator in graph.operators)
    assert len(graph.operators) == 2


def test_no_truth_value_is_stored() -> None:
    for name in ("masked", "a condition used twice"):
        graph = rewritten(traced(name))
        assert {tensor.dtype for tensor in graph.tensors} == {"float32"}


def test_dead_code_keeps_inputs() -> None:
    graph = rewritten(traced("unused"))
    assert [operator.kind for operator in graph.operators] == ["add"]
    assert graph.inputs == ("x0", "x1")
    assert [tensor.name for tensor in graph.tensors] == ["x0", "x1", "out"]


@pytest.mark.parametrize("name", SCALED)
def test_scales_move_into_row_operators(name: str) -> None:
    _, kinds, factor = SCALED[name]
    graph = rewritten(traced(f"scaled {name}"))
    assert [operator.kind for operator in graph.operators] == kinds
    reductions = [operator.reduction for operator in graph.operators if operator.reduction and operator.is_row_reduction()]
    assert [point_factor(reduction) for reduction in reductions] == [factor] * len(reductions)


def test_maps_that_follow_each_other_are_one() -> None:
    kinds = [operator.kind for operator in rewritten(traced("steps of one formula")).operators]
    assert kinds == ["matmul", "subtract"]


def test_what_is_broadcast_is_computed_once() -> None:
    assert [operator.kind for operator in rewritten(traced("a broadcast map"), IN_PIECES).operators] == ["max", "exp", "add"]


def test_positions_take_no_memory() -> None:
    (operator,) = rewritten(traced("positions")).operators
    assert [access.tensor for access in operator.reads] == ["x0"]


def test_long_formulas_stay_in_pieces() -> None:
    def doubled(x: Any) -> Any:
        for _ in range(9):
            x = x * tw.silu(x)
        return x

    graph = rewritten(trace(doubled, [TensorSpec((3,))]))
    assert 1 < len(graph.operators) < 9


ATTENTIONS: list[Any] = [
    lambda q, k, v: tw.scaled_dot_product_attention(q, k, v, is_causal=True),
    lambda q, k, v: tw.safe_softmax(causal(q @ k.mT * 8**-0.5)) @ v,
    lambda q, k, v: tw.safe_softmax(causal(tw.einsum("bhmk,bhlk->bhml", q, k) / np.sqrt(8))) @ v,
    lambda q, k, v: tw.einsum("bhml,bhln->bhmn", tw.safe_softmax(causal(8**-0.5 * (q @ k.transpose(0, 1, 3, 2)))), v),
]


def causal(scores: Any) -> Any:
    return tw.where(tw.arange(5)[:, None] >= tw.arange(7), scores, -np.inf)


def test_natural_formulations_of_attention_are_one_chain() -> None:
    specs = [TensorSpec(shape, name=name) for name, shape in zip("qkv", ((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 4)), strict=True)]
    graphs = [rewritten(trace(one, specs, element_types=("float32",))) for one in ATTENTIONS]
    structures = {canonical_form(make_chain(graph, graph.operators)) for graph in graphs}
    assert len(structures) == 1


def test_passes_are_idempotent() -> None:
    for name in CASES:
        graph = rewritten(traced(name))
        assert rewritten(graph) == graph


ROOT, LOGIT = np.sqrt(0.5), np.sqrt(2 / np.pi)
WRITTEN_OUT: dict[str, list[Any]] = {
    "gelu": [
        gelu,
        lambda x: x * (0.5 * (1 + tw.erf(x * np.float32(ROOT)))),
        lambda x: (x * (tw.erf(x * ROOT) + 1)) * 0.5,
        lambda x: (x + x * tw.erf(x / np.sqrt(2))) / 2,
        lambda x: gelu(x) * 2 * 0.5,
    ],
    "gelu_tanh": [
        lambda x: 0.5 * x * (1 + np.tanh(LOGIT * (x + 0.044715 * x**3))),
        lambda x: x * (np.tanh(x * np.float32(LOGIT) * (1 + x * x * 0.044715)) * 0.5 + 0.5),
        lambda x: x * tw.sigmoid(2 * LOGIT * (x + 0.044715 * x**3)),
        lambda x: x / (1 + np.exp(-2 * LOGIT * (x + 0.044715 * x * x * x))),
    ],
    "silu": [lambda x: x / (1 + np.exp(-x)), lambda x: x * (1 / (np.exp(-x) + 1)), lambda x: tw.sigmoid(x) * x],
    "sigmoid": [lambda x: 1 / (1 + np.exp(-x)), lambda x: tw.reciprocal(np.exp(x * -1.0) + 1)],
    "tanh": [lambda x: 2 * tw.sigmoid(2 * x) - 1, lambda x: 2 / (1 + np.exp(-2 * x)) - 1],
}


@pytest.mark.parametrize(("name", "form"), [(name, form) for name, forms in WRITTEN_OUT.items() for form in range(len(forms))])
def test_functions_that_are_written_out_are_recognised(name: str, form: int) -> None:
    graph = rewritten(trace(WRITTEN_OUT[name][form], [TensorSpec((3, 4), name="x")]))
    assert [operator.body for operator in graph.operators] == [apply(name, Load(0))]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 0.5 * (1 + tw.erf(x / 1.5)),
        lambda x: x * 0.5 * (1.001 + tw.erf(x / np.sqrt(2))),
        lambda x: (x + 1) * 0.5 * (1 + tw.erf(x / np.sqrt(2))),
        lambda x: 0.5 * x * (1 + np.tanh(LOGIT * (x + 0.0448 * x**3))),
        lambda x: x / (2 + np.exp(-x)),
    ],
)
def test_what_differs_a_little_is_not(function: Any) -> None:
    graph = rewritten(trace(function, [TensorSpec((3, 4), name="x")]))
    used = {name for operator in graph.operators for name in operator.functions()}
    assert not used & {"gelu", "gelu_tanh", "silu", "sigmoid"}


def test_a_bias_and_a_gate_join_a_function() -> None:
    graph = rewritten(traced("gelu with a bias and a gate"))
    assert [sorted(operator.functions()) for operator in graph.operators] == [["add", "gelu", "multiply"]]


def test_constants_in_front_come_together() -> None:
    graph = rewritten(trace(lambda x: 3 * gelu(x) * 0.25, [TensorSpec((3, 4), name="x")]))
    (operator,) = graph.operators
    assert operator.body == apply("multiply", apply("gelu", Load(0)), Literal(0.75))
