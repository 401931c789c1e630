"""RNN, GRU and LSTM: the cells of recurrent layers.

RNN: H = f(X W^T + H R^T + bias). GRU, with an update gate and a reset gate: K. Cho et al., "Learning Phrase Representations using
RNN Encoder-Decoder", arXiv:1406.1078 (2014), section 2.3. LSTM, with a memory, three gates and peepholes: F. A. Gers,
J. Schmidhuber, "Recurrent Nets that Time and Count" (IJCNN 2000), section 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.recurrent.layer import Cell, Direction, RecurrentLayer, State
from tilewright.frontend.onnx.operators.recurrent.unrolled import Operands, States, Way, parts, total
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Scalar, apply
from tilewright.graph.types import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class RNN(RecurrentLayer):
    """The simple cell: a function of the projected input and the projected state."""

    gates: ClassVar[int] = 1
    default_activations: ClassVar[tuple[str, ...]] = ("Tanh",)

    def lowered_step(self, builder: Builder, way: Way, projected: Sequence[Tensor], states: States) -> States:
        (f,), operands = way.functions, Operands()
        total = apply("add", operands(projected[0]), operands(way.multiply(states[0], 0, 1)))
        return (operands.computed(builder, f(self.lowered_clipped(total)), "hidden"),)

    def cell(self, way: Direction) -> Cell:
        (f,) = way.functions

        def step(projected: Any, states: State) -> State:
            return (f(self.clipped(projected + states[0] @ way.recurrent.T + way.recurrent_bias)),)

        return step


@dataclass(frozen=True, slots=True, kw_only=True)
class GRU(RecurrentLayer):
    """H = (1 - z) h + z H with update gate z, reset gate r and candidate h."""

    linear_before_reset: int = 0

    gates: ClassVar[int] = 3
    adds_biases_apart: ClassVar[bool] = True
    default_activations: ClassVar[tuple[str, ...]] = ("Sigmoid", "Tanh")

    def lowered_step(self, builder: Builder, way: Way, projected: Sequence[Tensor], states: States) -> States:
        (hidden,), (f, g) = states, way.functions
        biases = [] if way.bias is None else parts(builder, way.bias, 3)
        count = 3 if self.linear_before_reset else 2
        products = parts(builder, way.multiply(hidden, 0, count), count)

        def gate(operands: Operands, number: int) -> Scalar:
            terms = [operands(each[number]) for each in (projected, products, biases) if each]
            return f(self.lowered_clipped(total(terms)))

        operands = Operands()
        if self.linear_before_reset:
            inner, reset = operands(products[2]), gate(operands, 1)
        else:
            of_reset = Operands()
            body = apply("multiply", gate(of_reset, 1), of_reset(hidden))
            inner = operands(way.multiply(of_reset.computed(builder, body, "reset"), 2, 3))
        inner = apply("add", inner, operands(biases[2])) if biases else inner
        inner = apply("multiply", reset, inner) if self.linear_before_reset else inner
        update, candidate = gate(operands, 0), g(self.lowered_clipped(apply("add", operands(projected[2]), inner)))
        fresh = apply("multiply", apply("subtract", Literal(1.0), update), candidate)
        return (operands.computed(builder, apply("add", fresh, apply("multiply", update, operands(hidden))), "hidden"),)

    def cell(self, way: Direction) -> Cell:
        weights, biases = np.split(way.recurrent, 3), np.split(way.recurrent_bias, 3)
        f, g = way.functions

        def step(projected: Any, states: State) -> State:
            (h,) = states
            xz, xr, xh = np.split(projected, 3, axis=-1)
            z = f(self.clipped(xz + h @ weights[0].T + biases[0]))
            reset = f(self.clipped(xr + h @ weights[1].T + biases[1]))
            operand = h if self.linear_before_reset else reset * h
            inner = operand @ weights[2].T + biases[2]
            inner = reset * inner if self.linear_before_reset else inner
            return ((1 - z) * g(self.clipped(xh + inner)) + z * h,)

        return step


@dataclass(frozen=True, slots=True, kw_only=True)
class LSTM(RecurrentLayer):
    """C = f C + i c, H = o h(C) with gates i, o, f and candidate c; results are H of all steps, the last H and the last C."""

    input_forget: int = 0

    gates: ClassVar[int] = 4
    state_count: ClassVar[int] = 2
    default_activations: ClassVar[tuple[str, ...]] = ("Sigmoid", "Tanh", "Tanh")

    def lowered_step(self, builder: Builder, way: Way, projected: Sequence[Tensor], states: States) -> States:
        hidden, memory = states
        (f, g, h), products = way.functions, parts(builder, way.multiply(hidden, 0, 4), 4)

        def gate(operands: Operands, number: int, remembered: Tensor | None) -> Scalar:
            terms = [operands(projected[number]), operands(products[number])]
            if remembered is not None and way.peepholes:
                terms.append(apply("multiply", operands(way.peepholes[number]), operands(remembered)))
            return self.lowered_clipped(total(terms))

        of_memory, of_hidden = Operands(), Operands()
        enter = f(gate(of_memory, 0, memory))
        keep = apply("subtract", Literal(1.0), enter) if self.input_forget else f(gate(of_memory, 2, memory))
        entering = apply("multiply", enter, g(gate(of_memory, 3, None)))
        kept = apply("multiply", keep, of_memory(memory))
        new = of_memory.computed(builder, apply("add", kept, entering), "memory")
        shown = apply("multiply", f(gate(of_hidden, 1, new)), h(of_hidden(new)))
        return of_hidden.computed(builder, shown, "hidden"), new

    def cell(self, way: Direction) -> Cell:
        peep_i, peep_o, peep_f = np.split(way.peepholes, 3)
        f, g, h = way.functions

        def step(projected: Any, states: State) -> State:
            hidden, memory = states
            gates = projected + hidden @ way.recurrent.T + way.recurrent_bias
            at_i, at_o, at_f, at_c = np.split(gates, 4, axis=-1)
            enter = f(self.clipped(at_i + peep_i * memory))
            keep = 1 - enter if self.input_forget else f(self.clipped(at_f + peep_f * memory))
            memory = keep * memory + enter * g(self.clipped(at_c))
            return f(self.clipped(at_o + peep_o * memory)) * h(memory), memory

        return step


define("RNN", RNN, since=7)
define("GRU", GRU, since=7)
define("LSTM", LSTM, since=7)
