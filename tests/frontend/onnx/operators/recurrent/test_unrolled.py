"""Recurrent layers as graphs: steps that are written out give what the walk in NumPy gives; what cannot be written is refused."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

import numpy as np
import onnxruntime
import pytest

from tests.frontend.onnx.operators.contrib.peers import node_model
from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.operators.recurrent.layers import GRU, LSTM, RNN, RecurrentLayer
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.recurrent import MOST_STEPS
from tilewright.graph.expressions.extents import SymbolicExtent
from tilewright.graph.interpreter import evaluate
from tilewright.onnx import InferenceSession

STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 6
BY_BATCH = ("x", "initial_h", "initial_c")
"""The operands that `layout` is about."""


def operands(layer: RecurrentLayer, *, everything: bool = True, steps: int = STEPS, batch: int = BATCH) -> dict[str, Any]:
    """Arrays by name in ONNX's order; without `everything` those that may be left out are."""
    random, gates = np.random.default_rng(2), type(layer).gates
    ways = 2 if layer.direction == "bidirectional" else 1
    state = (batch, ways, HIDDEN) if layer.layout else (ways, batch, HIDDEN)
    shapes: dict[str, Any] = {
        "x": (batch, steps, INPUTS) if layer.layout else (steps, batch, INPUTS),
        "w": (ways, gates * HIDDEN, INPUTS),
        "r": (ways, gates * HIDDEN, HIDDEN),
        "b": (ways, 2 * gates * HIDDEN) if everything else None,
        "sequence_lens": None,
        "initial_h": state if everything else None,
    }
    if isinstance(layer, LSTM):
        shapes |= {"initial_c": state if everything else None, "p": (ways, 3 * HIDDEN) if everything else None}
    values = {name: None if shape is None else random.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    if everything and batch == BATCH:
        values["sequence_lens"] = np.array([steps, 2, 4], np.int32)
    return values


def lowered(layer: RecurrentLayer, values: dict[str, Any]) -> list[Any]:
    """The results of a lowering by interpretation."""
    builder = Builder("f")
    tensors = {name: None if one is None else builder.input(name, one.shape, one.dtype.name) for name, one in values.items()}
    results = layer.lower(builder, *tensors.values())
    feeds = {tensor.name: values[name] for name, tensor in tensors.items() if tensor is not None}
    found = evaluate(builder.graph([result.name for result in results]), feeds)
    return [found[result.name] for result in results]


def assert_same(layer: RecurrentLayer, values: dict[str, Any]) -> None:
    expected = layer.reference(*values.values())
    for one, other in zip(lowered(layer, values), expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(expected[0], of_onnxruntime(layer, values), rtol=2e-5, atol=2e-6)


def of_onnxruntime(layer: RecurrentLayer, values: dict[str, Any]) -> Any:
    """The hidden states of all steps; onnxruntime knows layout 0 only, which batches are brought into."""
    if layer.layout:
        by_steps = {name: np.swapaxes(values[name], 0, 1) for name in BY_BATCH if values.get(name) is not None}
        return of_onnxruntime(replace(layer, layout=0), values | by_steps).transpose(2, 0, 1, 3)
    given = {field.name: getattr(layer, field.name) for field in fields(layer)}
    attributes = {name: value for name, value in given.items() if value not in ((), None)} | {"hidden_size": HIDDEN}
    defaults = type(layer).default_activations * (2 if layer.direction == "bidirectional" else 1)
    attributes |= {"activations": layer.activations or defaults}
    data = node_model(type(layer).__name__, values, "float", **attributes)
    data.graph.node[0].domain = ""
    session = onnxruntime.InferenceSession(data.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {name: value for name, value in values.items() if value is not None})[0]


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("layer_type", [RNN, GRU, LSTM])
def test_steps_are_those_of_the_walk(layer_type: type[RecurrentLayer], direction: str) -> None:
    """Biases, sequences of several lengths, first states and peepholes, and none of these."""
    layer = layer_type(direction=direction)
    for everything in (False, True):
        assert_same(layer, operands(layer, everything=everything))


@pytest.mark.parametrize(
    "layer",
    [
        RNN(layout=1, direction="bidirectional"),
        RNN(activations=["Relu"], clip=0.75),
        GRU(linear_before_reset=1, layout=1, clip=0.5),
        LSTM(input_forget=1, clip=0.5, layout=1, direction="bidirectional"),
        LSTM(activations=["Sigmoid", "Relu", "Tanh"], direction="reverse"),
        GRU(activations=["HardSigmoid", "ScaledTanh"], activation_alpha=[0.3, 0.8], activation_beta=[0.6, 0.9]),
        LSTM(activations=["HardSigmoid", "Softsign", "LeakyRelu"], activation_alpha=[0.5, 0.1], activation_beta=[0.4]),
        LSTM(activations=["Sigmoid", "Affine", "ThresholdedRelu"], activation_alpha=[0.5, 0.2], activation_beta=[0.1]),
    ],
    ids=repr,
)
def test_attributes(layer: RecurrentLayer) -> None:
    assert_same(layer, operands(layer))


def test_products_of_an_lstm_are_one_kernel_for_all_steps() -> None:
    """The first step, whose state is known as 0, and the product of all inputs have their own."""
    layer = LSTM()
    values = operands(layer, everything=False, steps=6, batch=1)
    data = node_model("LSTM", values, "float", ("w", "r"), hidden_size=HIDDEN)
    data.graph.node[0].domain = ""
    session = InferenceSession(data.SerializeToString())
    (found,) = session.run(None, {"x": values["x"]})
    np.testing.assert_allclose(found, layer.reference(*values.values())[0], rtol=2e-5, atol=2e-6)
    text = session.explain(full=True)
    assert "run as NumPy" not in text
    assert len([line for line in text.splitlines() if re.match(r" +\[\d+\] +\d+ +\d", line) and "matmul" in line]) <= 3


def test_batches_of_any_size_are_compiled() -> None:
    layer = GRU(direction="bidirectional")
    values = operands(layer, everything=False, steps=3, batch=2)
    data = node_model("GRU", values, "float", ("w", "r"), hidden_size=HIDDEN, direction="bidirectional")
    data.graph.node[0].domain = ""
    data.graph.input[0].type.tensor_type.shape.dim[1].dim_param = "batch"
    session = InferenceSession(data.SerializeToString())
    for batch in (1, 2):
        (found,) = session.run(None, {"x": values["x"][:, :batch]})
        expected = layer.reference(values["x"][:, :batch], values["w"], values["r"])[0]
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)
    assert "run as NumPy" not in session.explain()


def test_what_is_not_written_out_is_refused() -> None:
    layer = LSTM()
    with pytest.raises(ShapeError, match="sequence_lens"):
        lowered(layer, operands(layer) | {"sequence_lens": np.array([2], np.int32)})
    long = operands(layer, steps=MOST_STEPS + 1, batch=1)
    with pytest.raises(UnsupportedOperation, match=f"{MOST_STEPS + 1} steps has no lowering"):
        lowered(layer, long)
    with pytest.raises(UnsupportedOperation, match="of relu, tanh"):
        lowered(LSTM(activations=["Sine", "Tanh", "Tanh"]), operands(layer))
    with pytest.raises(UnsupportedOperation, match="float64"):
        lowered(layer, operands(layer) | {"x": np.zeros((STEPS, BATCH, INPUTS))})
    builder, steps = Builder("f"), SymbolicExtent("steps", 1, 9, 4)
    shapes = ((steps, 1, INPUTS), (1, 4 * HIDDEN, INPUTS), (1, 4 * HIDDEN, HIDDEN))
    with pytest.raises(UnsupportedOperation, match="LSTM of steps steps"):
        layer.lower(builder, *(builder.input(name, shape, "float32") for name, shape in zip("xwr", shapes, strict=True)))
