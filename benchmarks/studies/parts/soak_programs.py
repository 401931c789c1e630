"""What `benchmarks.studies.soak` calls: jitted functions of several kinds and ONNX sessions, each with its meaning in NumPy."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.lib.stride_tricks import sliding_window_view
from onnx import helper, numpy_helper

import tilewright as tw
from benchmarks.studies.parts.soak_program import Program, Shapes
from tilewright.onnx import InferenceSession

Array: TypeAlias = np.ndarray[Any, Any]
WIDTH = 48
_weights = np.random.default_rng(0).standard_normal((4, WIDTH, WIDTH)).astype(np.float32) / np.float32(np.sqrt(WIDTH))
_filters = np.random.default_rng(1).standard_normal((6, 3, 3, 3)).astype(np.float32)


def programs() -> tuple[Program, ...]:
    """Fresh ones: nothing is compiled yet."""
    return (
        Program("attention", tw.jit(_attention, dynamic=False), _attention_shapes, _attention_meaning),
        Program("attention, lengths", tw.jit(_attention), _attention_shapes, _attention_meaning),
        Program("mlp", tw.jit(_mlp, dynamic=False), lambda choose: ((choose.randint(1, 500), WIDTH),), _mlp_meaning),
        Program("norm", tw.jit(_norm, dynamic=False), lambda choose: (_extents(choose, 2, 80),), _norm_meaning),
        Program("reductions", tw.jit(_reductions, dynamic=False), lambda choose: (_extents(choose, 3, 24),), _reductions),
        Program("maps", tw.jit(_maps, dynamic=False), _maps_shapes, _maps_meaning),
        Program("session, lengths", _session(_mlp_model()), lambda choose: ((choose.randint(1, 500), WIDTH),), _gemm_meaning),
        Program("session, images", _session(_image_model()), _image_shapes, _image_meaning),
    )


def _extents(choose: random.Random, rank: int, most: int) -> tuple[int, ...]:
    return tuple(choose.randint(1, most) for _ in range(rank))


def _attention(q: Any, k: Any, v: Any) -> Any:
    return tw.softmax(q @ k.T * 0.25, axis=-1) @ v


def _attention_shapes(choose: random.Random) -> Shapes:
    queries, keys, width = _extents(choose, 3, 64)
    return (queries, width), (keys, width), (keys, 16)


def _attention_meaning(q: Array, k: Array, v: Array) -> Any:
    scores = q @ k.T * 0.25
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def _mlp(x: Any) -> Any:
    return tw.silu(x @ tw.asarray(_weights[0])) @ tw.asarray(_weights[1])


def _mlp_meaning(x: Array) -> Any:
    hidden = x @ _weights[0]
    return hidden / (1 + np.exp(-hidden)) @ _weights[1]


def _norm(x: Any) -> Any:
    return tw.layer_norm(x, x.shape[-1:]) * 2.0


def _norm_meaning(x: Array) -> Any:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * 2


def _reductions(x: Any) -> Any:
    return (x.max(axis=1) + x.sum(axis=1)).T


def _maps(x: Any, y: Any) -> Any:
    return tw.where(x > y, tw.tanh(x), y * 0.5) + x


def _maps_shapes(choose: random.Random) -> Shapes:
    rows, columns = _extents(choose, 2, 90)
    return (rows, columns), (columns,)


def _maps_meaning(x: Array, y: Array) -> Any:
    return np.where(x > y, np.tanh(x), y * 0.5) + x


def _session(model: onnx.ModelProto) -> Callable[[Array], Any]:
    session = InferenceSession(model)
    return lambda x: session.run(None, {"x": x})[0]


def _model(
    nodes: Sequence[Any], shape: Sequence[int | str], result: Sequence[int | str], constants: dict[str, Array]
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "soak",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, result)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _mlp_model() -> onnx.ModelProto:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "u"], ["y"]),
    ]
    return _model(nodes, ["batch", WIDTH], ["batch", WIDTH], {"w": _weights[2], "u": _weights[3]})


def _gemm_meaning(x: Array) -> Any:
    return np.maximum(x @ _weights[2], 0) @ _weights[3]


def _image_model() -> onnx.ModelProto:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["y"], kernel_shape=[2, 2], strides=[1, 1]),
    ]
    return _model(nodes, [1, 3, "h", "w"], [1, 6, "ho", "wo"], {"w": _filters})


def _image_shapes(choose: random.Random) -> Shapes:
    return ((1, 3, choose.randint(2, 40), choose.randint(2, 40)),)


def _image_meaning(x: Array) -> Any:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(padded, (3, 3), axis=(2, 3))
    rectified = np.maximum(np.einsum("nchwij,ocij->nohw", windows, _filters), 0)
    return np.asarray(sliding_window_view(rectified, (2, 2), axis=(2, 3)).max((-1, -2)))
