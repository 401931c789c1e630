"""ONNX Runtime on attention: in steps, the Attention operator, and MultiHeadAttention; inputs and outputs are bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tilewright_bench.cases.attention import AttentionCase
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.onnxruntime.session import Model, contender

BY_HEAD = [0, 2, 1, 3]
Arrays = Mapping[str, np.ndarray[Any, Any]]


def prepare(case: AttentionCase, threads: int) -> Iterator[Contender]:
    """Each model in a session of its own. MultiHeadAttention takes (b, m, h k) only: it has its operands so in any case."""
    shape = case.shape
    q, k, v = case.operands
    arrays: Arrays = {"q": q, "k": k, "v": v, **_bias(case)}
    if not shape.causal and shape.heads == shape.shared_heads:
        yield _contender("onnxruntime", _in_steps(case, arrays), case, threads)
    yield _contender("onnxruntime Attention", _attention(case, arrays), case, threads)
    if shape.heads == shape.shared_heads:
        yield _contender("onnxruntime MultiHeadAttention", _multi_head(case), case, threads)


def _bias(case: AttentionCase) -> Arrays:
    return {} if case.shape.bias == "none" else {"bias": case.added}


def _in_steps(case: AttentionCase, arrays: Arrays) -> Model:
    from onnx import helper

    swapped = case.shape.layout == "bmhk"
    names = {name: f"{name}_by_head" if swapped else name for name in ("q", "k", "v")}
    nodes = [helper.make_node("Transpose", [name], [inner], perm=BY_HEAD) for name, inner in names.items() if swapped]
    nodes += [
        helper.make_node("Transpose", [names["k"]], ["keys"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", [names["q"], "keys"], ["products"]),
        helper.make_node("Mul", ["products", "scale"], ["scores"]),
    ]
    nodes += [helper.make_node("Add", ["scores", "bias"], ["masked"])] if "bias" in arrays else []
    nodes += [
        helper.make_node("Softmax", ["masked" if "bias" in arrays else "scores"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", names["v"]], ["attended" if swapped else "out"]),
    ]
    nodes += [helper.make_node("Transpose", ["attended"], ["out"], perm=BY_HEAD)] if swapped else []
    scale = np.float32(1 / math.sqrt(case.shape.width))
    return Model(nodes, arrays, {"scale": np.asarray(scale)}, case.result_shape)


def _attention(case: AttentionCase, arrays: Arrays) -> Model:
    """Of opset 23: (b, h, m, k), or (b, m, h k) with the numbers of heads."""
    from onnx import helper

    shape = case.shape
    options: dict[str, Any] = {"is_causal": 1} if shape.causal else {}
    result: tuple[int, ...] = case.result_shape
    if shape.layout == "bmhk":
        options |= {"q_num_heads": shape.heads, "kv_num_heads": shape.shared_heads}
        arrays = {name: array if name == "bias" else _joined(array) for name, array in arrays.items()}
        result = _joined_shape(result)
    if "bias" in arrays:
        arrays = {**arrays, "bias": _whole(case, arrays["bias"])}
    return Model([helper.make_node("Attention", list(arrays), ["out"], **options)], arrays, {}, result)


def _whole(case: AttentionCase, bias: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """With all rows: Attention broadcasts over batch and heads."""
    return np.ascontiguousarray(np.broadcast_to(bias, (*bias.shape[:2], case.shape.queries, case.shape.keys)))


def _multi_head(case: AttentionCase) -> Model:
    """Of com.microsoft: padding as the number of valid keys, anything else added."""
    from onnx import helper

    shape = case.shape
    arrays = {name: _joined(_by_row(case, array)) for name, array in zip("qkv", case.operands, strict=True)}
    extra: dict[str, np.ndarray[Any, Any]] = {}
    inputs = ["q", "k", "v"]
    if shape.bias in ("mask", "lengths"):
        extra, inputs = {"padding": np.array([shape.valid_keys], np.int32)}, [*inputs, "", "padding"]
    elif shape.bias == "alibi":
        extra, inputs = {"bias": case.added}, [*inputs, "", "", "bias"]
    options = {"num_heads": shape.heads, "unidirectional": int(shape.causal)}
    node = helper.make_node("MultiHeadAttention", inputs, ["out"], domain="com.microsoft", **options)
    return Model([node], {**arrays, **extra}, {}, (1, shape.queries, shape.heads * shape.width))


def _by_row(case: AttentionCase, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array if case.shape.layout == "bmhk" else np.ascontiguousarray(array.swapaxes(1, 2))


def _joined(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.reshape(_joined_shape(array.shape))


def _joined_shape(shape: Sequence[int]) -> tuple[int, ...]:
    return shape[0], shape[1], shape[2] * shape[3]


def _contender(name: str, model: Model, case: AttentionCase, threads: int) -> Contender:
    """Results come (b, h, m, k), (b, m, h k) or (b, m, h, k): as the case has them they are views."""
    made = contender(name, model, threads)
    by_row = (1, case.shape.queries, case.shape.heads, case.shape.width)

    def result() -> np.ndarray[Any, Any]:
        array = made.result()
        if array.shape == case.result_shape:
            return array
        array = array.reshape(by_row)
        return array.swapaxes(1, 2) if case.shape.layout == "bhmk" else array

    return Contender(made.name, made.call, result)


PEER = Peer(
    "onnxruntime",
    ("onnxruntime", "onnx"),
    prepare,
    "inputs and outputs bound; in steps, Attention (opset 23), MultiHeadAttention on (b, m, h k), which is arranged ahead; masks "
    "added, for MultiHeadAttention as a number of valid keys",
)
