"""Random graphs for the planner: elementwise maps, joins, cuts, pads, windows, reductions and products, with several readers.

They are the shapes of heads of detectors and of glue between layers: what is planned is what matters here, values do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from tests.support.onnx_operators import operator
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import concatenate, pad
from tilewright.graph.types import Graph, Tensor

EXTENTS = (1, 1, 2, 2, 3, 4, 5, 7, 8, 16, 17, 31, 48, 80, 129, 400, 2100)
MOST_ELEMENTS = 1 << 22
UNARY = ("exp", "tanh", "sigmoid", "negative", "sqrt", "abs", "erf")
BINARY = ("add", "subtract", "multiply", "divide", "maximum")


def random_graph(seed: int, steps: int = 12) -> Graph:
    """A verified graph of up to so many operators; the same for the same seed."""
    return _Making(seed).graph(steps)


class _Making:
    """A builder, a source of decisions, and the tensors that were made so far."""

    def __init__(self, seed: int) -> None:
        self.random, self.builder = np.random.default_rng(seed), Builder(f"random_{seed}")
        self.values = [self.builder.input(f"x{i}", self._shape(), "float32") for i in range(self.random.integers(1, 4))]

    def graph(self, steps: int) -> Graph:
        made: list[Tensor] = []
        for _ in range(int(self.random.integers(2, steps + 1))):
            result = self._one_of(STEPS)(self)
            if result is not None and result.shape and prod(map(_extent, result.shape)) <= MOST_ELEMENTS:
                self.values.append(result)
                made.append(result)
        outputs = made[-1:] or [self.builder.map("exp", self.values[0])]
        outputs += [value for value in made[:-1] if self.random.integers(6) == 0]
        return self.builder.graph([value.name for value in outputs])

    def _shape(self) -> tuple[int, ...]:
        return tuple(int(extent) for extent in self.random.choice(EXTENTS, self.random.integers(1, 5)))

    def _one_of(self, choices: Sequence[Callable[[_Making], Tensor | None]]) -> Callable[[_Making], Tensor | None]:
        return choices[int(self.random.integers(len(choices)))]

    def value(self) -> Tensor:
        """An earlier one, of the last ones rather."""
        back = min(int(self.random.geometric(0.35)), len(self.values))
        return self.values[-back]

    def axis(self, x: Tensor) -> int:
        return int(self.random.integers(len(x.shape)))

    def unary(self) -> Tensor:
        return self.builder.map(str(self.random.choice(UNARY)), self.value())

    def binary(self) -> Tensor:
        one = self.value()
        alike = [other for other in self.values if _broadcasts(one.shape, other.shape)]
        other = alike[int(self.random.integers(len(alike)))]
        return self.builder.map(str(self.random.choice(BINARY)), one, other)

    def join(self) -> Tensor:
        one = self.value()
        axis = self.axis(one)
        around = _without(one.shape, axis)
        others = [v for v in self.values if len(v.shape) == len(one.shape) and _without(v.shape, axis) == around]
        parts = [one, *(others[int(i)] for i in self.random.integers(len(others), size=self.random.integers(1, 3)))]
        return self.builder.record(concatenate, parts, axis, kind="concat")

    def cut(self) -> Tensor:
        x = self.value()
        keys = []
        for extent in map(_extent, x.shape):
            start, stop = sorted(int(i) for i in self.random.choice(extent + 1, 2, replace=False)) if extent > 1 else (0, 1)
            step = int(self.random.choice([1, 1, 1, 2, 3, -1]))
            whole = self.random.integers(2)
            keys.append(slice(None) if whole else slice(start, stop, step) if step > 0 else slice(None, None, -1))
        return self.builder.slice(x, tuple(keys))

    def pad(self) -> Tensor:
        x = self.value()
        pads = [(0, 0)] * len(x.shape)
        axis = self.axis(x)
        pads[axis] = (int(self.random.integers(0, 9)), int(self.random.integers(0, 9)))
        return self.builder.record(pad, x, tuple(pads), 0.0, kind="pad")

    def reduce(self) -> Tensor:
        x = self.value()
        function = str(self.random.choice(["sum", "mean", "max", "min"]))
        return self.builder.reduce(function, x, [self.axis(x)], keepdims=bool(self.random.integers(2)) or len(x.shape) == 1)

    def softmax(self) -> Tensor:
        x = self.value()
        return self.builder.softmax(x, self.axis(x))

    def transpose(self) -> Tensor:
        x = self.value()
        return self.builder.transpose(x, [int(i) for i in self.random.permutation(len(x.shape))])

    def reshape(self) -> Tensor:
        """Neighbouring dimensions as one, or one as two."""
        x = self.value()
        axis, shape = self.axis(x), list(map(_extent, x.shape))
        divisors = [d for d in (2, 3, 4, 7) if shape[axis] % d == 0]
        if axis + 1 < len(shape) and self.random.integers(2):
            shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
        elif divisors:
            shape[axis : axis + 1] = [divisors[0], shape[axis] // divisors[0]]
        return self.builder.reshape(x, shape)

    def einsum(self) -> Tensor | None:
        """A product of two values: dimensions of equal extent are the same axis, or not; any of them may be summed."""
        left, right = self.value(), self.value()
        letters = iter("abcdefghijklmnop")
        first = [next(letters) for _ in left.shape]
        second = []
        for extent in right.shape:
            free = [name for name, own in zip(first, left.shape, strict=True) if own == extent and name not in second]
            second.append(free[int(self.random.integers(len(free)))] if free and self.random.integers(3) else next(letters))
        every = list(dict.fromkeys([*first, *second]))
        kept = [name for name in every if self.random.integers(2)]
        self.random.shuffle(kept)
        extents = dict(zip([*first, *second], map(_extent, (*left.shape, *right.shape)), strict=True))
        if prod(extents[name] for name in kept) > MOST_ELEMENTS:
            return None
        return self.builder.einsum(f"{''.join(first)},{''.join(second)}->{''.join(kept)}", left, right)

    def product(self) -> Tensor:
        x = self.value()
        depth, columns = _extent(x.shape[-1]), int(self.random.choice(EXTENTS))
        weights = self.builder.constant(np.ones((depth, columns), np.float32))
        return self.builder.matmul(x if len(x.shape) > 1 else self.builder.reshape(x, (1, depth)), weights)

    def conv(self) -> Tensor | None:
        x = self.value()
        if len(x.shape) != 4:
            return None
        channels, taps = _extent(x.shape[1]), int(self.random.choice([1, 3]))
        weights = self.builder.constant(np.ones((int(self.random.choice(EXTENTS)), channels, taps, taps), np.float32))
        conv = operator("Conv", 17, pads=[taps // 2] * 4, strides=[int(self.random.choice([1, 2]))] * 2)
        made: Tensor = conv.lower(self.builder, x, weights)
        return made


STEPS: tuple[Callable[[_Making], Tensor | None], ...] = (
    *(_Making.unary, _Making.unary, _Making.binary, _Making.binary, _Making.join, _Making.join, _Making.cut, _Making.cut),
    *(_Making.pad, _Making.reduce, _Making.softmax, _Making.transpose, _Making.reshape),
    *(_Making.einsum, _Making.einsum, _Making.product, _Making.conv),
)


def _extent(extent: object) -> int:
    assert isinstance(extent, int)
    return extent


def _without(shape: Sequence[object], axis: int) -> list[object]:
    return [extent for number, extent in enumerate(shape) if number != axis]


def _broadcasts(one: Sequence[object], other: Sequence[object]) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(one), reversed(other), strict=False))
