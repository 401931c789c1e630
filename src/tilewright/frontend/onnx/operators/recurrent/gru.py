"""GRU: a cell with an update gate and a reset gate.

Source: K. Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", arXiv:1406.1078 (2014), section 2.3.
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


define("GRU", GRU, since=7)
