"""GRU: a cell with an update gate and a reset gate.

Source: K. Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", arXiv:1406.1078 (2014), section 2.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.recurrent.layer import Cell, Direction, RecurrentLayer, State


@dataclass(frozen=True, slots=True, kw_only=True)
class GRU(RecurrentLayer):
    """H = (1 - z) h + z H with update gate z, reset gate r and candidate h."""

    linear_before_reset: int = 0

    gates: ClassVar[int] = 3
    default_activations: ClassVar[tuple[str, ...]] = ("Sigmoid", "Tanh")

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


define("GRU", GRU, since=7)
