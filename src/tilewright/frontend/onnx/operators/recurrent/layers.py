"""Recurrent layers: parameters of each direction, the walk along a sequence forwards, backwards or both ways, and the cells.

X has shape [steps, batch, inputs]; with `layout` 1 the batch comes first, in results and first states, too. Formulas of
the cells: the ONNX operator schemas.

RNN: H = f(X W^T + H R^T + bias). GRU, with an update gate and a reset gate: K. Cho et al., "Learning Phrase Representations using
RNN Encoder-Decoder", arXiv:1406.1078 (2014), section 2.3. LSTM, with a memory, three gates and peepholes: F. A. Gers,
J. Schmidhuber, "Recurrent Nets that Time and Count" (IJCNN 2000), section 2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any, ClassVar

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import onnx_operator
from tilewright.frontend.onnx.operators.activation.activations import elu, hard_sigmoid, leaky_relu, relu, softplus, softsign
from tilewright.frontend.onnx.operators.operands import completed, total
from tilewright.graph.builders import recurrent as unrolled
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.recurrent import Arrays, Operands, Parameters, States, Way, parts, zeros_of
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply, times, with_loads
from tilewright.graph.types import Tensor
from tilewright.records import record

_X = Load(0)
_FUNCTIONS: dict[str, Callable[..., Scalar]] = {
    "relu": relu,
    "tanh": lambda: apply("tanh", _X),
    "sigmoid": lambda: apply("sigmoid", _X),
    "softsign": softsign,
    "softplus": softplus,
    "affine": lambda alpha=1.0, beta=0.0: apply("add", times(_X, alpha), Literal(beta)),
    "leakyrelu": leaky_relu,
    "thresholdedrelu": lambda alpha=1.0: apply("where", apply("less", _X, Literal(alpha)), Literal(0.0), _X),
    "scaledtanh": lambda alpha=1.0, beta=1.0: times(apply("tanh", times(_X, beta)), alpha),
    "hardsigmoid": hard_sigmoid,
    "elu": elu,
}
"""By name in lower case: the expression of x for an alpha and a beta, as far as it has these, and their defaults."""


@record(kw_only=True)
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
    state_count: ClassVar[int] = 1
    default_activations: ClassVar[tuple[str, ...]]
    adds_biases_apart: ClassVar[bool] = False
    """Whether steps add the recurrent bias themselves."""

    def reference(self, *operands: Any) -> Any:
        """The hidden states of all steps [steps, directions, batch, hidden], then the last states.

        Behind the end of a sequence hidden states are 0, and no state changes. Raises `ShapeError` and `UnsupportedOperation`.
        """
        x, w, r, b, lengths, first, p = self._operands(operands)
        steps = np.swapaxes(x, 0, 1) if self.layout and np.ndim(x) > 1 else x
        ways = self._array_ways(x, steps, w, r, b, p, first)
        _check_lengths(lengths, steps, type(self).__name__)
        counts = None if lengths is None else np.reshape(lengths, (-1, 1))
        walked = [unrolled.walked(unrolled.NUMPY, way, self.gates, counts, partial(self.step, unrolled.NUMPY)) for way in ways]
        hidden = np.stack([np.reshape(of_steps, (len(steps), *last[0].shape)) for of_steps, last in walked], axis=1)
        results = [hidden, *(np.stack(states) for states in zip(*(states for _, states in walked), strict=True))]
        if self.layout:
            results = [hidden.transpose(2, 0, 1, 3), *(np.swapaxes(state, 0, 1) for state in results[1:])]
        return tuple(result.astype(x.dtype, copy=False) for result in results)

    def lower(self, builder: Builder, *operands: Any) -> tuple[Tensor, ...]:
        """A few operators for every step."""
        x, w, r, b, lengths, first, p = self._operands(operands)
        parameters = Parameters(bias=b, states=first, lengths=lengths, peepholes=p)
        return self.lowered(builder, x, w, r, parameters, partial(unrolled.products_of_floats, builder, w, r))

    def _operands(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        """X, W, R, B, the lengths of sequences, the first states, and peepholes; None for what is left out."""
        *others, hidden, memory, p = completed(operands, 8)
        return *others, (hidden, memory)[: self.state_count], p

    @abstractmethod
    def step(self, builder: Builder | Arrays, way: Way, projected: Sequence[Any], states: States) -> States:
        """The next states from the projected inputs of every gate, and the states: operators of a graph, or arrays."""

    def multiplied(self, state: Any) -> Any:
        """An array of states as it is multiplied by the recurrent weights."""
        return state

    def clipped(self, x: Scalar) -> Scalar:
        """An expression between -clip and clip, or as it is."""
        return x if self.clip is None else apply("minimum", apply("maximum", x, Literal(-self.clip)), Literal(self.clip))

    def _array_ways(self, x: Any, steps: Any, w: Any, r: Any, b: Any, p: Any, first: Any) -> list[Way]:
        """The directions with arrays in float32 or wider; missing ones are 0."""
        count, wide = self._count(), np.result_type(x.dtype, np.float32)
        functions = self._functions(count)
        inputs, recurrent, biases, peepholes, *states = (
            np.zeros(shape, wide) if array is None else np.asarray(array, wide)
            for array, shape in self._checked(x, w, r, b, p, first, count)
        )
        states = [np.swapaxes(state, 0, 1) if self.layout else state for state in states]
        ways = []
        for number, of_one in enumerate(zip(*states, strict=True)):
            of_inputs, bias = parts(unrolled.NUMPY, biases[number], 2)
            if not self.adds_biases_apart:
                of_inputs, bias = of_inputs + bias, None
            projected, multiply = steps @ inputs[number].T + of_inputs, partial(self._product, recurrent[number])
            peeps = () if p is None else tuple(np.split(peepholes[number], 3))
            ways.append(Way(projected, multiply, bias, peeps, functions[number], of_one, self._is_reverse(number)))
        return ways

    def _product(self, weights: Any, state: Any, first: int, last: int) -> Any:
        hidden = weights.shape[-1]
        return self.multiplied(state) @ weights[first * hidden : last * hidden].T

    def lowered(
        self, builder: Builder, x: Tensor, w: Tensor, r: Tensor, parameters: Parameters, products: unrolled.ProductsOf
    ) -> tuple[Tensor, ...]:
        """What `reference` gives, of float32 and a known, moderate number of steps; raises `UnsupportedOperation` for others.

        `products` are those of a direction with its weights, which `w` and `r` have the shapes of.
        """
        where, count = type(self).__name__, self._count()
        self._checked(x, w, r, parameters.bias, parameters.peepholes, parameters.states, count)
        functions = self._functions(count)
        steps = builder.transpose(x, (1, 0, 2)) if self.layout else x
        unrolled.check_steps(steps, where)
        _check_lengths(parameters.lengths, steps, where)
        ways = [self._way(builder, products(steps, n), parameters, n, functions[n]) for n in range(count)]
        results = unrolled.unrolled(builder, ways, self.gates, parameters.lengths, partial(self.step, builder))
        if not self.layout:
            return results
        return builder.transpose(results[0], (2, 0, 1, 3)), *(builder.transpose(last, (1, 0, 2)) for last in results[1:])

    def _way(
        self, builder: Builder, products: unrolled.Products, parameters: Parameters, number: int, functions: unrolled.Functions
    ) -> Way:
        """A direction with its biases, peepholes and first states: 0 where they are left out."""
        projected, bias = products.of_inputs, None
        if parameters.bias is not None:
            of_inputs, bias = parts(builder, builder.slice(parameters.bias, (number,)), 2)
            if not self.adds_biases_apart:
                of_inputs, bias = builder.map("add", of_inputs, bias), None
            projected = builder.map("add", projected, of_inputs)
        peepholes = parameters.peepholes
        peeps = [] if peepholes is None else parts(builder, builder.slice(peepholes, (number,)), 3)
        shape, place = (projected.shape[1], products.hidden), (slice(None), number) if self.layout else (number,)
        states = [zeros_of(builder, shape) if state is None else builder.slice(state, place) for state in parameters.states]
        return Way(projected, products.of_state, bias, tuple(peeps), functions, tuple(states), self._is_reverse(number))

    def _functions(self, directions: int) -> list[unrolled.Functions]:
        """The activations of each direction, with the next given alpha and beta, if they have such, or their own.

        Raises `UnsupportedOperation` for unknown ones, or too few.
        """
        each, wanted = len(self.default_activations), len(self.default_activations) * directions
        names = [name.lower() for name in self.activations or [*self.default_activations] * directions][:wanted]
        if len(names) != wanted or not _FUNCTIONS.keys() >= {*names}:
            text = f"activations {list(self.activations)}"
            raise UnsupportedOperation(text, why=f"{wanted} of {', '.join(_FUNCTIONS)} are wanted")
        given = {"alpha": iter(self.activation_alpha), "beta": iter(self.activation_beta)}
        own = [signature(_FUNCTIONS[name]).parameters.values() for name in names]
        values = [{one.name: next(given[one.name], one.default) for one in of_one} for of_one in own]
        made = [_applied(_FUNCTIONS[name](**coefficients)) for name, coefficients in zip(names, values, strict=True)]
        return [tuple(made[start : start + each]) for start in range(0, wanted, each)]

    def _is_reverse(self, number: int) -> bool:
        return self.direction == "reverse" or number == 1

    def _count(self) -> int:
        """The number of directions. Raises `UnsupportedOperation` for an unknown one."""
        if self.direction not in ("forward", "reverse", "bidirectional"):
            raise UnsupportedOperation(f"direction {self.direction!r}", hint="choose forward, reverse or bidirectional")
        return 2 if self.direction == "bidirectional" else 1

    def _checked(self, x: Any, w: Any, r: Any, b: Any, p: Any, first: Any, count: int) -> list[tuple[Any, tuple[Any, ...]]]:
        """The parameters (W, R, B, P, first states), arrays or tensors, with their shapes.

        Raises `ShapeError` for an operand of another shape.
        """
        of_x, of_w, of_r = tuple(x.shape), tuple(w.shape), tuple(r.shape)
        hidden = of_r[-1] if len(of_r) == 3 else 0
        batch = of_x[0 if self.layout else 1] if len(of_x) == 3 else 0
        inputs = of_w[-1] if of_w else 0
        wanted: list[tuple[str, Any, tuple[Any, ...]]] = [
            ("X", x, (*of_x[:2], inputs) if of_w else ()),
            ("W", w, (count, self.gates * hidden, inputs)),
            ("R", r, (count, self.gates * hidden, hidden)),
            ("B", b, (count, 2 * self.gates * hidden)),
            ("P", p, (count, 3 * hidden)),
            *(("an initial state", state, (batch, count, hidden) if self.layout else (count, batch, hidden)) for state in first),
        ]
        for name, array, shape in wanted:
            if array is not None and (tuple(array.shape) != shape or not shape):
                raise ShapeError(f"{name} of shape {tuple(array.shape)} instead of {shape}", where=type(self).__name__)
        return [(array, shape) for _, array, shape in wanted[1:]]


def _applied(function: Scalar) -> Callable[[Scalar], Scalar]:
    return lambda x: with_loads(function, {0: x})


def _check_lengths(lengths: Any, steps: Any, where: str) -> None:
    """Raise `ShapeError` unless there is a length for every sequence; arrays or tensors."""
    if lengths is not None and tuple(lengths.shape) != (steps.shape[1],):
        raise ShapeError(f"sequence_lens of shape {tuple(lengths.shape)} for {steps.shape[1]} sequences", where=where)


@onnx_operator("RNN", since=7)
class RNN(RecurrentLayer):
    """The simple cell: a function of the projected input and the projected state."""

    gates: ClassVar[int] = 1
    default_activations: ClassVar[tuple[str, ...]] = ("Tanh",)

    def step(self, builder: Builder | Arrays, way: Way, projected: Sequence[Any], states: States) -> States:
        (f,), operands = way.functions, Operands()
        total = apply("add", operands(projected[0]), operands(way.multiply(states[0], 0, 1)))
        return (operands.computed(builder, f(self.clipped(total)), "hidden"),)


@onnx_operator("GRU", since=7)
class GRU(RecurrentLayer):
    """H = (1 - z) h + z H with update gate z, reset gate r and candidate h."""

    linear_before_reset: int = 0

    gates: ClassVar[int] = 3
    adds_biases_apart: ClassVar[bool] = True
    default_activations: ClassVar[tuple[str, ...]] = ("Sigmoid", "Tanh")

    def step(self, builder: Builder | Arrays, way: Way, projected: Sequence[Any], states: States) -> States:
        (hidden,), (f, g) = states, way.functions
        biases = [] if way.bias is None else parts(builder, way.bias, 3)
        count = 3 if self.linear_before_reset else 2
        products = parts(builder, way.multiply(hidden, 0, count), count)

        def gate(operands: Operands, number: int) -> Scalar:
            terms = [operands(each[number]) for each in (projected, products, biases) if each]
            return f(self.clipped(total(terms)))

        operands = Operands()
        if self.linear_before_reset:
            inner, reset = operands(products[2]), gate(operands, 1)
        else:
            of_reset = Operands()
            body = apply("multiply", gate(of_reset, 1), of_reset(hidden))
            inner = operands(way.multiply(of_reset.computed(builder, body, "reset"), 2, 3))
        inner = apply("add", inner, operands(biases[2])) if biases else inner
        inner = apply("multiply", reset, inner) if self.linear_before_reset else inner
        update, candidate = gate(operands, 0), g(self.clipped(apply("add", operands(projected[2]), inner)))
        fresh = apply("multiply", apply("subtract", Literal(1.0), update), candidate)
        return (operands.computed(builder, apply("add", fresh, apply("multiply", update, operands(hidden))), "hidden"),)


@onnx_operator("LSTM", since=7)
class LSTM(RecurrentLayer):
    """C = f C + i c, H = o h(C) with gates i, o, f and candidate c; results are H of all steps, the last H and the last C."""

    input_forget: int = 0

    gates: ClassVar[int] = 4
    state_count: ClassVar[int] = 2
    default_activations: ClassVar[tuple[str, ...]] = ("Sigmoid", "Tanh", "Tanh")

    def step(self, builder: Builder | Arrays, way: Way, projected: Sequence[Any], states: States) -> States:
        hidden, memory = states
        (f, g, h), products = way.functions, parts(builder, way.multiply(hidden, 0, 4), 4)

        def gate(operands: Operands, number: int, remembered: Tensor | None) -> Scalar:
            terms = [operands(projected[number]), operands(products[number])]
            if remembered is not None and way.peepholes:
                terms.append(apply("multiply", operands(way.peepholes[number]), operands(remembered)))
            return self.clipped(total(terms))

        of_memory, of_hidden = Operands(), Operands()
        enter = f(gate(of_memory, 0, memory))
        keep = apply("subtract", Literal(1.0), enter) if self.input_forget else f(gate(of_memory, 2, memory))
        entering = apply("multiply", enter, g(gate(of_memory, 3, None)))
        kept = apply("multiply", keep, of_memory(memory))
        new = of_memory.computed(builder, apply("add", kept, entering), "memory")
        shown = apply("multiply", f(gate(of_hidden, 1, new)), h(of_hidden(new)))
        return of_hidden.computed(builder, shown, "hidden"), new
