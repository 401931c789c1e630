"""QAttention and DynamicQuantizeLSTM beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.frontend.onnx.operators.contrib.peers import DOMAIN, drawn, drawn_weights, three_results
from tests.support.onnx_operators import operator
from tilewright.errors import InvalidModel, UnsupportedOperation
from tilewright.graph.builders.recurrent import MOST_STEPS

BATCH, STEPS, INPUTS, HEADS, WIDTH = 2, 7, 24, 3, 8
LSTM_STEPS = 4


def attention(dtype: str, mask: str = "none", *, by_columns: bool = False) -> dict[str, Any]:
    random = np.random.default_rng(7)
    columns = 3 * HEADS * WIDTH
    of_columns = (columns,) if by_columns else ()
    masks: dict[str, Any] = {
        "none": None,
        "keys": (random.random((BATCH, STEPS)) < 0.7).astype(np.int32),
        "lengths": np.array([5, 7], np.int32),
    }
    return {
        "x": drawn(random, (BATCH, STEPS, INPUTS), "uint8"),
        "weight": drawn_weights(random, (INPUTS, columns), dtype),
        "bias": random.standard_normal(columns).astype(np.float32),
        "x_scale": np.float32(0.01),
        "weight_scale": random.uniform(0.005, 0.01, of_columns).astype(np.float32),
        "mask_index": masks[mask],
        "x_zero": np.uint8(120),
        "weight_zero": np.zeros(of_columns, dtype) + np.array(3, dtype),
    }


@pytest.mark.parametrize("is_unidirectional", [False, True])
@pytest.mark.parametrize("mask", ["none", "keys", "lengths"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_attention(dtype: str, mask: str, is_unidirectional: bool) -> None:
    values = attention(dtype, mask, by_columns=mask == "none")
    attributes = {"num_heads": HEADS, "unidirectional": int(is_unidirectional)}
    constants = ("weight", "x_scale", "weight_scale", "x_zero", "weight_zero")
    is_compiled = mask != "lengths"
    peer, *results = three_results("QAttention", values, "float", constants, is_compiled=is_compiled, **attributes)
    for result in results:
        np.testing.assert_allclose(result, peer, rtol=1e-4, atol=1e-5)


def test_attention_of_other_heads_is_told() -> None:
    with pytest.raises(InvalidModel, match="num_heads is 5, the weight has 72 columns"):
        operator("QAttention", 1, DOMAIN, num_heads=5).reference(*attention("int8").values())


def test_attention_with_past_states_is_refused() -> None:
    past = np.zeros((2, BATCH, HEADS, 3, WIDTH), np.float32)
    with pytest.raises(UnsupportedOperation, match="past states"):
        operator("QAttention", 1, DOMAIN, num_heads=HEADS).reference(*attention("int8").values(), past)


def lstm(dtype: str, directions: int, *, by_columns: bool) -> dict[str, Any]:
    random = np.random.default_rng(3)
    columns = 4 * WIDTH
    shape = (directions, columns) if by_columns else (directions,)
    values: dict[str, Any] = {
        "x": random.standard_normal((LSTM_STEPS, 1, INPUTS)).astype(np.float32),
        "w": drawn_weights(random, (directions, INPUTS, columns), dtype),
        "r": drawn_weights(random, (directions, WIDTH, columns), dtype),
        "b": random.standard_normal((directions, 2 * columns)).astype(np.float32),
    }
    values |= dict.fromkeys(("sequence_lens", "initial_h", "initial_c", "p"))
    for name in "wr":
        values[f"{name}_scale"] = random.uniform(0.002, 0.006, shape).astype(np.float32)
        values[f"{name}_zero"] = np.zeros(shape, dtype) + np.array(0 if dtype == "int8" else 128, dtype)
    return values


@pytest.mark.parametrize(("dtype", "direction", "by_columns"), [("int8", "forward", True), ("uint8", "bidirectional", False)])
def test_lstm(dtype: str, direction: str, by_columns: bool) -> None:
    values = lstm(dtype, 2 if direction == "bidirectional" else 1, by_columns=by_columns)
    constants = [name for name in values if name != "x"]
    attributes = {"direction": direction, "hidden_size": WIDTH}
    peer, found, reference = three_results("DynamicQuantizeLSTM", values, "float", constants, **attributes)
    np.testing.assert_allclose(found, peer, atol=0.01)
    np.testing.assert_allclose(found, reference, atol=0.01)


def test_lstm_with_states_lengths_and_peepholes_that_calls_give() -> None:
    random, values = np.random.default_rng(4), lstm("int8", 1, by_columns=True)
    values["x"] = random.standard_normal((LSTM_STEPS, 2, INPUTS)).astype(np.float32)
    values |= {name: random.standard_normal((1, 2, WIDTH)).astype(np.float32) for name in ("initial_h", "initial_c")}
    values |= {
        "p": random.standard_normal((1, 3 * WIDTH)).astype(np.float32),
        "sequence_lens": np.array([2, LSTM_STEPS], np.int32),
    }
    _, found, reference = three_results("DynamicQuantizeLSTM", values, "float", has_peer=False, hidden_size=WIDTH)
    np.testing.assert_allclose(found, reference, atol=0.01)


def test_long_lstm_runs_as_numpy() -> None:
    values = lstm("int8", 1, by_columns=False)
    values["x"] = np.zeros((MOST_STEPS + 1, 1, INPUTS), np.float32)
    constants = [name for name in values if name != "x"]
    options = {"is_compiled": False, "has_peer": False, "hidden_size": WIDTH}
    _, found, reference = three_results("DynamicQuantizeLSTM", values, "float", constants, **options)
    np.testing.assert_array_equal(found, reference)


WRONG = {
    "w_scale": (np.ones((1, 5), np.float32), "the scale of W has the shape (1, 5)", "(1,) or (1, 32)"),
    "r_zero": (np.zeros(1, np.uint8), "the zero point of R is uint8", "make the zero point int8"),
    "r_scale": (np.float32([-1]), "the scale of R at [0] is -1.0", "a scale is positive and finite"),
    "w": (np.zeros((3, 4), np.int8), "W is of int8 and the shape (3, 4)", "three dimensions"),
}


@pytest.mark.parametrize("wrong", list(WRONG))
def test_wrong_parameters_of_an_lstm_are_told(wrong: str) -> None:
    replacement, *texts = WRONG[wrong]
    values = lstm("int8", 1, by_columns=False) | {wrong: replacement}
    with pytest.raises(InvalidModel) as problem:
        operator("DynamicQuantizeLSTM", 1, DOMAIN, hidden_size=WIDTH).reference(*values.values())
    for text in (*texts, "DynamicQuantizeLSTM"):
        assert text in str(problem.value)
