"""Recurrent layers as graphs: a few operators for every step, behind one product of all inputs with their weights.

Graphs have no loop over time, so that sequences of a known, moderate length are written out. Products of all steps are one
kernel; the maps behind them differ in where they read projected inputs (docs/decisions/onnx-models.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import concatenated
from tilewright.graph.builders.elementwise import broadcast, computed
from tilewright.graph.expressions.extents import times
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.types import Extent, Tensor
from tilewright.records import record

MOST_STEPS = 64
"""Steps that are written out: planning and compiling take some time for each."""

Functions: TypeAlias = tuple[Callable[[Scalar], Scalar], ...]
States: TypeAlias = tuple[Any, ...]


class Arrays:
    """NumPy in the place of a builder, for the steps of a layer."""

    def body(self, body: Scalar, *operands: Any, kind: str) -> Any:
        return computed(body, operands)

    def slice(self, x: Any, key: tuple[Any, ...]) -> Any:
        return x[key]


NUMPY = Arrays()


Product: TypeAlias = Callable[[Any, int, int], Any]
"""Of a state (batch, hidden) with the recurrent weights of some gates (first, last): (batch, gates * hidden)."""


@record(kw_only=True)
class Parameters:
    """What a layer has besides its weights, as ONNX gives it; `states` are the first ones."""

    bias: Tensor | None
    states: tuple[Tensor | None, ...]
    lengths: Tensor | None
    peepholes: Tensor | None = None


@record
class Products:
    """Of a direction: all inputs times their weights (steps, batch, gates * hidden), and the product with recurrent weights."""

    of_inputs: Tensor
    of_state: Product
    hidden: int


ProductsOf: TypeAlias = Callable[[Tensor, int], Products]
"""Of the steps (steps, batch, inputs) and the number of a direction."""


@record
class Way:
    """A direction: its inputs, products with its recurrent weights, and what else its steps read, as tensors or as arrays.

    `projected` (steps, batch, gates * hidden) are the inputs times their weights, with biases; `multiply` gives the product of a
    state (batch, hidden) with the columns of some gates (first, last), without one. `bias` (gates * hidden) is the recurrent one
    where it is not in `projected`.
    """

    projected: Any
    multiply: Product
    bias: Any
    peepholes: tuple[Any, ...]
    functions: Functions
    states: States
    is_reverse: bool


Step: TypeAlias = Callable[[Way, Sequence[Any], States], States]
"""The next states from the projected inputs of a step, a tensor (batch, hidden) for every gate, and the states."""


class Operands:
    """The tensors of an expression, in the order in which they are met."""

    def __init__(self) -> None:
        self.tensors: list[Any] = []

    def __call__(self, tensor: Any) -> Scalar:
        """The element of a tensor or an array."""
        if not any(known is tensor for known in self.tensors):
            self.tensors.append(tensor)
        return Load(next(number for number, known in enumerate(self.tensors) if known is tensor))

    def computed(self, builder: Builder | Arrays, body: Scalar, kind: str) -> Any:
        """An expression of them at every point."""
        return builder.body(body, *self.tensors, kind=kind)


def check_steps(steps: Tensor, where: str) -> None:
    """Raise `UnsupportedOperation` for other types than float32, and for steps that are too many or counted at run time."""
    if steps.dtype != "float32":
        raise UnsupportedOperation(f"{where} of {steps.dtype} has no lowering")
    count = steps.shape[0]
    if not isinstance(count, int) or not 1 <= count <= MOST_STEPS:
        why = f"compiled graphs have no loop over time: up to {MOST_STEPS} steps are written out"
        raise UnsupportedOperation(f"{where} of {count} steps has no lowering", why=why)


def parts(builder: Builder | Arrays, x: Any, count: int) -> list[Any]:
    """The last dimension in so many equal parts."""
    extent = x.shape[-1]
    assert isinstance(extent, int)
    size = extent // count
    return [builder.slice(x, (..., slice(number * size, (number + 1) * size))) for number in range(count)]


def products_of_floats(builder: Builder, w: Tensor, r: Tensor, steps: Tensor, number: int) -> Products:
    """The products of a direction with W [directions, gates * hidden, inputs] and R [directions, gates * hidden, hidden]."""
    hidden = r.shape[-1]
    assert isinstance(hidden, int)

    def of_state(state: Tensor, first: int, last: int) -> Tensor:
        weights = builder.slice(r, (number, slice(first * hidden, last * hidden)))
        return builder.matmul(state, builder.transpose(weights, (1, 0)))

    count, batch, inputs = steps.shape
    rows = builder.reshape(steps, (times(count, batch), inputs))
    of_inputs = builder.matmul(rows, builder.transpose(builder.slice(w, (number,)), (1, 0)))
    return Products(builder.reshape(of_inputs, (count, batch, of_inputs.shape[-1])), of_state, hidden)


def zeros_of(builder: Builder, shape: tuple[Extent, int]) -> Tensor:
    zeros = builder.constant(np.zeros((1, shape[1]), np.float32), "zeros")
    return zeros if shape[0] == 1 else builder.record(broadcast, zeros, shape, kind="broadcast")


def unrolled(builder: Builder, ways: Sequence[Way], gates: int, lengths: Tensor | None, step: Step) -> tuple[Tensor, ...]:
    """The hidden states of all steps (steps, directions, batch, hidden), and the last states (directions, batch, hidden).

    Behind the end of a sequence, if `lengths` (batch,) are given, hidden states are 0, and no state changes.
    """
    counts = None if lengths is None else builder.reshape(builder.cast(lengths, "float32"), (lengths.shape[0], 1))
    of_ways = [walked(builder, way, gates, counts, step) for way in ways]
    hidden = [states for together in zip(*(states for states, _ in of_ways), strict=True) for states in together]
    (steps, *_), state = ways[0].projected.shape, ways[0].states[0].shape
    lasts = [stacked(builder, list(states)) for states in zip(*(last for _, last in of_ways), strict=True)]
    return builder.reshape(stacked(builder, hidden), (steps, len(ways), *state)), *lasts


def walked(builder: Builder | Arrays, way: Way, gates: int, counts: Any, step: Step) -> tuple[list[Any], States]:
    """The hidden states of all steps in the order of time, and the last states."""
    steps, states, hidden = way.projected.shape[0], way.states, dict[int, Any]()
    assert isinstance(steps, int)
    for number in reversed(range(steps)) if way.is_reverse else range(steps):
        projected = parts(builder, builder.slice(way.projected, (number,)), gates)
        new = step(way, projected, states)
        if counts is None:
            states, hidden[number] = new, new[0]
            continue
        kept = [_where_inside(builder, number, counts, one, before) for one, before in zip(new, states, strict=True)]
        states, hidden[number] = tuple(kept), _where_inside(builder, number, counts, new[0], 0.0)
    return [hidden[number] for number in range(steps)], states


def _where_inside(builder: Builder | Arrays, number: int, counts: Any, inside: Any, outside: Any) -> Any:
    is_inside = apply("less", Literal(float(number)), Load(0))
    return builder.body(apply("where", is_inside, Load(1), Load(2)), counts, inside, outside, kind="within")


def stacked(builder: Builder, tensors: list[Tensor]) -> Tensor:
    """Tensors behind each other along a new first dimension."""
    rows = [builder.reshape(tensor, (1, *tensor.shape)) for tensor in tensors]
    return concatenated(builder, rows, 0)
