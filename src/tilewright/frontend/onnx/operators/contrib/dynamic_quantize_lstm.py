"""DynamicQuantizeLSTM: an LSTM whose weights are bytes, and whose inputs and hidden states are quantised by their ranges.

Source: onnxruntime's ContribOperators.md. It runs as NumPy, as LSTM does. X is quantised to uint8 as a whole, a hidden state at
every step over its batch. Products of bytes are exact in onnxruntime and sums of float32 here: hidden states that lie halfway
between two steps but for that may be a step apart, which a later step sees. onnxruntime divides a batch among its threads, and
then quantises the parts by their own ranges.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import InvalidModel
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.contrib.parameters import BYTES, MICROSOFT
from tilewright.frontend.onnx.operators.quantization.dynamic_quantize_linear import DynamicQuantizeLinear
from tilewright.frontend.onnx.operators.quantization.parameters import check_scale_values, check_zero_type
from tilewright.frontend.onnx.operators.recurrent.layer import Cell, Direction, State
from tilewright.frontend.onnx.operators.recurrent.lstm import LSTM
from tilewright.graph.shapes import shape_text

_WHERE = "DynamicQuantizeLSTM"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundedLSTM(LSTM):
    """An LSTM that rounds the hidden state of a step as DynamicQuantizeLinear does."""

    def cell(self, way: Direction) -> Cell:
        exact = LSTM.cell(self, way)

        def step(projected: Any, states: State) -> State:
            hidden, memory = states
            return exact(projected, (_rounded(hidden), memory))

        return step


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicQuantizeLSTM:
    """An LSTM with weights [directions, inputs, 4 hidden] and [directions, hidden, 4 hidden] of bytes.

    Their scales and zero points are [directions] or [directions, 4 hidden].
    """

    activation_alpha: Any = ()
    activation_beta: Any = ()
    activations: Any = ()
    clip: float | None = None
    direction: str = "forward"
    hidden_size: int = 0
    input_forget: int = 0

    def reference(
        self,
        x: Any,
        w: Any,
        r: Any,
        b: Any,
        sequence_lens: Any,
        initial_h: Any,
        initial_c: Any,
        p: Any,
        w_scale: Any,
        w_zero: Any,
        r_scale: Any,
        r_zero: Any,
    ) -> Any:
        attributes = {name: getattr(self, name) for name in self.__slots__}
        inputs, recurrent = _weights("W", w, w_scale, w_zero), _weights("R", r, r_scale, r_zero)
        return RoundedLSTM(**attributes).reference(_rounded(x), inputs, recurrent, b, sequence_lens, initial_h, initial_c, p)


def _rounded(x: Any) -> Any:
    """What its bytes stand for."""
    steps, scale, zero = DynamicQuantizeLinear().reference(x)
    return (steps.astype(np.float32) - zero.astype(np.float32)) * scale


def _weights(name: str, weights: Any, scale: Any, zero: Any) -> Any:
    """Weights in float32, as LSTM has them: [directions, 4 hidden, inputs]. Raises `InvalidModel` for wrong parameters."""
    if weights.ndim != 3 or weights.dtype.name not in BYTES:
        text = f"{name} is of {weights.dtype} and the shape {shape_text(weights.shape)}"
        raise InvalidModel(text, where=_WHERE, why="weights are bytes with three dimensions")
    directions, _, columns = weights.shape
    for role, parameter in (("scale", scale), ("zero point", zero)):
        if parameter.shape not in ((directions,), (directions, columns)):
            text = f"the {role} of {name} has the shape {shape_text(parameter.shape)}"
            why = f"it is ({directions},) or ({directions}, {columns})"
            raise InvalidModel(text, where=_WHERE, why=why, hint="quantise the model again")
    check_zero_type(zero, weights, name, _WHERE)
    check_scale_values(scale, name, divides=False, where=_WHERE)
    factors, zeros = (parameter.reshape(directions, 1, -1).astype(np.float32) for parameter in (scale, zero))
    return np.swapaxes((weights.astype(np.float32) - zeros) * factors, 1, 2)


define("DynamicQuantizeLSTM", DynamicQuantizeLSTM, domain=MICROSOFT)
