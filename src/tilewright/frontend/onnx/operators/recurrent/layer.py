"""Recurrent layers: parameters of each direction, and the walk along a sequence forwards, backwards or both ways.

X has shape [steps, batch, inputs]; with `layout` 1 the batch comes first, in results and first states, too. Formulas of
the cells: the ONNX operator schemas.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.operators.recurrent.activations import Function, activation_functions

State: TypeAlias = tuple[Any, ...]
Cell: TypeAlias = Callable[[Any, State], State]
"""The next state from the projected input of a step and the state."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Parameters of one direction: input weights, recurrent weights, their biases, peepholes, and first states."""

    inputs: Any
    recurrent: Any
    input_bias: Any
    recurrent_bias: Any
    peepholes: Any
    functions: tuple[Function, ...]
    states: State
    is_reverse: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentLayer(ABC):
    """Attributes that all recurrent layers have, and the walk along their sequences."""

    activation_alpha: Sequence[float] = ()
    activation_beta: Sequence[float] = ()
    activations: Sequence[str] = ()
    clip: float | None = None
    direction: str = "forward"
    hidden_size: int = 0
    layout: int = 0

    gates: ClassVar[int]
    default_activations: ClassVar[tuple[str, ...]]

    def reference(self, x: Any, w: Any, r: Any, b: Any = None, sequence_lens: Any = None, initial_h: Any = None) -> Any:
        return self.run(x, w, r, b, sequence_lens, (initial_h,))

    @abstractmethod
    def cell(self, way: Direction) -> Cell:
        """The step of the layer with the parameters of a direction."""

    def clipped(self, x: Any) -> Any:
        """x between -clip and clip, or as it is."""
        return x if self.clip is None else np.clip(x, -self.clip, self.clip)

    def run(self, x: Any, w: Any, r: Any, b: Any, lengths: Any, first: State, p: Any = None) -> tuple[Any, ...]:
        """The hidden states of all steps [steps, directions, batch, hidden], then the last states.

        Behind the end of a sequence hidden states are 0, and no state changes. Raises `ShapeError` and `UnsupportedOperation`.
        """
        steps = np.swapaxes(x, 0, 1) if self.layout and np.ndim(x) > 1 else x
        ways = self._directions(x, w, r, b, p, first)
        lengths = np.full(steps.shape[1], len(steps)) if lengths is None else np.asarray(lengths)
        if lengths.shape != (steps.shape[1],):
            message = f"sequence_lens of shape {lengths.shape} for {steps.shape[1]} sequences"
            raise ShapeError(message, where=type(self).__name__)
        walked = [_walk(steps, lengths, way, self.cell(way)) for way in ways]
        hidden = np.stack([states_of_steps for states_of_steps, _ in walked], axis=1)
        last = [np.stack(states) for states in zip(*(states for _, states in walked), strict=True)]
        results = [hidden, *last]
        if self.layout:
            results = [hidden.transpose(2, 0, 1, 3), *(np.swapaxes(state, 0, 1) for state in last)]
        return tuple(result.astype(x.dtype, copy=False) for result in results)

    def _directions(self, x: Any, w: Any, r: Any, b: Any, p: Any, first: State) -> list[Direction]:
        """The parameters of each direction, in float32 or wider; missing ones are 0."""
        if self.direction not in ("forward", "reverse", "bidirectional"):
            raise UnsupportedOperation(f"direction {self.direction!r}", hint="choose forward, reverse or bidirectional")
        count, gates = 2 if self.direction == "bidirectional" else 1, self.gates
        functions = activation_functions(
            self.activations, self.activation_alpha, self.activation_beta, self.default_activations, count
        )
        wide, hidden = np.result_type(x.dtype, np.float32), np.shape(r)[-1] if np.ndim(r) == 3 else 0
        inputs, recurrent, biases, peepholes, *states = (
            np.zeros(shape, wide) if array is None else np.asarray(array, wide)
            for array, shape in self._checked(x, w, r, b, p, first, count, hidden)
        )
        states = [np.swapaxes(state, 0, 1) if self.layout else state for state in states]
        return [
            Direction(
                inputs[number],
                recurrent[number],
                biases[number, : gates * hidden],
                biases[number, gates * hidden :],
                peepholes[number],
                functions[number],
                tuple(state[number] for state in states),
                self.direction == "reverse" or number == 1,
            )
            for number in range(count)
        ]

    def _checked(
        self, x: Any, w: Any, r: Any, b: Any, p: Any, first: State, count: int, hidden: int
    ) -> list[tuple[Any, tuple[int, ...]]]:
        """The parameters (W, R, B, P, first states) with their shapes. Raises `ShapeError` for an operand of another shape."""
        batch = np.shape(x)[0 if self.layout else 1] if np.ndim(x) == 3 else 0
        inputs = np.shape(w)[-1] if np.ndim(w) else 0
        wanted: list[tuple[str, Any, tuple[int, ...]]] = [
            ("X", x, (*np.shape(x)[:2], inputs) if np.ndim(w) else ()),
            ("W", w, (count, self.gates * hidden, inputs)),
            ("R", r, (count, self.gates * hidden, hidden)),
            ("B", b, (count, 2 * self.gates * hidden)),
            ("P", p, (count, 3 * hidden)),
            *(("an initial state", state, (batch, count, hidden) if self.layout else (count, batch, hidden)) for state in first),
        ]
        for name, array, shape in wanted:
            if array is not None and (np.shape(array) != shape or not shape):
                raise ShapeError(f"{name} of shape {np.shape(array)} instead of {shape}", where=type(self).__name__)
        return [(array, shape) for _, array, shape in wanted[1:]]


def _walk(steps: Any, lengths: Any, way: Direction, cell: Cell) -> tuple[Any, State]:
    """The hidden states of all steps, and the last states."""
    states = way.states
    hidden = np.zeros((len(steps), *states[0].shape), states[0].dtype)
    for number in reversed(range(len(steps))) if way.is_reverse else range(len(steps)):
        new = cell(steps[number] @ way.inputs.T + way.input_bias, states)
        is_inside = (number < lengths)[:, None]
        states = tuple(np.where(is_inside, after, before) for after, before in zip(new, states, strict=True))
        hidden[number] = np.where(is_inside, states[0], 0)
    return hidden, states
