"""Recurrent layers over sequences of a known, moderate length: their steps are written out (`graph/builders/recurrent.py`).

Formulas of the cells: PyTorch 2.13, torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN; gates are in the order i, f, g, o and r, z, n.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.registry import lowers
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import concatenated
from tilewright.graph.builders.recurrent import Arrays, Operands, States, Way, check_steps, parts, stacked, walked
from tilewright.graph.expressions.extents import times
from tilewright.graph.expressions.scalar import Literal, Scalar, apply
from tilewright.graph.types import Tensor, planned_extent
from tilewright.records import record

MODE_OF_LSTM = 2
"""Of `mkldnn_rnn_layer`."""


@record(eq=False)
class Layer:
    """A direction of a layer: weights of inputs and of states, their biases or None, and the first states."""

    of_inputs: Tensor
    of_states: Tensor
    input_bias: Tensor | None
    state_bias: Tensor | None
    states: States
    is_reverse: bool


@record
class Cell:
    """What a step computes, from how many gates; whether it adds the bias of states itself."""

    gates: int
    step: Callable[[Builder | Arrays, Way, Sequence[Any], States], States]
    adds_bias: bool = False


def _lstm_step(builder: Builder | Arrays, way: Way, projected: Sequence[Any], states: States) -> States:
    """C = f C + i g, H = o tanh(C)."""
    (hidden, memory), of_memory, of_hidden = states, Operands(), Operands()
    products = parts(builder, way.multiply(hidden, 0, 4), 4)

    def gate(operands: Operands, number: int, function: str) -> Scalar:
        return apply(function, apply("add", operands(projected[number]), operands(products[number])))

    entering = apply("multiply", gate(of_memory, 0, "sigmoid"), gate(of_memory, 2, "tanh"))
    kept = apply("multiply", gate(of_memory, 1, "sigmoid"), of_memory(memory))
    new = of_memory.computed(builder, apply("add", kept, entering), "memory")
    shown = apply("multiply", gate(of_hidden, 3, "sigmoid"), apply("tanh", of_hidden(new)))
    return of_hidden.computed(builder, shown, "hidden"), new


def _gru_step(builder: Builder | Arrays, way: Way, projected: Sequence[Any], states: States) -> States:
    """H = (1 - z) n + z H, with n = tanh(its inputs + r (its product and bias))."""
    (hidden,), operands = states, Operands()
    products = parts(builder, way.multiply(hidden, 0, 3), 3)
    biases = [] if way.bias is None else parts(builder, way.bias, 3)

    def product(number: int) -> Scalar:
        found = operands(products[number])
        return apply("add", found, operands(biases[number])) if biases else found

    reset, update = (apply("sigmoid", apply("add", operands(projected[number]), product(number))) for number in (0, 1))
    inner = apply("add", operands(projected[2]), apply("multiply", reset, product(2)))
    fresh = apply("multiply", apply("subtract", Literal(1.0), update), apply("tanh", inner))
    return (operands.computed(builder, apply("add", fresh, apply("multiply", update, operands(hidden))), "hidden"),)


def _simple_step(function: str, builder: Builder | Arrays, way: Way, projected: Sequence[Any], states: States) -> States:
    """H = function(its inputs + its product)."""
    operands = Operands()
    total = apply("add", operands(projected[0]), operands(way.multiply(states[0], 0, 1)))
    positive = apply("maximum", total, Literal(0.0))
    return (operands.computed(builder, apply("tanh", total) if function == "tanh" else positive, "hidden"),)


_LSTM, _GRU = Cell(4, _lstm_step), Cell(3, _gru_step, adds_bias=True)
_SIMPLE = {function: Cell(1, partial(_simple_step, function)) for function in ("tanh", "relu")}


@lowers("aten.mkldnn_rnn_layer.default")
def lstm_layer(call: Call) -> tuple[Tensor | None, ...]:
    """One direction of one layer of an LSTM: hidden states of all steps, last hidden state, last memory."""
    is_plain = call["num_layers"] == 1 and not call["bidirectional"] and not call["batch_first"] and not call["batch_sizes"]
    if call["mode"] != MODE_OF_LSTM or not is_plain or call["train"]:
        raise call.refuse("another layer than one direction of an LSTM")
    of_inputs, of_states, *biases = (call.tensor(f"weight{number}") for number in range(4))
    input_bias, state_bias = biases if call["has_biases"] else (None, None)
    shape = call.results[1].shape
    states = tuple(_one_state(call, name) for name in ("hx_", "cx_"))
    layer = Layer(of_inputs, of_states, input_bias, state_bias, states, bool(call["reverse"]))
    hidden, last = _walked(call, call.tensor("input"), layer, _LSTM)
    return hidden, *(call.builder.reshape(state, shape) for state in last), None


def _one_state(call: Call, name: str) -> Tensor:
    """States (1, batch, hidden) as (batch, hidden)."""
    state = call.tensor(name)
    return call.builder.reshape(state, state.shape[-2:])


@lowers("aten.lstm.input")
def lstm(call: Call) -> tuple[Tensor, ...]:
    """All layers: hidden states of the last one, and last hidden states and memories of all."""
    return _layers(call, call.tensors("hx"), _LSTM)


@lowers("aten.gru.input")
def gru(call: Call) -> tuple[Tensor, ...]:
    """All layers: hidden states of the last one, and last hidden states of all."""
    return _layers(call, [call.tensor("hx")], _GRU)


@lowers("aten.rnn_tanh.input", "aten.rnn_relu.input")
def rnn(call: Call) -> tuple[Tensor, ...]:
    """All layers: hidden states of the last one, and last hidden states of all."""
    return _layers(call, [call.tensor("hx")], _SIMPLE[call.operator.removeprefix("rnn_")])


def _layers(call: Call, first: Sequence[Tensor], cell: Cell) -> tuple[Tensor, ...]:
    builder, parameters, directions = call.builder, call.tensors("params"), 1 + bool(call["bidirectional"])
    each = 4 if call["has_biases"] else 2
    count = planned_extent(call["num_layers"]) * directions
    if len(parameters) != count * each:
        raise call.refuse("layers with projected states")
    if call["train"] and call["dropout"]:
        raise call.refuse("dropout between layers")
    x = call.tensor("input")
    steps = builder.transpose(x, (1, 0, 2)) if call["batch_first"] else x
    lasts: list[States] = []
    for number in range(0, count, directions):
        found = []
        for direction in range(number, number + directions):
            of_inputs, of_states, *biases = parameters[direction * each : (direction + 1) * each]
            input_bias, state_bias = biases or (None, None)
            states = tuple(builder.slice(state, (direction,)) for state in first)
            layer = Layer(of_inputs, of_states, input_bias, state_bias, states, direction > number)
            hidden, last = _walked(call, steps, layer, cell)
            found.append(hidden)
            lasts.append(last)
        steps = concatenated(builder, found, 2) if directions > 1 else found[0]
    y = builder.transpose(steps, (1, 0, 2)) if call["batch_first"] else steps
    return y, *(stacked(builder, list(states)) for states in zip(*lasts, strict=True))


def _walked(call: Call, steps: Tensor, layer: Layer, cell: Cell) -> tuple[Tensor, States]:
    """Hidden states of all steps (steps, batch, hidden), and the last states (batch, hidden)."""
    builder = call.builder
    check_steps(steps, call.overload)
    if 0 in steps.shape:
        raise call.refuse("a sequence without elements")
    size = planned_extent(layer.of_states.shape[1])

    def multiply(state: Tensor, first: int, last: int) -> Tensor:
        weights = builder.slice(layer.of_states, (slice(first * size, last * size),))
        return builder.matmul(state, builder.transpose(weights, (1, 0)))

    count, batch, inputs = steps.shape
    rows = builder.reshape(steps, (times(count, batch), inputs))
    projected = builder.matmul(rows, builder.transpose(layer.of_inputs, (1, 0)))
    for bias in (layer.input_bias, None if cell.adds_bias else layer.state_bias):
        projected = projected if bias is None else builder.map("add", projected, bias)
    projected = builder.reshape(projected, (count, batch, projected.shape[-1]))
    own_bias = layer.state_bias if cell.adds_bias else None
    way = Way(projected, multiply, own_bias, (), (), layer.states, layer.is_reverse)
    hidden, last = walked(builder, way, cell.gates, None, partial(cell.step, builder))
    return stacked(builder, hidden), last
