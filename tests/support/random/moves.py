"""Random graphs of moved elements: slices, transposes, reshapes, pads, concatenations, gathers and resizes, read several times.

Values are small whole numbers, so that every order of computing gives the same. Where elements are moved only (`MovedBits`) they
are any numbers of any type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, prod
from random import Random
from typing import Any

import numpy as np

from tests.support.onnx_operators import operator
from tests.support.random.tiles import numbers
from tilewright.dtypes import dtype_named
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Graph, Tensor

VERSION = 21
MOST_ELEMENTS = 30_000
LARGEST = 100
"""A value; sums of as many such values are exact in float32."""
SHARED = 0.4
"""How often the first computed tensor is read."""
FACTOR = 3
"""The largest value of what is multiplied."""
TYPES = ("float32", "float32", "float32", "float32", "int64", "int32", "float64")

VIEWS = ("slice", "flip", "transpose", "reshape", "reshape", "expand")
"""Steps that are nothing but another order, or a part, of what is there."""
MOVES = (
    *(*VIEWS, "reshape", "concat", "pad", "tile", "gather", "gather_elements", "gather_largest", "resize"),
    *("negative", "add", "where", "reduce", "matmul", "conv"),
)
"""All steps; those that make views are frequent."""
MOVED = (*VIEWS, "reshape", "concat", "pad", "tile", "gather", "gather", "gather_elements", "resize")
"""Steps that change no element."""

Array = np.ndarray[Any, Any]
Value = tuple[Tensor, Array]


class RandomMoves:
    """A graph that grows step by step, with the value of every tensor by NumPy."""

    types: Sequence[str] = TYPES
    largest: float = LARGEST

    def __init__(self, random: Random, steps: Sequence[str] = MOVES) -> None:
        self.random = random
        self.builder = Builder("moves")
        self.values: list[Value] = []
        self.inputs: dict[str, Array] = {}
        self.read: set[str] = set()
        self.steps = [getattr(self, f"step_{name}") for name in steps]

    def graph(self, inputs: int, steps: int) -> Graph:
        """A graph of so many inputs and steps at most; whatever is not read is an output, and perhaps something else."""
        dtype = self.random.choice(self.types)
        for number in range(inputs):
            self.add_input(f"x{number}", dtype)
        self.begin()
        for _ in range(steps):
            self.random.choice(self.steps)()
        made = [tensor.name for tensor, _ in self.values if tensor.name not in self.inputs]
        outputs = [name for name in made if name not in self.read or self.random.random() < 0.1]
        if not outputs:
            self.step_negative()
            outputs = [self.values[-1][0].name]
        return self.builder.graph(outputs)

    def begin(self) -> None:
        """Often elements are computed before they are moved."""
        if self.random.random() < 0.5:
            self.random.choice((self.step_negative, self.step_add, self.step_where, self.step_conv, self.step_matmul))()

    def expected(self, graph: Graph) -> dict[str, Array]:
        """The outputs of the graph."""
        known = {tensor.name: value for tensor, value in self.values}
        return {name: known[name] for name in graph.outputs}

    def chain(self, steps: int) -> Graph:
        """A graph of one argument in which every step takes what the last one made."""
        self.add_input("x", "float32")
        for _ in range(steps):
            self.values = self.values[-1:]
            self.random.choice(self.steps)()
        return self.builder.graph((self.values[-1][0].name,))

    def add_input(self, name: str, dtype: str) -> None:
        """An argument."""
        shape = self.shape()
        value = self.drawn(shape, dtype)
        self.inputs[name] = value
        self.values.append((self.builder.input(name, shape, dtype), value))

    def drawn(self, shape: tuple[int, ...], dtype: str) -> Array:
        """Small whole numbers, of which neighbours differ."""
        most = self.random.choice((50, 50, FACTOR))
        return (np.arange(prod(shape)) * 37 % (2 * most + 1) - most).reshape(shape).astype(dtype)

    def shape(self) -> tuple[int, ...]:
        """Of an argument."""
        extents = self.random.choice(((1, 2, 3, 4, 5, 6), (1, 3, 8, 16, 17), (1, 2, 5, 12, 18, 33, 64)))
        rank = self.random.randint(1, 4)
        shape = [self.random.choice(extents) for _ in range(rank)]
        while prod(shape) > MOST_ELEMENTS // 3:
            shape.remove(max(shape))
        return tuple(shape)

    def pick(self, accepts: Callable[[Array], bool] = lambda _: True) -> Value | None:
        """One of the tensors so far: often the first that is computed, which so has several readers, or a late one."""
        able = [value for value in self.values if value[1].dtype != np.bool_ and accepts(value[1])]
        computed = [value for value in able if value[0].name not in self.inputs]
        if computed and self.random.random() < SHARED:
            return computed[0]
        return able[max(self.random.randrange(len(able)) for _ in range(2))] if able else None

    def apply(self, name: str, *operands: Value | Array, **attributes: Any) -> None:
        """Append what an operator makes; arrays are constants."""
        one = operator(name, VERSION, **attributes)
        arrays = [operand[1] if isinstance(operand, tuple) else operand for operand in operands]
        with np.errstate(all="ignore"):
            result = np.asarray(one.reference(*arrays))
        is_large = result.dtype != np.bool_ and result.size and self.largest < inf and np.abs(result).max() > self.largest
        if not 0 < result.size <= MOST_ELEMENTS or result.ndim > 6 or is_large:
            return
        tensors = [operand[0] if isinstance(operand, tuple) else self.builder.constant(operand) for operand in operands]
        made = one.lower(self.builder, *tensors)
        assert made.shape == result.shape, f"{name} makes {made.shape}, not {result.shape}"
        if made.name not in (tensor.name for tensor, _ in self.values):  # nothing has changed otherwise
            self.read |= {tensor.name for tensor in tensors}
            self.values.append((made, result))

    # Steps

    def step_slice(self) -> None:
        """Any part of every dimension, forwards or backwards."""
        if (found := self.pick(lambda x: x.ndim > 0)) is None:
            return
        parts = [self.part(extent) for extent in found[1].shape]
        starts, ends, steps = (np.array(column) for column in zip(*parts, strict=True))
        self.apply("Slice", found, starts, ends, np.arange(len(parts)), steps)

    def part(self, extent: int) -> tuple[int, int, int]:
        """Start, end and step of a part of a dimension."""
        choice = self.random.randrange(5)
        if choice < 2:
            return 0, extent, 1
        low = self.random.randint(0, extent - 1)
        high = self.random.randint(low, extent - 1)
        step = self.random.choice((1, 1, 2, 3))
        return (low, high + 1, step) if choice < 4 else (high, low - 1 if low else -(2**31), -step)

    def step_flip(self) -> None:
        """One dimension, or all of them, backwards."""
        if (found := self.pick(lambda x: x.ndim > 0)) is None:
            return
        rank = found[1].ndim
        axes = list(range(rank)) if self.random.random() < 0.3 else [self.random.randrange(rank)]
        ends = np.full(len(axes), -(2**31))
        self.apply("Slice", found, np.full(len(axes), -1), ends, np.array(axes), np.full(len(axes), -1))

    def step_transpose(self) -> None:
        """The dimensions in another order."""
        if (found := self.pick(lambda x: x.ndim > 1)) is not None:
            self.apply("Transpose", found, perm=self.random.sample(range(found[1].ndim), found[1].ndim))

    def step_reshape(self) -> None:
        """Dimensions are merged, split, both, or of one element."""
        if (found := self.pick()) is None:
            return
        shape = list(found[1].shape)
        for _ in range(self.random.randint(1, 3)):
            self.reshape_once(shape)
        if shape and self.random.random() < 0.3:
            shape[self.random.randrange(len(shape))] = -1
        self.apply("Reshape", found, np.array(shape, np.int64))

    def reshape_once(self, shape: list[int]) -> None:
        """Merge two dimensions, split one, or put in or take out one of one element."""
        choice, place = self.random.randrange(4), self.random.randrange(max(len(shape), 1))
        if choice < 2 and len(shape) > 1:
            place = self.random.randrange(len(shape) - 1)
            shape[place : place + 2] = [shape[place] * shape[place + 1]]
        elif choice == 2 and shape:
            factor = self.random.choice([n for n in range(1, shape[place] + 1) if shape[place] % n == 0])
            shape[place : place + 1] = [shape[place] // factor, factor]
        elif 1 in shape and self.random.random() < 0.5:
            shape.remove(1)
        else:
            shape.insert(place, 1)

    def step_expand(self) -> None:
        """Dimensions of one element repeated, and new ones in front."""
        if (found := self.pick()) is None:
            return
        shape = [extent if extent > 1 else self.random.choice((1, 2, 3)) for extent in found[1].shape]
        front = [self.random.choice((1, 2))] if self.random.random() < 0.3 else []
        self.apply("Expand", found, np.array([*front, *shape], np.int64))

    def step_concat(self) -> None:
        """Two or three tensors that fit, one behind the other."""
        if (found := self.pick(lambda x: x.ndim > 0)) is None:
            return
        axis = self.random.randrange(found[1].ndim)
        fits = [value for value in self.values if joins(value[1], found[1], axis)]
        others = [self.random.choice(fits) for _ in range(self.random.randint(1, 2))]
        parts = [found, *others]
        self.random.shuffle(parts)
        self.apply("Concat", *parts, axis=axis)

    def step_pad(self) -> None:
        """More at the ends of dimensions, or less."""
        if (found := self.pick(lambda x: x.ndim > 0)) is None:
            return
        mode = self.random.choice(("constant", "constant", "edge", "reflect", "wrap"))
        low = [min(extent - 1, 2) if mode == "reflect" else 2 for extent in found[1].shape]
        pads = [self.random.randint(0, most) if self.random.random() < 0.5 else 0 for most in (*low, *low)]
        if mode == "constant" and self.random.random() < 0.3:
            pads = [-self.random.randint(0, 1) if extent > 2 else 0 for extent in (*found[1].shape, *found[1].shape)]
        self.apply("Pad", found, np.array(pads, np.int64), mode=mode)

    def step_tile(self) -> None:
        """Whole copies side by side."""
        if (found := self.pick(lambda x: x.ndim > 0)) is not None:
            self.apply("Tile", found, np.array([self.random.choice((1, 1, 2, 3)) for _ in found[1].shape], np.int64))

    def step_gather(self) -> None:
        """Rows at constant positions."""
        if (found := self.pick(lambda x: x.ndim > 0)) is None:
            return
        axis = self.random.randrange(found[1].ndim)
        extent = found[1].shape[axis]
        shape = tuple(self.random.randint(1, 4) for _ in range(self.random.randint(0, 2)))
        self.apply("Gather", found, self.positions(shape, extent), axis=axis)

    def step_gather_elements(self) -> None:
        """Elements at constant positions along a dimension."""
        if (found := self.pick(lambda x: x.ndim > 0)) is None:
            return
        axis = self.random.randrange(found[1].ndim)
        shape = tuple(self.random.randint(1, extent) for extent in found[1].shape)
        self.apply("GatherElements", found, self.positions(shape, found[1].shape[axis]), axis=axis)

    def step_gather_largest(self) -> None:
        """The largest elements along a dimension, at positions that are computed."""
        if (found := self.pick(lambda x: x.ndim > 0)) is None:
            return
        axis = self.random.randrange(found[1].ndim)
        self.apply("ArgMax", found, axis=axis, keepdims=1)
        if (places := self.values[-1])[1].dtype == np.int64:
            self.apply("GatherElements", found, places, axis=axis)

    def positions(self, shape: tuple[int, ...], extent: int) -> Array:
        """Places in a dimension, from its start or from its end."""
        return np.array([self.random.randint(-extent, extent - 1) for _ in range(prod(shape))], np.int64).reshape(shape)

    def step_resize(self) -> None:
        """The nearest elements, at regular or irregular steps."""
        if (found := self.pick(lambda x: x.ndim > 0 and x.dtype == np.float32)) is None:
            return
        scales = [self.random.choice((1.0, 1.0, 2.0, 3.0, 1.5, 0.5, 2.5)) for _ in found[1].shape]
        if all(int(scale * extent) for scale, extent in zip(scales, found[1].shape, strict=True)):
            how = self.random.choice(("half_pixel", "asymmetric")), self.random.choice(("floor", "round_prefer_floor"))
            empty = np.zeros(0, np.float32)
            self.apply("Resize", found, empty, np.array(scales, "f4"), coordinate_transformation_mode=how[0], nearest_mode=how[1])

    def step_negative(self) -> None:
        """A map of one operand."""
        if (found := self.pick()) is not None:
            self.apply("Neg", found)

    def step_add(self) -> None:
        """A map of two tensors that are broadcast."""
        if (found := self.pick()) is None:
            return
        fits = [value for value in self.values if value[1].dtype == found[1].dtype and broadcasts(value[1], found[1])]
        self.apply(self.random.choice(("Add", "Sub", "Max")), found, self.random.choice(fits))

    def step_where(self) -> None:
        """A choice by a condition."""
        if (found := self.pick()) is None:
            return
        zero = np.zeros((), found[1].dtype)
        self.apply("Less", found, zero)
        if (condition := self.values[-1])[1].dtype == np.bool_:
            self.apply("Where", condition, found, zero)

    def step_reduce(self) -> None:
        """Sums or maxima along some dimensions."""
        if (found := self.pick(lambda x: x.ndim > 0)) is None:
            return
        axes = self.random.sample(range(found[1].ndim), self.random.randint(1, found[1].ndim))
        name, keep = self.random.choice(("ReduceSum", "ReduceMax", "ReduceMin")), self.random.randrange(2)
        self.apply(name, found, np.array(sorted(axes), np.int64), keepdims=keep)

    def step_matmul(self) -> None:
        """A product of what is small, with a transpose of itself where nothing else fits."""
        small = [value for value in self.values if value[1].dtype != np.bool_ and np.abs(value[1]).max() <= FACTOR]
        able = [value for value in small if value[1].ndim > 1]
        if not able:
            return
        left = self.random.choice(able)
        fits = [one for one in able if one[1].dtype == left[1].dtype and multiplies(left[1], one[1])]
        if not fits:
            rank = left[1].ndim
            self.apply("Transpose", left, perm=[*range(rank - 2), rank - 1, rank - 2])
            fits = [self.values[-1]]
        self.apply("MatMul", left, self.random.choice(fits))

    def step_conv(self) -> None:
        """A convolution of images by filters of few ones, in groups."""
        if (found := self.pick(lambda x: x.ndim == 4 and x.dtype == np.float32)) is None:
            return
        channels = found[1].shape[1]
        group = self.random.choice([n for n in range(1, channels + 1) if channels % n == 0])
        size = self.random.choice((1, 3))
        filters = np.zeros((group * self.random.randint(1, 2), channels // group, size, size), np.float32)
        for place in np.ndindex(filters.shape):
            filters[place] = self.random.randrange(12) == 0
        self.apply("Conv", found, filters, group=group, pads=(size // 2,) * 4)


class MovedBits(RandomMoves):
    """A graph that computes nothing: elements have fractions, and are infinite, NaN or denormal."""

    types = (*dict.fromkeys(TYPES), "float16", "bfloat16", "uint8", "int16")
    largest = inf

    def __init__(self, random: Random) -> None:
        super().__init__(random, MOVED)

    def begin(self) -> None:
        """Nothing is computed."""

    def drawn(self, shape: tuple[int, ...], dtype: str) -> Array:
        """Any numbers."""
        return (
            numbers(np.random.default_rng(self.random.randrange(1 << 30)), dtype, prod(shape))
            .reshape(shape)
            .view(dtype_named(dtype))
        )


def joins(x: Array, y: Array, axis: int) -> bool:
    """Whether two arrays can stand one behind the other."""
    same = [a == b for d, (a, b) in enumerate(zip(x.shape, y.shape, strict=False)) if d != axis]
    return x.dtype == y.dtype and x.ndim == y.ndim and all(same)


def broadcasts(x: Array, y: Array) -> bool:
    """Whether two shapes can be broadcast."""
    return all(a == b or 1 in (a, b) for a, b in zip(x.shape[::-1], y.shape[::-1], strict=False))


def multiplies(x: Array, y: Array) -> bool:
    """Whether there is a product of two stacks of matrices."""
    return x.shape[-1] == y.shape[-2] and broadcasts(x[..., 0, 0], y[..., 0, 0])
