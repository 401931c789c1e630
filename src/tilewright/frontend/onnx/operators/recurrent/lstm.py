"""LSTM: a cell with a memory, three gates and peepholes.

Source: F. A. Gers, J. Schmidhuber, "Recurrent Nets that Time and Count" (IJCNN 2000), section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.recurrent.layer import Cell, Direction, RecurrentLayer, State


@dataclass(frozen=True, slots=True, kw_only=True)
class LSTM(RecurrentLayer):
    """C = f C + i c, H = o h(C) with gates i, o, f and candidate c; results are H of all steps, the last H and the last C."""

    input_forget: int = 0

    gates: ClassVar[int] = 4
    default_activations: ClassVar[tuple[str, ...]] = ("Sigmoid", "Tanh", "Tanh")

    def reference(
        self,
        x: Any,
        w: Any,
        r: Any,
        b: Any = None,
        sequence_lens: Any = None,
        initial_h: Any = None,
        initial_c: Any = None,
        p: Any = None,
    ) -> Any:
        return self.run(x, w, r, b, sequence_lens, (initial_h, initial_c), p)

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
