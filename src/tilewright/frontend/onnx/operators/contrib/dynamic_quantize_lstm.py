"""DynamicQuantizeLSTM: an LSTM whose weights are bytes, and whose inputs and hidden states are quantised by their ranges.

Source: onnxruntime's ContribOperators.md. X is quantised to uint8 as a whole, a hidden state at every step over its batch.
Products of bytes are exact where the layer is compiled, as in onnxruntime, and sums of float32 in NumPy: hidden states halfway
between two steps but for that may be a step apart, which a later step sees. onnxruntime divides a batch among its threads, and
then quantises the parts by their own ranges.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import InvalidModel
from tilewright.frontend.onnx.definition import onnx_operator
from tilewright.frontend.onnx.operators.contrib.qlinear import MICROSOFT
from tilewright.frontend.onnx.operators.operands import Known
from tilewright.frontend.onnx.operators.quantization.linear import (
    DequantizeLinear,
    DynamicQuantizeLinear,
    check_scale,
    check_zero_type,
)
from tilewright.frontend.onnx.operators.quantization.products import ExactMatMul, Scaled
from tilewright.frontend.onnx.operators.recurrent.layers import LSTM
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.recurrent import Parameters, Products
from tilewright.graph.exactness import BYTES
from tilewright.graph.expressions.extents import times
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor

_WHERE = "DynamicQuantizeLSTM"


@onnx_operator("DynamicQuantizeLSTM", domain=MICROSOFT)
class DynamicQuantizeLSTM(LSTM):
    """An LSTM with weights [directions, inputs, 4 hidden] and [directions, hidden, 4 hidden] of bytes.

    Their scales and zero points are [directions] or [directions, 4 hidden]. The hidden state of a step is rounded as
    DynamicQuantizeLinear does.
    """

    def reference(self, *operands: Any) -> Any:
        x, w, r, *others, w_scale, w_zero, r_scale, r_zero = operands
        inputs, recurrent = _weights("W", w, w_scale, w_zero), _weights("R", r, r_scale, r_zero)
        return LSTM.reference(self, _rounded(x), inputs, recurrent, *others)

    def multiplied(self, state: Any) -> Any:
        return _rounded(state)

    def lower(self, builder: Builder, *operands: Any) -> tuple[Tensor, ...]:
        """For every step two reductions for the range, a map that quantises, a product of bytes, and two maps."""
        x, w, r, b, lengths, hidden, memory, p, w_scale, w_zero, r_scale, r_zero = operands
        for name, weights, scale, zero in (("W", w, w_scale, w_zero), ("R", r, r_scale, r_zero)):
            _check(name, weights, scale, zero, builder.known)
        of_w, of_r = (w, w_scale, w_zero), (r, r_scale, r_zero)
        w_like, r_like = (replace(each, shape=(each.shape[0], each.shape[2], each.shape[1])) for each in (w, r))
        parameters = Parameters(bias=b, states=(hidden, memory), lengths=lengths, peepholes=p)
        return self.lowered(builder, x, w_like, r_like, parameters, partial(_products, builder, of_w, of_r))


QuantisedWeights: TypeAlias = tuple[Tensor, Tensor, Tensor]
"""Bytes [directions, rows, columns], and their scales and zero points [directions] or [directions, columns]."""


def _multiplied(builder: Builder, rows: Tensor, weights: QuantisedWeights, direction: int) -> Tensor:
    """Rows of float32, quantised all together, times the weights of a direction."""
    steps, scale, zero = DynamicQuantizeLinear().lower(builder, rows)
    numbers, scales, zeros = (_of(builder, each, direction) for each in weights)
    sums = ExactMatMul().lower(builder, steps, numbers, zero, zeros)
    return Scaled().lower(builder, sums, scale, scales)


def _products(builder: Builder, w: QuantisedWeights, r: QuantisedWeights, steps: Tensor, direction: int) -> Products:
    """The products of a direction. Those of states are of all gates at once, which an LSTM asks for."""
    count, batch, inputs = steps.shape
    product = _multiplied(builder, builder.reshape(steps, (times(count, batch), inputs)), w, direction)
    hidden = r[0].shape[1]
    assert isinstance(hidden, int)

    def of_state(state: Tensor, first: int, last: int) -> Tensor:
        assert (first, last) == (0, LSTM.gates)
        return _multiplied(builder, state, r, direction)

    return Products(builder.reshape(product, (count, batch, product.shape[-1])), of_state, hidden)


def _of(builder: Builder, parameter: Tensor, direction: int) -> Tensor:
    """What a direction has of a parameter, whose value stays known."""
    known = builder.known.get(parameter.name)
    return builder.slice(parameter, (direction,)) if known is None else builder.constant(known[direction], parameter.name)


def _rounded(x: Any) -> Any:
    """What its bytes stand for."""
    return DequantizeLinear().reference(*DynamicQuantizeLinear().reference(x))


def _weights(name: str, weights: Any, scale: Any, zero: Any) -> Any:
    """Weights in float32, as LSTM has them: [directions, 4 hidden, inputs]. Raises `InvalidModel` for wrong parameters."""
    _check(name, weights, scale, zero, {})
    factors, zeros = (parameter.reshape(weights.shape[0], 1, -1).astype(np.float32) for parameter in (scale, zero))
    return np.swapaxes((weights.astype(np.float32) - zeros) * factors, 1, 2)


def _check(name: str, weights: Any, scale: Any, zero: Any, known: Known) -> None:
    """Raise `InvalidModel` for wrong parameters of weights, arrays or tensors."""
    if len(weights.shape) != 3 or np.dtype(weights.dtype).name not in BYTES:
        text = f"{name} is of {np.dtype(weights.dtype).name} and the shape {shape_text(weights.shape)}"
        raise InvalidModel(text, where=_WHERE, why="weights are bytes with three dimensions")
    directions, _, columns = weights.shape
    for role, parameter in (("scale", scale), ("zero point", zero)):
        if tuple(parameter.shape) not in ((directions,), (directions, columns)):
            text = f"the {role} of {name} has the shape {shape_text(parameter.shape)}"
            why = f"it is ({directions},) or ({directions}, {columns})"
            raise InvalidModel(text, where=_WHERE, why=why, hint="quantise the model again")
    check_zero_type(zero, weights, name, _WHERE)
    check_scale(scale, name, known, divides=False, where=_WHERE)
