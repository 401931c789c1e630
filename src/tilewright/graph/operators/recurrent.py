"""RNN, LSTM and GRU: a cell applied along a sequence, forwards, backwards or both ways.

The formulas are those of ONNX; LSTM with peepholes: F. A. Gers, J. Schmidhuber, "Recurrent Nets that Time and Count" (IJCNN
2000), section 2; GRU: K. Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", arXiv:1406.1078 (2014), section
2.3. X has shape [steps, batch, inputs]; with `layout` 1 the batch comes first, in results and first states, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.special_functions import sigmoid

Function = Callable[[Any], Any]
State = tuple[Any, ...]
Cell = Callable[[Any, State], State]

_FUNCTIONS: dict[str, tuple[Callable[[Any, float, float], Any], float | None, float | None]] = {
    "relu": (lambda x, a, b: np.maximum(x, 0), None, None),
    "tanh": (lambda x, a, b: np.tanh(x), None, None),
    "sigmoid": (lambda x, a, b: sigmoid(x), None, None),
    "softsign": (lambda x, a, b: x / (1 + np.abs(x)), None, None),
    "softplus": (lambda x, a, b: np.logaddexp(x, 0), None, None),
    "affine": (lambda x, a, b: a * x + b, 1.0, 0.0),
    "leakyrelu": (lambda x, a, b: np.where(x < 0, a * x, x), 0.01, None),
    "thresholdedrelu": (lambda x, a, b: np.where(x < a, 0, x), 1.0, None),
    "scaledtanh": (lambda x, a, b: a * np.tanh(b * x), 1.0, 1.0),
    "hardsigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5),
    "elu": (lambda x, a, b: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x), 1.0, None),
}
"""By name in lower case: the function of x, alpha and beta, and the two's defaults (None: it has none)."""


@dataclass(frozen=True, slots=True)
class _Way:
    """One direction's parameters: input weights, recurrent weights, their biases, peepholes, and first states."""

    inputs: Any
    recurrent: Any
    input_bias: Any
    recurrent_bias: Any
    peepholes: Any
    functions: tuple[Function, ...]
    states: State
    is_reverse: bool


def rnn(
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    sequence_lens: Any = None,
    initial_h: Any = None,
    *,
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    activations: Sequence[str] = (),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int = 0,
    layout: int = 0,
) -> Any:
    """H = f(X W^T + H R^T + bias); results are H of all steps [steps, directions, batch, hidden] and the last one."""

    def cell(way: _Way) -> Cell:
        def step(projected: Any, states: State) -> State:
            return (way.functions[0](_clip(projected + states[0] @ way.recurrent.T + way.recurrent_bias, clip)),)

        return step

    functions = _functions(activations, activation_alpha, activation_beta, ("Tanh",), direction)
    ways = _ways("RNN", x, w, r, b, None, (initial_h,), functions, direction, layout, gates=1)
    return _run("RNN", x, sequence_lens, ways, cell, layout)


def gru(
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    sequence_lens: Any = None,
    initial_h: Any = None,
    *,
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    activations: Sequence[str] = (),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int = 0,
    layout: int = 0,
    linear_before_reset: int = 0,
) -> Any:
    """H = (1 - z) h + z H with update gate z, reset gate r and candidate h; results as of `rnn`."""

    def cell(way: _Way) -> Cell:
        weights, biases = np.split(way.recurrent, 3), np.split(way.recurrent_bias, 3)
        f, g = way.functions

        def step(projected: Any, states: State) -> State:
            (h,) = states
            xz, xr, xh = np.split(projected, 3, axis=-1)
            z = f(_clip(xz + h @ weights[0].T + biases[0], clip))
            reset = f(_clip(xr + h @ weights[1].T + biases[1], clip))
            inner = reset * (h @ weights[2].T + biases[2]) if linear_before_reset else (reset * h) @ weights[2].T + biases[2]
            return ((1 - z) * g(_clip(xh + inner, clip)) + z * h,)

        return step

    functions = _functions(activations, activation_alpha, activation_beta, ("Sigmoid", "Tanh"), direction)
    ways = _ways("GRU", x, w, r, b, None, (initial_h,), functions, direction, layout, gates=3)
    return _run("GRU", x, sequence_lens, ways, cell, layout)


def lstm(
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    sequence_lens: Any = None,
    initial_h: Any = None,
    initial_c: Any = None,
    p: Any = None,
    *,
    activation_alpha: Sequence[float] = (),
    activation_beta: Sequence[float] = (),
    activations: Sequence[str] = (),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int = 0,
    input_forget: int = 0,
    layout: int = 0,
) -> Any:
    """C = f C + i c, H = o h(C) with gates i, o, f and candidate c; results are H of all steps, the last H and the last C."""

    def cell(way: _Way) -> Cell:
        peep_i, peep_o, peep_f = np.split(way.peepholes, 3)
        f, g, h = way.functions

        def step(projected: Any, states: State) -> State:
            hidden, memory = states
            gates = projected + hidden @ way.recurrent.T + way.recurrent_bias
            at_i, at_o, at_f, at_c = np.split(gates, 4, axis=-1)
            enter = f(_clip(at_i + peep_i * memory, clip))
            keep = 1 - enter if input_forget else f(_clip(at_f + peep_f * memory, clip))
            memory = keep * memory + enter * g(_clip(at_c, clip))
            return f(_clip(at_o + peep_o * memory, clip)) * h(memory), memory

        return step

    functions = _functions(activations, activation_alpha, activation_beta, ("Sigmoid", "Tanh", "Tanh"), direction)
    ways = _ways("LSTM", x, w, r, b, p, (initial_h, initial_c), functions, direction, layout, gates=4)
    return _run("LSTM", x, sequence_lens, ways, cell, layout)


def _run(kind: str, x: Any, lengths: Any, ways: Sequence[_Way], cell: Callable[[_Way], Cell], layout: int) -> Any:
    """The hidden states of all steps, then the last states; what is behind a sequence's end is 0 and changes no state."""
    steps = np.swapaxes(x, 0, 1) if layout else x
    lengths = np.full(steps.shape[1], len(steps)) if lengths is None else np.asarray(lengths)
    if lengths.shape != (steps.shape[1],):
        raise ShapeError(f"sequence_lens of shape {lengths.shape} for {steps.shape[1]} sequences", where=kind)
    ran = [_walk(steps, lengths, way, cell(way)) for way in ways]
    hidden = np.stack([one for one, _ in ran], axis=1)
    last = [np.stack(states) for states in zip(*(states for _, states in ran), strict=True)]
    results = [hidden.transpose(2, 0, 1, 3), *(np.swapaxes(one, 0, 1) for one in last)] if layout else [hidden, *last]
    return tuple(result.astype(x.dtype, copy=False) for result in results)


def _walk(steps: Any, lengths: Any, way: _Way, step: Cell) -> tuple[Any, State]:
    states = way.states
    hidden = np.zeros((len(steps), *states[0].shape), states[0].dtype)
    for number in reversed(range(len(steps))) if way.is_reverse else range(len(steps)):
        new = step(steps[number] @ way.inputs.T + way.input_bias, states)
        is_inside = (number < lengths)[:, None]
        states = tuple(np.where(is_inside, after, before) for after, before in zip(new, states, strict=True))
        hidden[number] = np.where(is_inside, states[0], 0)
    return hidden, states


def _ways(
    kind: str,
    x: Any,
    w: Any,
    r: Any,
    b: Any,
    p: Any,
    first: tuple[Any, ...],
    functions: Sequence[tuple[Function, ...]],
    direction: str,
    layout: int,
    *,
    gates: int,
) -> list[_Way]:
    count, hidden = len(functions), np.shape(r)[-1] if np.ndim(r) == 3 else 0
    batch = np.shape(x)[0 if layout else 1] if np.ndim(x) == 3 else 0
    wanted: tuple[tuple[str, Any, tuple[int, ...]], ...] = (
        ("X", x, (*np.shape(x)[:2], np.shape(w)[-1]) if np.ndim(w) else ()),
        ("W", w, (count, gates * hidden, np.shape(w)[-1] if np.ndim(w) else 0)),
        ("R", r, (count, gates * hidden, hidden)),
        ("B", b, (count, 2 * gates * hidden)),
        ("P", p, (count, 3 * hidden)),
        *(("an initial state", one, (batch, count, hidden) if layout else (count, batch, hidden)) for one in first),
    )
    for name, array, shape in wanted:
        if array is not None and (np.shape(array) != shape or not shape):
            raise ShapeError(f"{name} of shape {np.shape(array)} instead of {shape}", where=kind)
    wide = np.result_type(x.dtype, np.float32)
    arrays = [np.zeros(shape, wide) if array is None else np.asarray(array, wide) for _, array, shape in wanted[1:]]
    inputs, recurrent, biases, peepholes, *states = arrays
    states = [np.swapaxes(state, 0, 1) if layout else state for state in states]
    return [
        _Way(
            inputs[number],
            recurrent[number],
            biases[number, : gates * hidden],
            biases[number, gates * hidden :],
            peepholes[number],
            functions[number],
            tuple(state[number] for state in states),
            direction == "reverse" or number == 1,
        )
        for number in range(count)
    ]


def _functions(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float], default: tuple[str, ...], direction: str
) -> list[tuple[Function, ...]]:
    """The functions of every direction; those that have an alpha or a beta take the next given one, or their default."""
    if direction not in ("forward", "reverse", "bidirectional"):
        raise UnsupportedOperation(f"direction {direction!r}", hint="choose forward, reverse or bidirectional")
    count = 2 if direction == "bidirectional" else 1
    chosen = [name.lower() for name in names or default * count][: len(default) * count]
    unknown = [name for name in chosen if name not in _FUNCTIONS]
    if unknown or len(chosen) != len(default) * count:
        why = f"{len(default) * count} of {', '.join(_FUNCTIONS)} are wanted"
        raise UnsupportedOperation(f"activations {list(names)}", why=why)
    left = iter(alphas), iter(betas)
    functions = [_function(name, *left) for name in chosen]
    return [tuple(functions[start : start + len(default)]) for start in range(0, len(functions), len(default))]


def _function(name: str, alphas: Iterator[float], betas: Iterator[float]) -> Function:
    function, alpha, beta = _FUNCTIONS[name]
    alpha = None if alpha is None else next(alphas, alpha)
    beta = None if beta is None else next(betas, beta)
    return lambda x: function(x, alpha or 0.0, beta or 0.0)


def _clip(x: Any, bound: float | None) -> Any:
    return x if bound is None else np.clip(x, -bound, bound)


define("RNN", rnn, since=7)
define("GRU", gru, since=7)
define("LSTM", lstm, since=7)
