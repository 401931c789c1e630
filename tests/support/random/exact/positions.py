"""Positions in all integer types: triangles, diagonals, one-hot rows, ranges, lookups, extremes of rows, and comparisons."""

from __future__ import annotations

import numpy as np

from tests.support.random.exact.growing import Growing, grown
from tests.support.random.exact.meaning import DTYPES, HALVES, INTEGERS, ONNX_NUMBERS, SUMS, TYPES
from tests.support.random.exact.program import Array, Program

MOST_STEPS = 8
LONG = 1100
"""So many numbers are computed by generated code, fewer are constants."""


class Places(Growing):
    """A program of positions that grows."""

    def matrix(self, types: tuple[str, ...] = TYPES) -> str:
        """A value of two dimensions."""
        able = [name for name, value in self.values.items() if value.ndim == 2 and value.dtype.name in types]
        if able and self.chance(0.6):
            return str(self.one_of(able))
        return self.fresh(str(self.one_of(types)), (int(self.random.integers(1, 5)), self.extent))

    def whole(self, value: int) -> str:
        """A constant."""
        return self.give(np.array(value, np.int64), constant=True)

    def triangle(self) -> None:
        x = self.matrix()
        k, upper = int(self.one_of((-(2**40), -3, -1, 0, 1, 2, 2**40))), int(self.random.integers(2))
        keep = np.triu if upper else np.tril
        value = self.values[x]
        mask = keep(np.ones(value.shape, bool), max(-99, min(k, 99)))
        self.add("Trilu", [x, self.whole(k)], np.where(mask, value, np.zeros((), value.dtype)), upper=upper)

    def diagonal(self) -> None:
        x = self.matrix()
        k, to = int(self.one_of((-(2**33), -2, -1, 0, 1, 2**33))), str(self.one_of(TYPES))
        rows, columns = self.values[x].shape
        ahead = np.arange(columns)[None] - np.arange(rows)[:, None]
        self.add("EyeLike", [x], (ahead == k).astype(DTYPES[to]), dtype=ONNX_NUMBERS[to], k=k)

    def one_hot(self) -> None:
        x = self.any((*INTEGERS, "float32", "float64"))
        if self.values[x].size > 64:
            return
        depth, axis = int(self.random.integers(1, 7)), int(self.random.integers(0, self.values[x].ndim + 1))
        pair = self.fresh(str(self.one_of(TYPES)), (2,))
        place = np.expand_dims(self.values[x], axis)
        hot = np.zeros((*self.values[x].shape[:axis], depth, *self.values[x].shape[axis:]), bool)
        for position in range(depth):
            index = tuple(slice(position, position + 1) if d == axis else slice(None) for d in range(hot.ndim))
            hot[index] = _is_at(place, position, depth)
        off, on = self.values[pair]
        self.add("OneHot", [x, self.whole(depth), pair], np.where(hot, on, off).astype(self.values[pair].dtype), axis=axis)

    def range(self) -> None:
        dtype = str(self.one_of(("int16", "int32", "int64", "int64")))
        limits = np.iinfo(dtype)
        count = int(self.one_of((self.extent, self.extent, LONG)))
        step = int(self.one_of((1, 2, 3, -1, -2)))
        ends = (0, 0, 1, -7, limits.min, limits.max - count * step, limits.min + count * abs(step), 2**24 - 5, 2**53 - 1)
        first = int(self.one_of(ends))
        stop = first + count * step - (1 if step > 1 else 0)
        if not all(limits.min <= number <= limits.max for number in (first, stop)):
            return
        operands = [self.give(np.array(number, dtype), constant=True) for number in (first, stop, step)]
        self.add("Range", operands, np.array([first + step * i for i in range(count)], dtype))

    def numbers(self) -> None:
        """A range in a type that it wraps in, or is rounded in, beside other values."""
        able = [step.result for step in self.steps if step.op_type == "Range"]
        if not able:
            return self.range()
        to = str(self.one_of((*INTEGERS, "float32", "float64", *HALVES)))
        x = self.cast_of(str(self.one_of(able)), to)
        other = self.beside(x)
        function = str(self.one_of(("Less", "Greater", "Equal", "GreaterOrEqual", "Add", "Sub", "Max")))
        if function in SUMS and to == "int64":
            self.add_whole(function, *self.either(x, other))
        else:
            self.apply(function, *self.either(x, other))

    def lookup(self) -> None:
        x = self.matrix()
        axis = int(self.random.integers(2))
        extent = self.values[x].shape[axis]
        dtype = str(self.one_of(("int32", "int64")))
        index = self.random.integers(-extent, extent, int(self.random.integers(1, 9))).astype(dtype)
        found = np.take(self.values[x], np.where(index < 0, index + extent, index), axis)
        self.add("Gather", [x, self.give(index)], found, axis=axis)

    def elements(self) -> None:
        x = self.matrix()
        axis = int(self.random.integers(2))
        extent = self.values[x].shape[axis]
        index = self.random.integers(-extent, extent, self.values[x].shape).astype(str(self.one_of(("int32", "int64"))))
        found = np.take_along_axis(self.values[x], np.where(index < 0, index + extent, index).astype(np.int64), axis)
        self.add("GatherElements", [x, self.give(index)], found, axis=axis)

    def scatter(self) -> None:
        x = self.matrix()
        value = self.values[x]
        index = self.random.permutation(value.shape[1]).astype(np.int64)[None].repeat(value.shape[0], 0)
        index = np.where(self.random.random(index.shape) < 0.4, index - value.shape[1], index)
        updates = self.fresh(value.dtype.name, value.shape)
        result = value.copy()
        np.put_along_axis(result, np.where(index < 0, index + value.shape[1], index), self.values[updates], 1)
        self.add("ScatterElements", [x, self.give(index), updates], result, axis=1)

    def extreme(self) -> None:
        x = self.matrix(TYPES[1:])
        value = self.values[x].astype(np.float32) if self.values[x].dtype.name == "bfloat16" else self.values[x]
        axis, last, keepdims = (int(self.random.integers(2)) for _ in range(3))
        op_type = str(self.one_of(("ArgMax", "ArgMin")))
        position_of = np.argmax if op_type == "ArgMax" else np.argmin
        found = position_of(np.flip(value, axis), axis) if last else position_of(value, axis)
        found = value.shape[axis] - 1 - found if last else found
        found = np.expand_dims(found, axis) if keepdims else found
        y = self.add(op_type, [x], np.asarray(found, np.int64), axis=axis, keepdims=keepdims, select_last_index=last)
        self.cast_of(y, str(self.one_of(TYPES)))


def _is_at(place: Array, position: int, depth: int) -> Array:
    """Where elements are a position, counted from either end."""
    found = [element in (position, position - depth) for element in place.reshape(-1).tolist()]
    return np.array(found, bool).reshape(place.shape)


STEPS = (
    (Places.triangle, 1.5),
    (Places.diagonal, 1.0),
    (Places.one_hot, 1.5),
    (Places.range, 1.0),
    (Places.numbers, 2.0),
    (Places.lookup, 1.0),
    (Places.elements, 0.5),
    (Places.scatter, 0.5),
    (Places.extreme, 1.0),
    (Places.cast, 2.0),
    (Places.compare, 1.5),
    (Places.choose, 1.5),
    (Places.compute, 1.0),
)


def program(seed: int) -> Program:
    """The program of a seed."""
    return grown(seed, STEPS, MOST_STEPS, Places)
