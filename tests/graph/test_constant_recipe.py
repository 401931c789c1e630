"""Recipes of constants: every constant of a library comes from memory that holds its elements in the same order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.support.recipes import made_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.constant_recipe import recipe
from tilewright.onnx import InferenceSession

VIEWS = {
    "reshaped": lambda w: w.reshape(20, 10),
    "transposed": lambda w: w.T,
    "reversed": lambda w: w[::-1],
    "split and exchanged": lambda w: w.reshape(5, 4, 10).transpose(1, 0, 2),
    "of length one": lambda w: w[:, None],
}


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("view", VIEWS)
def test_a_constant_and_a_view_of_its_memory_keep_their_elements(view: str, order: int) -> None:
    w = np.random.default_rng(0).standard_normal((10, 20)).astype(np.float32)
    arrays: list[Any] = [w, VIEWS[view](w)][::order]
    builder = Builder("f")
    given = builder.graph(tuple(builder.constant(array, "w").name for array in arrays))
    made = made_of(recipe(given, given.outputs, given.constants), given.constants)
    for name, array in zip(given.outputs, arrays, strict=True):
        np.testing.assert_array_equal(made[name], array)


@pytest.mark.needs("avx2", "fma")
def test_an_embedding_that_is_the_transposed_weight_of_the_last_layer() -> None:
    w = np.random.default_rng(0).standard_normal((200, 64)).astype(np.float32)
    nodes = [
        helper.make_node("Gather", ["w", "ids"], ["embedding"], axis=0),
        helper.make_node("Transpose", ["w"], ["head"], perm=[1, 0]),
        helper.make_node("Relu", ["embedding"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "head"], ["logits"]),
    ]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("embedding", "logits")]
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "length"])
    graph = helper.make_graph(nodes, "tied", [ids], outputs, [numpy_helper.from_array(w, "w")])
    session = InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9))
    given = np.array([[3, 199, 0]])
    embedding, logits = session.run(None, {"ids": given})
    np.testing.assert_array_equal(embedding, w[given])
    np.testing.assert_allclose(logits, np.maximum(w[given], 0) @ w.T, rtol=1e-4, atol=1e-4)


def test_each_tensor_is_made_of_its_own_constants_when_it_is_asked_for() -> None:
    builder = Builder("f")
    first, second = (builder.constant(np.full(100, value), name) for value, name in ((2.0, "first"), (3.0, "second")))
    graph = builder.graph((builder.map("add", first, 1.0).name, builder.map("multiply", first, second).name))
    forgotten: list[float] = []
    names = (*graph.outputs, "second")
    made = recipe(graph, names, graph.constants).made(graph.constants, names, lambda array: forgotten.append(array[0]))
    assert len(made) == 3
    assert [array[0] for array in made[1:]] == [6.0, 3.0]
    assert forgotten == [2.0, 3.0]
    assert made[0][0] == 3.0
