"""RNN: H = f(X W^T + H R^T + bias)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.recurrent.layer import Cell, Direction, RecurrentLayer, State
from tilewright.frontend.onnx.operators.recurrent.unrolled import Operands, States, Way
from tilewright.graph.builders.builder import Builder
from tilewright.graph.scalar import apply
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


define("RNN", RNN, since=7)
