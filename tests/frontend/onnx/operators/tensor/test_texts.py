"""Casts to and from strings: onnxruntime's texts, and exact whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import tilewright.onnx
from tests.support.onnx_operators import operator
from tilewright.errors import DTypeError

NUMBERS = (1.5, 2, 0.1, 1e20, 1e-5, 123456789, 1 / 3, np.nan, np.inf, -np.inf, -0.0, 16777217, 3e-45)
TEXTS = ("1", "-7", " 5", "5 ", "0")


def cast_by(session: Any, x: np.ndarray, source: int, target: int) -> np.ndarray:
    infos = [helper.make_tensor_value_info(name, kind, x.shape) for name, kind in (("x", source), ("y", target))]
    graph = helper.make_graph([helper.make_node("Cast", ["x"], ["y"], to=target)], "texts", infos[:1], infos[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return session(model.SerializeToString()).run(None, {"x": x})[0]


def by_both(x: np.ndarray, source: int, target: int) -> tuple[list[Any], list[Any]]:
    sessions = tilewright.onnx.InferenceSession, onnxruntime.InferenceSession
    ours, theirs = (cast_by(session, x, source, target).tolist() for session in sessions)
    return ours, theirs


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_texts_of_numbers_are_onnxruntimes(dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = np.array(NUMBERS).astype(dtype)
    ours, theirs = by_both(x, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), TensorProto.STRING)
    assert ours == theirs
    assert ours[:2] == ["1.5", "2"]


@pytest.mark.parametrize(("dtype", "values"), [("int64", [-(2**63), 7]), ("uint64", [2**64 - 1, 0]), ("bool", [True, False])])
def test_texts_of_whole_numbers_and_truth_values(dtype: str, values: list[Any]) -> None:
    x = np.array(values, dtype)
    ours, theirs = by_both(x, onnx.helper.np_dtype_to_tensor_dtype(x.dtype), TensorProto.STRING)
    assert ours == theirs


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int8", "float32", "float64", "bool"])
def test_numbers_of_texts_are_onnxruntimes(dtype: str) -> None:
    texts = {
        "int64": ["9007199254740993", "1.5"],
        "uint64": ["18446744073709551615"],
        "int8": ["300"],
        "float32": ["1e3", "-INF"],
    }
    x = np.array([*TEXTS, *texts.get(dtype, [])], object)
    ours, theirs = by_both(x, TensorProto.STRING, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    assert ours == theirs


@pytest.mark.parametrize(
    ("text", "target"), [("abc", "float32"), ("", "int64"), ("1,5", "float64"), ("inf", "int32"), ("1e30", "uint64")]
)
def test_texts_of_no_number_are_one_clear_error(text: str, target: str) -> None:
    to = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(target))
    with pytest.raises(DTypeError, match=f"the text {text!r} to {target}"):
        operator("Cast", 19, to=to).reference(np.array([text], object))


def test_texts_stay_and_a_second_operand_says_the_type() -> None:
    texts = np.array(["a", "1"], object)
    assert operator("Cast", 19, to=TensorProto.STRING).reference(texts).tolist() == ["a", "1"]
    assert operator("CastLike", 19).reference(np.array([2.5]), texts).tolist() == ["2.5"]
