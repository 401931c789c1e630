"""Weights that a model computes from constants are constants: no operator of theirs is left to calls, and none is a stage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import tilewright.onnx as ort  # noqa: E402
from tests.support.onnx_models import info, model, node  # noqa: E402
from tests.support.random.constants.judging import little_folded, outcome  # noqa: E402
from tests.support.random.constants.styles import program  # noqa: E402
from tests.support.sweeps import EQUAL  # noqa: E402
from tilewright import compiler  # noqa: E402
from tilewright.api.onnx.steps import RemainingSubgraph, SessionContext  # noqa: E402
from tilewright.frontend.onnx.reading import load  # noqa: E402
from tilewright.frontend.onnx.stage_types import Stage  # noqa: E402
from tilewright.graph.rewrites.constants.constant_part import split  # noqa: E402

SHAPE = (9, 16)
RANDOM = np.random.default_rng(5)
W = RANDOM.standard_normal(SHAPE, np.float32)
BYTES = RANDOM.integers(-9, 9, SHAPE, np.int8)
HALF = numpy_helper.from_array(np.array([0.5], np.float32))

KINDS: dict[str, tuple[Sequence[Any], dict[str, Any]]] = {
    "ConstantOfShape": ([("ConstantOfShape", ["s"], {"value": HALF})], {"s": np.array(SHAPE)}),
    "Cast": ([("Cast", ["h"], {"to": TensorProto.FLOAT})], {"h": W.astype(np.float16)}),
    "Transpose": ([("Transpose", ["c"], {"perm": [1, 0]})], {"c": W.reshape(16, 9)}),
    "DequantizeLinear": (
        [("DequantizeLinear", ["q", "scale"], {"axis": 1})],
        {"q": BYTES, "scale": np.full(16, 0.1, np.float32)},
    ),
    "Mul": ([("Mul", ["c", "d"], {})], {"c": W, "d": W + 1}),
    "Concat": ([("Concat", ["c", "d"], {"axis": 0})], {"c": W[:4], "d": W[4:]}),
    "Reshape": ([("Reshape", ["c", "s"], {})], {"c": W.reshape(6, 24), "s": np.array(SHAPE)}),
    "Expand": ([("Expand", ["c", "s"], {})], {"c": W[:, :1], "s": np.array(SHAPE)}),
    "Gather": ([("Gather", ["c", "i"], {})], {"c": W, "i": np.arange(9)[::-1].copy()}),
    "Where": ([("Where", ["b", "c", "d"], {})], {"b": W > 0, "c": W, "d": W + 1}),
    "EyeLike": ([("EyeLike", ["c"], {})], {"c": W}),
    "Range": (
        [("Range", ["zero", "all", "one"], {}), ("Cast", ["t0"], {"to": TensorProto.FLOAT}), ("Reshape", ["t1", "s"], {})],
        {"zero": np.int64(0), "all": np.int64(144), "one": np.int64(1), "s": np.array(SHAPE)},
    ),
}


def stage_of(nodes: Sequence[Any], constants: dict[str, Any], tmp_path: Any) -> Stage:
    """The first stage of a model of `x` whose constants are not folded at import."""
    path = tmp_path / "model.onnx"
    onnx.save(model(nodes, [info("x", (3, 9))], [info("y", None)], constants), path)
    body = load(path).body
    values = {one.unique: np.zeros(one.shape, np.float32) for one in body.inputs if one.unique not in body.constants}
    remaining = RemainingSubgraph(
        "model", lambda: (body.nodes, body.constants), [one.unique for one in body.outputs], SessionContext()
    )
    with little_folded():
        return remaining.first_stage(values)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_are_computed_are_constants(kind: str, tmp_path: Any) -> None:
    steps, constants = KINDS[kind]
    made = [helper.make_node(op, inputs, [f"t{n}"], **more) for n, (op, inputs, more) in enumerate(steps)]
    nodes = [*made, helper.make_node("MatMul", ["x", made[-1].output[0]], ["y"])]
    graph = stage_of(nodes, constants, tmp_path).graph
    assert graph is not None
    assert [operator.kind for operator in split(compiler.rewrite(graph))[1].operators] == ["matmul"]


def test_values_that_lowerings_ask_for_are_evaluated(tmp_path: Any) -> None:
    """The length of a padding, computed from a constant that import does not fold: it began a stage of its own."""
    nodes = [
        helper.make_node("ReduceMax", ["c"], ["m"], keepdims=0),
        helper.make_node("Reshape", ["m", "four"], ["all"]),
        helper.make_node("Expand", ["all", "shape"], ["p"]),
        helper.make_node("Pad", ["x", "p"], ["y"]),
    ]
    constants = {"c": np.arange(30) % 3, "four": np.array([1]), "shape": np.array([4])}
    stage = stage_of(nodes, constants, tmp_path)
    assert not stage.rest
    assert stage.graph is not None
    assert stage.graph.tensor(stage.graph.outputs[0]).shape == (7, 13)


def test_constants_whose_lowering_refuses_are_computed_at_import(tmp_path: Any) -> None:
    stage = stage_of([node("Half", ["c"], ["h"]), helper.make_node("MatMul", ["x", "h"], ["y"])], {"c": W}, tmp_path)
    assert not stage.as_numpy
    assert stage.graph is not None
    assert [constant.array.shape for _, constant in stage.graph.constants] == [SHAPE]


def test_loops_over_constants_run_once() -> None:
    """W * W, three times: no call runs the loop, and the product behind it packs what it made."""
    body = helper.make_graph(
        [helper.make_node("Mul", ["w", "w"], ["squared"]), helper.make_node("Identity", ["go"], ["again"])],
        "body",
        [info("n", (), TensorProto.INT64), info("go", (), TensorProto.BOOL), info("w", SHAPE)],
        [info("again", (), TensorProto.BOOL), info("squared", SHAPE)],
    )
    nodes = [helper.make_node("Loop", ["times", "", "c"], ["made"], body=body), helper.make_node("MatMul", ["x", "made"], ["y"])]
    proto = model(nodes, [info("x", (3, 9))], [info("y", None)], {"times": np.int64(3), "c": W})
    session = ort.InferenceSession(proto)
    x = np.ones((3, 9), np.float32)
    np.testing.assert_allclose(session.run(None, {"x": x})[0], x @ W**8, rtol=1e-5)
    assert not session.numpy_operators


def test_integers_beyond_float64_fill_tensors() -> None:
    value = numpy_helper.from_array(np.array([2**60 + 1]))
    nodes = [helper.make_node("ConstantOfShape", ["s"], ["c"], value=value), helper.make_node("Add", ["x", "c"], ["y"])]
    proto = model(nodes, [info("x", [4, 5], TensorProto.INT64)], [info("y", None, TensorProto.INT64)], {"s": np.array([4, 5])})
    with little_folded():
        (y,) = ort.InferenceSession(proto).run(None, {"x": np.zeros((4, 5), np.int64)})
    assert np.array_equal(y, np.full((4, 5), 2**60 + 1))


@pytest.mark.needs("ssse3", "sse4_1")
@pytest.mark.parametrize("seed", range(10))
def test_results_are_those_of_onnxruntime(seed: int) -> None:
    pytest.importorskip("onnxruntime")
    one = program(seed, 2)
    found = outcome(one)
    assert found.kind == EQUAL, f"{found}\n{one.text()}"
