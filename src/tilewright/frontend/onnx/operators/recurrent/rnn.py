"""RNN: H = f(X W^T + H R^T + bias)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.recurrent.layer import Cell, Direction, RecurrentLayer, State


@dataclass(frozen=True, slots=True, kw_only=True)
class RNN(RecurrentLayer):
    """The simple cell: a function of the projected input and the projected state."""

    gates: ClassVar[int] = 1
    default_activations: ClassVar[tuple[str, ...]] = ("Tanh",)

    def cell(self, way: Direction) -> Cell:
        (f,) = way.functions

        def step(projected: Any, states: State) -> State:
            return (f(self.clipped(projected + states[0] @ way.recurrent.T + way.recurrent_bias)),)

        return step


define("RNN", RNN, since=7)
