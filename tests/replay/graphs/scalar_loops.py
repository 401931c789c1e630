"""Integers, doubles and halves, which run as loops over scalars or are converted where they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.replay.onnx_text import model
from tests.replay.planning import Planned, imported

TYPES = ("int8", "uint8", "int32", "int64", "float16", "float64")
X = (12, 40)
AXES = np.array([1], np.int64)
GRAPHS: dict[str, tuple[str, dict[str, Any], str]] = {
    "divisions": ("a = Div (x, z)\ny = Mod (a, z)", {"x": (X, "int64"), "z": (X, "int64")}, "int64"),
    "shifts": (
        'a = BitShift <direction = "LEFT"> (x, z)\ny = BitwiseXor (a, z)',
        {"x": (X, "uint32"), "z": (X, "uint32")},
        "uint32",
    ),
    "integer-product": ("y = MatMul (x, z)", {"x": (X, "int32"), "z": ((40, 9), "int32")}, "int32"),
    "quantised-product": ("y = MatMulInteger (x, z)", {"x": (X, "uint8"), "z": ((40, 9), "int8")}, "int32"),
    "quantised-convolution": ("y = ConvInteger (x, z)", {"x": ((1, 4, 9, 9), "uint8"), "z": ((8, 4, 3, 3), "uint8")}, "int32"),
    "quantise": ("y = QuantizeLinear (x, s, o)", {"x": X, "s": (), "o": ((), "uint8")}, "uint8"),
    "dequantise": ("y = DequantizeLinear (x, s, o)", {"x": (X, "uint8"), "s": (), "o": ((), "uint8")}, "float32"),
    "double-product": ("a = MatMul (x, z)\ny = Exp (a)", {"x": (X, "float64"), "z": ((40, 9), "float64")}, "float64"),
    "half-product": ("a = MatMul (x, z)\ny = Relu (a)", {"x": (X, "float16"), "z": ((40, 9), "float16")}, "float16"),
    "comparison": ("a = Greater (x, z)\ny = Cast <to = 1> (a)", {"x": (X, "int64"), "z": (X, "int64")}, "float32"),
    "running-sum": ("y = CumSum (x, a)", {"x": (X, "float32")}, "float32"),
    "largest": ("y = ArgMax <axis = 1> (x)", {"x": X}, "int64"),
}


def graphs() -> Mapping[str, Planned]:
    found = {f"sums-{dtype}": imported(lambda dtype=dtype: _sums(dtype)) for dtype in TYPES}
    found |= {name: imported(lambda one=one: _model(*one)) for name, one in GRAPHS.items()}
    return found


def _sums(dtype: str) -> Any:
    body = "a = Add (x, z)\nb = Mul (a, z)\ny = ReduceSum <keepdims = 0> (b, axes)"
    return model(body, {"x": (X, dtype), "z": (X, dtype)}, {"axes": AXES}, output_type=dtype)


def _model(body: str, inputs: Mapping[str, Any], output_type: str) -> Any:
    return model(body, inputs, {"a": np.array(1)} if "CumSum" in body else {}, output_type=output_type)
