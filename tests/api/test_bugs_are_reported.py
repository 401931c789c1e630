"""An exception that is no message to users becomes an `InternalError` with a dump: no fallback hides it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.onnx as ort
from tests.support.graphs import random
from tests.support.onnx_models import Double, ReshapeTo, info, model, node
from tilewright import compiler
from tilewright.api.lengths import symbols
from tilewright.frontend.onnx.definition import Definition
from tilewright.frontend.onnx.model import Node
from tilewright.frontend.onnx.reference import run_reference
from tilewright.frontend.tracing.traced import Traced
from tilewright.graph.expressions.extents import value_of
from tilewright.graph.types import SymbolicExtent

X = np.ones((2, 3), np.float32)


def broken(*_: Any, **__: Any) -> Any:
    raise KeyError("axis 7")


def stops(*_: Any, **__: Any) -> Any:
    raise StopIteration


@pytest.mark.parametrize("failure", [broken, stops])
def test_planning_that_fails_prints_the_graph(monkeypatch: pytest.MonkeyPatch, failure: Any) -> None:
    monkeypatch.setattr(compiler, "partition_with", failure)
    with pytest.raises(tw.InternalError, match="planning double for x86-64-v2: ") as caught:
        tw.jit(double, target="x86-64-v2").lower(tw.spec((2, 3)))
    assert caught.value.dump.startswith("graph double")


def double(x: Any) -> Any:
    return x * 2


def test_lengths_that_only_this_package_cannot_take_are_no_reason_to_specialise(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(self: Traced, *_: Any) -> Traced:
        if any(isinstance(extent, SymbolicExtent) for extent in self.shape):
            symbols(None)  # type: ignore[arg-type]
        return self

    monkeypatch.setattr(Traced, "reshape", careless)
    function = tw.jit(lambda x: x.reshape(-1) * 2, target="x86-64-v2")
    function(random(5))
    with pytest.raises(tw.InternalError, match="tracing with lengths: TypeError"):
        function(random(6))


def test_a_line_of_the_package_that_fails_while_a_function_is_traced_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Traced, "reshape", lambda self, *_: value_of(SymbolicExtent("rows", 2, 4, 4), {}))
    with pytest.raises(tw.InternalError, match="tracing double_again: KeyError: 'rows'") as caught:
        tw.jit(double_again, target="x86-64-v2")(X)
    assert caught.value.dump.startswith("graph double_again")
    with pytest.raises(KeyError, match="mine"):
        tw.jit(lambda x: {}["mine"] + x, target="x86-64-v2")(X)


def double_again(x: Any) -> Any:
    return (x * 2).reshape(-1)


def test_functions_that_refuse_lengths_are_specialised() -> None:
    def rows(x: Any) -> Any:
        return sum((x[row] for row in range(x.shape[0])), start=0.0)

    function = tw.jit(rows, target="x86-64-v2")
    for count in (5, 6, 7):
        np.testing.assert_allclose(function(np.ones((count, 3), np.float32)), np.full(3, count))
    assert len(function.kernels) == 3


def test_a_lowering_that_fails_on_a_valid_node_is_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Double, "lower", broken)
    with pytest.raises(tw.InternalError, match=r"the lowering of Double node .*: KeyError: 'axis 7'") as caught:
        ort.InferenceSession(model([node("Double", ["x"], ["y"])], [info("x", [2, 3])], [info("y", None)]))
    assert "float32[2, 3]" in caught.value.dump


def test_a_lowering_that_fails_on_a_node_that_nothing_computes_is_the_models_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReshapeTo, "lower", broken)
    proto = model([node("ReshapeTo", ["x", "s"], ["y"])], [info("x", [2, 3])], [info("y", None)], {"s": np.array([5])})
    with pytest.raises(tw.InvalidModel, match="ReshapeTo node"):
        ort.InferenceSession(proto)


@pytest.mark.parametrize("failure", [NameError("size"), AssertionError(), StopIteration()])
def test_a_reference_implementation_with_a_bug_does_not_blame_the_model(failure: Exception) -> None:
    @dataclass(kw_only=True)
    class Odd:
        axis: int

        def reference(self, x: Any) -> Any:
            raise failure

    definition = Definition("Odd", "", 1, Odd)
    with pytest.raises(tw.InternalError, match="the reference implementation of Odd node 'n'") as caught:
        run_reference(Node("n", "Odd", "", definition, ("x",), ("y",), {"axis": 1}), [X])
    assert "axis=1" in caught.value.dump
