"""LSTM: a cell with a memory, three gates and peepholes.

Source: F. A. Gers, J. Schmidhuber, "Recurrent Nets that Time and Count" (IJCNN 2000), section 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.recurrent.layer import Cell, Direction, RecurrentLayer, State
from tilewright.frontend.onnx.operators.recurrent.unrolled import (
    Operands,
    States,
    Way,
    parts,
    total,
)
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import Literal, Scalar, apply
from tilewright.graph.types import Tensor


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


define("LSTM", LSTM, since=7)
