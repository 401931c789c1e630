"""Softmax and norms are the same operators in whatever steps they are written, and other formulas of rows are one operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.graphs import random
from tilewright.compiler import rewrite
from tilewright.frontend.tracing.trace import TensorSpec, trace
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph, SymbolicExtent
from tilewright.plan.chains import canonical_form, make_chain

EPS = 1e-5
GAIN, SHIFT = random(7, seed=1), random(7, seed=2)


def graph_of(function: Callable[..., Any], shape: tuple[Any, ...] = (3, 5, 7), count: int = 1) -> Graph:
    return trace(function, [TensorSpec(shape, name=f"x{number}") for number in range(count)])


def structure_of(graph: Graph) -> Any:
    return canonical_form(make_chain(graph, graph.operators))


def mean(x: Any) -> Any:
    return tw.mean(x, axis=-1, keepdims=True)


def total(x: Any) -> Any:
    return tw.sum(x, axis=-1, keepdims=True)


def largest(x: Any) -> Any:
    return tw.max(x, axis=-1, keepdims=True)


def softmax_by_reciprocal(x: Any) -> Any:
    powers = tw.exp(x - largest(x))
    return powers * (1.0 / total(powers))


def softmax_in_pieces(x: Any) -> Any:
    powers = tw.exp(x - tw.max(x, axis=-1).reshape(3, 5, 1))
    return powers / tw.sum(powers, axis=-1).reshape(3, 5, 1)


SOFTMAXES: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: tw.softmax(x),
    "written twice": lambda x: tw.exp(x - largest(x)) / total(tw.exp(x - largest(x))),
    "by the reciprocal": softmax_by_reciprocal,
    "negative maximum": lambda x: tw.exp(-largest(x) + x) / total(tw.exp(x - largest(x))),
    "without maximum": lambda x: tw.exp(x) / total(tw.exp(x)),
    "dimensions put back": softmax_in_pieces,
}


def centred(x: Any) -> Any:
    return x - mean(x)


NORMS: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: tw.layer_norm(x, 7, GAIN, SHIFT, EPS),
    "divided by the root": lambda x: centred(x) / tw.sqrt(mean(centred(x) ** 2) + EPS) * GAIN + SHIFT,
    "by the root's reciprocal": lambda x: centred(x) * (1.0 / tw.sqrt(mean(centred(x) ** 2) + EPS)) * GAIN + SHIFT,
    "gain first": lambda x: SHIFT + GAIN * (centred(x) / tw.sqrt(EPS + mean(centred(x) * centred(x)))),
    "gain on the root": lambda x: centred(x) * (GAIN / tw.sqrt(mean(centred(x) ** 2) + EPS)) + SHIFT,
    "sum over count": lambda x: centred(x) / tw.sqrt(total(centred(x) ** 2) / 7.0 + EPS) * GAIN + SHIFT,
    "one pass": lambda x: centred(x) / tw.sqrt(mean(x**2) - mean(x) ** 2 + EPS) * GAIN + SHIFT,
    "half power": lambda x: centred(x) / (mean(centred(x) ** 2) + EPS) ** 0.5 * GAIN + SHIFT,
    "negative half power": lambda x: centred(x) * (mean(centred(x) ** 2) + EPS) ** -0.5 * GAIN + SHIFT,
}
PLAIN_NORMS: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: tw.layer_norm(x, 7, eps=EPS),
    "written out": lambda x: centred(x) / tw.sqrt(mean(centred(x) ** 2) + EPS),
}
RMS_NORMS: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: tw.rms_norm(x, 7, GAIN, EPS),
    "divided": lambda x: x / tw.sqrt(mean(x**2) + EPS) * GAIN,
    "gain first": lambda x: GAIN * (x * (1.0 / tw.sqrt(mean(x * x) + EPS))),
    "negative half power": lambda x: x * (mean(x**2) + EPS) ** -0.5 * GAIN,
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "log softmax": lambda x: x - largest(x) - tw.log(total(tw.exp(x - largest(x)))),
    "unit rows": lambda x: x / tw.sqrt(total(x * x)),
    "centred": centred,
    "shares": lambda x: x / total(x),
    "softmax of a root": lambda x: tw.exp(tw.sqrt(tw.abs(x))) / total(tw.exp(tw.sqrt(tw.abs(x)))),
    "gain of one more": lambda x: x / tw.sqrt(mean(x * x) + EPS) * (1.0 + GAIN),
    "along the middle": lambda x: x - tw.mean(x, axis=1, keepdims=True),
    "transposed": lambda x: (x / total(x)).transpose(2, 0, 1),
    "transposed, along the first": lambda x: (x - tw.mean(x, axis=0, keepdims=True)).transpose(0, 2, 1),
    "along two": lambda x: x / tw.sqrt(tw.mean(x * x, axis=(1, 2), keepdims=True) + EPS),
}
FAMILIES = {"softmax": SOFTMAXES, "layer norm": NORMS, "plain norm": PLAIN_NORMS, "RMS norm": RMS_NORMS}
FORMS = [(family, name) for family, forms in FAMILIES.items() for name in forms]


@pytest.mark.parametrize(("family", "name"), FORMS)
def test_forms_of_one_function_are_one_operator(family: str, name: str) -> None:
    forms = FAMILIES[family]
    graph, expected = rewrite(graph_of(forms[name])), rewrite(graph_of(forms["operator"]))
    assert structure_of(graph) == structure_of(expected)


@pytest.mark.parametrize("name", OTHERS)
def test_other_formulas_of_rows_are_one_operator_of_the_same_meaning(name: str) -> None:
    graph = graph_of(OTHERS[name])
    joined = rewrite(graph)
    assert len(joined.operators) == (2 if name == "softmax of a root" else 1)
    x = {"x0": random(3, 5, 7)}
    expected, found = (evaluate(one, x, dtype="float64")["out"] for one in (graph, joined))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("family", FAMILIES)
def test_forms_in_front_of_and_behind_other_operators(family: str) -> None:
    """The residual is read by the norm and by the sum behind it, as in every transformer."""
    for form in FAMILIES[family].values():
        graph = graph_of(lambda x, y, form=form: form(x + y) + (x + y), count=2)
        joined = rewrite(graph)
        assert [operator.is_map() for operator in joined.operators][:2] == [True, False]
        assert len(joined.operators) <= 3
        inputs = {"x0": random(3, 5, 7), "x1": random(3, 5, 7, seed=9)}
        expected, found = (evaluate(one, inputs, dtype="float64")["out"] for one in (graph, joined))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_what_others_read_is_computed_for_them() -> None:
    """The centred row is a result as well: it stays, and the norm is of rows that are centred already."""

    def both(x: Any) -> Any:
        own = centred(x)
        return own, own / tw.sqrt(mean(own**2) + EPS)

    graph = graph_of(both)
    joined = rewrite(graph)
    assert [len(operator.reduction.states) for operator in joined.operators if operator.reduction] == [1, 1]
    x = {"x0": random(3, 5, 7)}
    for name, expected in evaluate(graph, x, dtype="float64").items():
        np.testing.assert_allclose(evaluate(joined, x, dtype="float64")[name], expected, rtol=1e-6, atol=1e-7)


def test_slices_of_rows_are_other_rows() -> None:
    graph = graph_of(lambda x: x[..., :5] - tw.mean(x, axis=-1, keepdims=True))
    joined = rewrite(graph)
    assert len(joined.operators) == 2
    x = {"x0": random(3, 5, 7)}
    np.testing.assert_allclose(evaluate(joined, x)["out"], evaluate(graph, x)["out"], rtol=1e-6)


def test_lengths_that_vary() -> None:
    length = SymbolicExtent("s0", 5, 16, 16)
    for forms in (SOFTMAXES, PLAIN_NORMS):
        own = [form for name, form in forms.items() if name not in ("operator", "dimensions put back")]
        expected = structure_of(rewrite(graph_of(lambda x, f=forms["operator"]: _along(f, x), (3, length, 1))))
        for form in own:
            assert structure_of(rewrite(graph_of(lambda x, f=form: _along(f, x), (3, length, 1)))) == expected


def _along(form: Callable[[Any], Any], x: Any) -> Any:
    return (
        form(x.reshape(3, x.shape[1]))
        if form is not PLAIN_NORMS["operator"]
        else tw.layer_norm(x.reshape(3, x.shape[1]), eps=EPS)
    )


def by_size_of_the_sum(x: Any, y: Any) -> Any:
    return x * total(tw.abs(x + y))


@pytest.mark.needs("avx2", "fma")
def test_contributions_may_read_other_tensors() -> None:
    assert len(rewrite(graph_of(by_size_of_the_sum, (5, 37), 2)).operators) == 1
    x, y = random(5, 37), random(5, 37, seed=3)
    function = tw.jit(by_size_of_the_sum, target="x86-64-v3", threads=1)
    np.testing.assert_allclose(function(x, y), function(x, y, interpret=True), rtol=2e-5, atol=2e-6)


@pytest.mark.needs("avx2", "fma")
@pytest.mark.parametrize("name", OTHERS)
def test_compiled_formulas_of_rows(name: str) -> None:
    x = random(3, 5, 7)
    function = tw.jit(OTHERS[name], target="x86-64-v3", threads=1)
    np.testing.assert_allclose(function(x), function(x, interpret=True), rtol=2e-5, atol=2e-6)


def test_rows_of_a_transposed_tensor_are_written_in_their_places():
    def spread_from_the_largest(x: Any) -> Any:
        y = tw.transpose(x, (1, 2, 0))
        return tw.exp(y - tw.max(y, axis=1, keepdims=True)) * 2.0 + tw.max(y, axis=1, keepdims=True)

    graph = graph_of(spread_from_the_largest, (5, 5, 5))
    joined, x = rewrite(graph), {"x0": random(5, 5, 5, seed=3)}
    assert len(joined.operators) == 1
    (expected,), (found,) = (list(evaluate(one, x).values()) for one in (graph, joined))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
