"""Programs under construction: every node is computed by NumPy when it is added, and is kept if its result is tame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.support.random.discontinuities.operators import JUMP, MOVE, ONLY_TRACED, OPERATORS, SMOOTH, SUM
from tests.support.random.discontinuities.program import Array, Known

LARGEST = 1e6
"""Casts to int32, and positions, stay in range."""
LEAST = 1e-12
MOST_SCALE = 1e7
MOST_ELEMENTS = 6000
WHOLE_BITS = 24
"""Of float32: sums of multiples of a power of two are exact in any order if the sum of magnitudes is below 2^24 multiples."""
FINEST = 10
"""Of these powers of two, the negative exponent of the least."""
BASES = (1.0, 2.0, 3.0, 5.0, 7.0, 9.0, 10.0, 41.0, 47.0, 100.0, 255.0, 0.1, 0.3, 0.7, 1 / 3, 1.5, 0.5, 0.01)


class Unfit(Exception):
    """A node that is no part of a program."""


class Growing:
    """Nodes with values, and a random generator that chooses among them."""

    def __init__(self, seed: int, *, is_traced: bool) -> None:
        self.random = np.random.default_rng(seed)
        self.is_traced = is_traced
        self.values: dict[str, Known] = {}
        self.nodes: list[onnx.NodeProto] = []
        self.bases = [float(one) for one in self.random.choice(BASES, 3)]
        """What inputs are multiples of, and divisors and factors mostly are."""

    def given(self, array: Any, *, is_constant: bool = False) -> str:
        """A new input or constant."""
        array = np.asarray(array)
        name = f"{'c' if is_constant else 'x'}{len(self.values)}"
        self.values[name] = Known((array,), (), is_constant, scale=max(1e-3, _most(array)))
        return name

    def number(self, value: float) -> str:
        return self.given(np.float32(value), is_constant=True)

    def whole(self, *values: int) -> str:
        """A constant of int64."""
        return self.given(np.array(values, np.int64), is_constant=True)

    def add(self, operator: str, *reads: str, **attributes: Any) -> str:
        """The name of the (first) result.

        Raises `Unfit` where it is not tame, or a discontinuous function would read what is not exact.
        """
        known = OPERATORS[operator]
        if (known.traced is None) if self.is_traced else (operator in ONLY_TRACED):
            raise Unfit(f"{operator} is not in this language")
        operands = [self.values[name] for name in reads]
        if known.kind == JUMP and not all(one.is_exact for one in operands):
            raise Unfit("not exact")
        if self.is_traced and all(one.is_constant for one in operands):
            raise Unfit("nothing to trace")
        with np.errstate(all="ignore"):
            made = known.numpy(*(one.array for one in operands), **attributes)
        results = [np.asarray(one) for one in (made if isinstance(made, tuple) else (made,))]
        for result in results:
            _check(result)
        exact = all(one.is_exact for one in operands) and known.kind != SMOOTH
        exact = exact and (known.kind != SUM or _adds_exactly(operator, operands, attributes))
        hands_on = known.kind == MOVE or (operator in ("Add", "Sub", "Mul") and all(map(_is_whole, operands)))
        discrete = exact and (known.kind == JUMP or (hands_on and all(one.is_discrete for one in operands)))
        if operator in ("ThresholdedRelu", "Shrink"):
            discrete = False
        scale = max(_scale(operator, operands), *map(_most, results))
        if scale > MOST_SCALE:
            raise Unfit("large")
        names = [f"v{len(self.values) + number}" for number in range(len(results))]
        for name, result in zip(names, results, strict=True):
            self.values[name] = Known((result,), (), False, exact, discrete, scale)
        self.nodes.append(helper.make_node(operator, reads, names, **attributes))
        return names[0]

    def pick(self, fits: Callable[[Known], bool] = lambda value: True) -> str:
        """The name of an array of numbers, late ones more often."""
        names = [
            name
            for name, value in self.values.items()
            if value.dtype == np.float32 and not value.is_constant and value.array.size > 1 and fits(value)
        ]
        if not names:
            raise Unfit("nothing to choose from")
        first = max(0, len(names) - 4) if self.random.random() < 0.7 else 0
        return names[int(self.random.integers(first, len(names)))]

    def exact(self) -> str:
        """What a discontinuous function may read: mostly what another has not made."""
        is_any = self.random.random() < 0.15
        return self.pick(lambda value: value.is_exact and (is_any or not value.is_discrete))

    def image(self) -> str:
        return self.pick(lambda value: value.rank == 4)

    def array(self, name: str) -> Array:
        return self.values[name].array

    def choose(self, options: Sequence[Any]) -> Any:
        return options[int(self.random.integers(len(options)))]

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def base(self) -> float:
        return float(self.choose(self.bases if self.chance(0.7) else BASES))

    def multiples(self, shape: Sequence[int], most: int = 20) -> Array:
        """Whole numbers, or halves, times a base."""
        counts = self.random.integers(-most, most + 1, tuple(shape)).astype(np.float32)
        halves = np.float32(0.5) if self.chance(0.2) else np.float32(1)
        return np.asarray(counts * halves * np.float32(self.base()), np.float32)

    def small(self, shape: Sequence[int], most: int = 4) -> Array:
        """Whole numbers."""
        return self.random.integers(-most, most + 1, tuple(shape)).astype(np.float32)

    def bases_in(self, shape: Sequence[int]) -> Array:
        """Different divisors, or factors."""
        return self.random.choice([*self.bases, *self.bases, *BASES], tuple(shape)).astype(np.float32)


def _most(array: Array) -> float:
    return float(np.abs(array.astype(np.float64)).max(initial=0.0))


def _check(result: Array) -> None:
    if not 1 <= result.size <= MOST_ELEMENTS or result.ndim > 5:
        raise Unfit("of another size")
    if result.dtype.kind == "f":
        sizes = np.abs(result)
        if not np.isfinite(result).all() or sizes.max() > LARGEST or ((sizes > 0) & (sizes < LEAST)).any():
            raise Unfit("not finite, large, or close to 0")


def _adds_exactly(operator: str, operands: Sequence[Known], attributes: dict[str, Any]) -> bool:
    """Whether sums of these numbers are exact in any order. Marks end at sums: what they add may have been rounded otherwise."""
    if not all(one.is_discrete for one in operands):
        return False
    arrays = [one.array for one in operands if one.dtype == np.float32]
    exponents = [_exponent(array) for array in arrays]
    if None in exponents:
        return False
    finest = sum(one for one in exponents if one is not None)
    if operator in ("MatMul", "Gemm", "Conv"):
        plain = {"alpha": 1.0, "beta": 1.0} if operator == "Gemm" else attributes
        most = _most(OPERATORS[operator].numpy(*(np.abs(array) for array in arrays), **plain))
    else:
        most = float(np.abs(arrays[0]).sum(dtype=np.float64))
    return most * 2.0**finest < 2.0**WHOLE_BITS


def _is_whole(value: Known) -> bool:
    """Whether sums and products of such numbers are exact, too."""
    return value.largest < 2.0 ** (WHOLE_BITS // 2) and not (value.array % 1).any()


def _exponent(array: Array) -> int | None:
    """Of the largest power 2^-k of which all numbers are multiples; None for finer ones."""
    return next((k for k in range(FINEST) if (array * 2.0**k % 1 == 0).all()), None)


def _scale(operator: str, operands: Sequence[Known]) -> float:
    scales = [one.scale for one in operands if one.dtype == np.float32]
    if operator in ("MatMul", "Gemm", "Conv"):
        return scales[0] * scales[1] * operands[1].array.size + sum(scales[2:])
    if operator in ("Mul", "PRelu", "HardSwish", "DequantizeLinear"):
        return float(np.prod(scales)) * (scales[0] if operator == "HardSwish" else 1)
    if operator == "Div":
        return scales[0] / float(np.abs(operands[1].array).min())
    if operator == "BatchNormalization":
        return float(sum(scales) * scales[1] / np.sqrt(operands[4].array.min()))
    if operator == "ReduceSum":
        return scales[0] * operands[0].array.size
    return float(sum(scales))
