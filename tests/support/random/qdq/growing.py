"""Growing a program of quantised layers: choices, constants, nodes, and what their results may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
import onnx
from onnx import helper

from tests.support.random.qdq.program import Quantised
from tests.support.random.qdq.reals import Reals, dequantised, exactly, quantised

T = TypeVar("T")

BYTES = ("uint8", "int8")
MOST_ELEMENTS = 6000


class Unfit(Exception):
    """The layer is not added."""


class Growing:
    """A program that grows; where it `has_exact_scales` all scales are powers of two."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng([seed, 5])
        self.has_exact_scales = self.chance(0.5)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, Any] = {}
        self.feeds: dict[str, Any] = {}
        self.values: list[Quantised] = []
        self.read: set[str] = set()
        self._count = 0

    # Choices

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def whole(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return int(self.rng.integers(least, most + 1))

    def choose(self, options: Sequence[T]) -> T:
        if not options:
            raise Unfit
        return options[self.whole(0, len(options) - 1)]

    def pick(self, *ranks: int) -> Quantised:
        """A value, mostly a recent one."""
        found = [value for value in self.values if not ranks or len(value.shape) in ranks]
        return found[-1] if found and self.chance(0.6) else self.choose(found)

    # Constants

    def _named(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def constant(self, array: Any) -> str:
        name = self._named("c")
        self.constants[name] = np.asarray(array)
        return name

    def scale(self, wanted: float) -> float:
        """A scale near the wanted one, as float32 has it."""
        value = 2.0 ** np.round(np.log2(wanted)) if self.has_exact_scales else wanted * self.rng.uniform(0.7, 1.4)
        return float(np.float32(value))

    def zero(self, dtype: str) -> int:
        """A zero point: an end, the middle, or any."""
        limits = np.iinfo(dtype)
        return self.choose([limits.min, limits.max, (limits.min + limits.max + 1) // 2, self.whole(limits.min, limits.max)])

    def bytes(self, shape: tuple[int, ...], dtype: str) -> Any:
        """Numbers of the whole range, or of its ends alone."""
        limits = np.iinfo(dtype)
        if self.chance(0.3):
            return self.rng.choice(np.array([limits.min, limits.max], dtype), shape)
        return self.rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)

    def weights(self, shape: tuple[int, ...], axis: int, fan: int) -> tuple[str, Reals, Any]:
        """The name of dequantised bytes, what they are, and their scales; the zero point often is 0, the type int8."""
        dtype = self.choose(["int8", "int8", "uint8"])
        by_axis = self.chance(0.5)
        steps = self.bytes(shape, dtype)
        of_channels = shape[axis] if by_axis else None
        scale = np.array([self.scale(1 / (128 * np.sqrt(fan))) for _ in range(of_channels or 1)], np.float32)
        zero = np.array([0 if self.chance(0.7) else self.zero(dtype) for _ in range(of_channels or 1)], dtype)
        broadcast = [-1 if d == axis else 1 for d in range(len(shape))]
        scale, zero = (scale, zero) if by_axis else (scale[0], zero[0])
        wide_scale, wide_zero = (np.reshape(one, broadcast if by_axis else ()) for one in (scale, zero))
        name = self.node("DequantizeLinear", *map(self.constant, (steps, scale, zero)), axis=axis)
        return name, dequantised(exactly(steps, 1.0), wide_scale, wide_zero.astype(np.float64)), scale

    # Nodes

    def node(self, op_type: str, *inputs: str, **attributes: Any) -> str:
        """A node; the name of its result."""
        name = self._named("v")
        self.nodes.append(helper.make_node(op_type, inputs, [name], **attributes))
        self.read.update(inputs)
        return name

    def input(self, *shape: int) -> None:
        """A float32 input and its bytes: values at ties, between, and beyond what bytes reach."""
        name, dtype, scale = self._named("x"), self.choose(BYTES), self.scale(0.02)
        zero = self.zero(dtype)
        limits = np.iinfo(dtype)
        steps = self.rng.uniform(limits.min - zero - 3, limits.max - zero + 3, shape)
        ties = np.floor(steps) + 0.5
        values = (np.where(self.rng.random(shape) < 0.2, ties, steps) * scale).astype(np.float32)
        self.feeds[name] = values
        self.quantise(name, exactly(values), dtype, scale, zero, is_given=True)

    def quantise(self, name: str, value: Reals, dtype: str, scale: float, zero: int, *, is_given: bool = False) -> Quantised:
        """A value as bytes, to which later layers have access."""
        if value.low.size > MOST_ELEMENTS:
            raise Unfit
        made = self.node("QuantizeLinear", name, self.constant(np.float32(scale)), self.constant(np.array(zero, dtype)))
        found = Quantised(made, quantised(value, scale, zero, dtype, is_given=is_given), dtype, scale, zero)
        self.values.append(found)
        return found

    def finish(self, name: str, value: Reals) -> Quantised:
        """A value as bytes that reach as far as it does, further, or less far."""
        dtype = self.choose(BYTES)
        largest = float(np.max(np.abs(value.middle), initial=0.0)) or 1.0
        return self.quantise(name, value, dtype, self.scale(largest / self.choose([40.0, 127.0, 127.0, 200.0])), self.zero(dtype))

    def dequantise(self, x: Quantised) -> tuple[str, Reals]:
        """What bytes stand for; now and then with the zero point left out, or another scale than they were made with."""
        scale = self.scale(x.scale) if self.chance(0.1) else x.scale
        zero = 0 if self.chance(0.05) else x.zero
        parameters = [self.constant(np.float32(scale))]
        parameters += [] if zero == 0 and self.chance(0.5) else [self.constant(np.array(zero, x.dtype))]
        name = self.node("DequantizeLinear", x.name, *parameters)
        return name, dequantised(x.steps, scale, float(zero))
