"""Tensors made of attributes, extents, positions and random numbers.

ConstantOfShape: a tensor of one value that an attribute gives, in a shape that an operand gives. Range: evenly spaced numbers, as
many as fit before a limit. EyeLike and Trilu: ones on a diagonal, and the part of matrices above or below one; zeros elsewhere.

Random tensors: normal and uniform numbers, ones by probabilities (Bernoulli), classes (Multinomial), and Dropout. ONNX leaves the
generator open: a seed gives the same numbers at every call, none gives new ones. Dropout leaves elements out at random in
training, and scales the others up; in inference it does nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_function, onnx_operator
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.operators.operands import known
from tilewright.frontend.onnx.sizes import check_size
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import arange, broadcast, map_of, range_length
from tilewright.graph.builders.triangles import eye, triangle
from tilewright.graph.expressions.conditions import SPREAD
from tilewright.graph.expressions.extents import least_extent
from tilewright.graph.expressions.scalar import Literal
from tilewright.graph.numpy_types import is_short_float
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Extent, SymbolicExtent, Tensor, planned_extent

SMALL = 1024
"""Elements up to which they are stored as a constant instead of computed."""
LARGEST_WHOLE_FLOAT64 = 2**53
"""Integers up to which bodies, whose numbers are float64, can hold."""


@onnx_operator("ConstantOfShape", since=9)
class ConstantOfShape(SchemaAttributes):
    """A tensor of one value, float32 zeros without one."""

    def reference(self, shape: Any) -> Any:
        element = self._element()
        extents = check_size(np.asarray(shape).reshape(-1).tolist(), "ConstantOfShape")
        return np.full(extents, element.reshape(-1)[0], element.dtype)

    def lower(self, builder: Builder, shape: Tensor) -> Tensor:
        """A map that reads nothing, or one integer that is no number of bodies; a small one of known shape is a constant."""
        extents = builder.integers(shape)
        element = self._element()
        check_size(list(map(least_extent, extents)), "ConstantOfShape")
        whole = [extent for extent in extents if isinstance(extent, int)]
        if len(whole) == len(extents) and math.prod(whole) <= SMALL:
            return builder.constant(self.reference(whole))
        number = element.reshape(-1)[:1]
        if number.dtype.kind in "iu" and abs(int(number[0])) > LARGEST_WHOLE_FLOAT64:
            return builder.record(broadcast, builder.constant(number), extents, kind="broadcast")
        dtype = element.dtype.name
        return builder.record(map_of, "full", extents, (), Literal(float(number[0])), dtype, computed=dtype, kind="full")

    def _element(self) -> Any:
        return np.zeros(1, np.float32) if self.value is None else np.asarray(self.value)


STASH_TYPES = ("float32", "float64")
"""Types that ONNX's reference implementation computes short floating-point numbers in."""


@onnx_operator("Range", since=11)
class Range(SchemaAttributes):
    """start, start + delta, ... before the limit; short floating-point numbers are computed in `stash_type`."""

    def reference(self, start: Any, limit: Any, delta: Any) -> Any:
        dtype = np.asarray(start).dtype
        computed = self._computed_in(dtype)
        first, last, step = (np.asarray(operand, computed).reshape(-1)[0] for operand in (start, limit, delta))
        if step == 0:
            raise ShapeError("a range with steps of 0", where="Range")
        (count,) = check_size([planned_extent(range_length(first.item(), last.item(), step.item()))], "Range")
        positions = np.arange(count).astype(computed) if dtype.kind in "iu" or computed != dtype else np.arange(count)
        with np.errstate(over="ignore"):
            return (first + positions * step).astype(dtype)

    def lower(self, builder: Builder, start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
        """Constants, or the positions along an axis: 0, 1, ... up to an extent that is known at run time, too."""
        first, last, step = (builder.constant_value(operand).reshape(-1)[0] for operand in (start, limit, delta))
        if any(isinstance(number, SymbolicExtent) for number in (first, last, step)):
            if isinstance(step, SymbolicExtent) or step == 0:
                raise UnsupportedOperation(f"Range from {first} to {last} by {step}", why="its step is known at run time")
            count = range_length(_exact(first), _exact(last), int(step))
            return builder.record(arange, count, _exact(first), int(step), start.dtype, kind="arange")
        numbers = self.reference(*(np.asarray(number, start.dtype) for number in (first, last, step)))
        if numbers.size <= SMALL or not float(step).is_integer() or not float(first).is_integer():
            return builder.constant(numbers)
        try:
            return builder.record(arange, numbers.size, float(first), float(step), start.dtype, kind="arange")
        except ShapeError:
            return builder.constant(numbers)

    def _computed_in(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        """The type that numbers are computed in. Raises `UnsupportedOperation` for a stash type that ONNX gives no meaning."""
        if not is_short_float(dtype):
            return dtype
        stash = element_type(self.stash_type)
        if stash.name not in STASH_TYPES:
            why = f"{dtype} is computed in {' or '.join(STASH_TYPES)}"
            raise UnsupportedOperation(f"Range with stash_type {stash}", where="Range", why=why)
        return stash


def _exact(number: Any) -> Extent:
    return number if isinstance(number, SymbolicExtent) else int(number)


def generator_of(seed: float | None) -> np.random.Generator:
    """A generator for a seed, which may be any float32, or for none."""
    return np.random.default_rng(None if seed is None else int(np.float32(seed).view(np.uint32)))


@onnx_operator("RandomNormal", is_random=True)
@onnx_operator("RandomNormalLike", is_random=True)
class RandomNormal(SchemaAttributes):
    """Numbers with a mean and a standard deviation, `scale`; if x is given, in its shape and, without `dtype`, in its type."""

    def reference(self, *like: Any) -> Any:
        shape, dtype = _drawn(self, *like)
        return generator_of(self.seed).normal(self.mean, abs(self.scale), shape).astype(dtype)


@onnx_operator("RandomUniform", is_random=True)
@onnx_operator("RandomUniformLike", is_random=True)
class RandomUniform(SchemaAttributes):
    """Numbers from [low, high); if x is given, in its shape and, without `dtype`, in its type."""

    def reference(self, *like: Any) -> Any:
        shape, dtype = _drawn(self, *like)
        return generator_of(self.seed).uniform(self.low, self.high, shape).astype(dtype)


def _drawn(operator: Any, like: Any = None) -> tuple[tuple[int, ...], Any]:
    """The shape and the type of a result: those of attributes, or those of an operand but for a type that is given."""
    shape = check_size(operator.shape, "random numbers") if like is None else np.shape(like)
    return shape, like.dtype if operator.dtype is None else element_type(operator.dtype)


@onnx_operator("Bernoulli", since=15, is_random=True)
class Bernoulli(SchemaAttributes):
    """1 with the probability that x gives, else 0."""

    def reference(self, x: Any) -> Any:
        shape, dtype = _drawn(self, x)
        return (generator_of(self.seed).random(shape) < np.asarray(x, np.float64)).astype(dtype)


@onnx_function("Multinomial", since=7, is_random=True)
def multinomial(x: Any, *, dtype: Any, sample_size: Any, seed: Any) -> Any:
    """For every row of log-probabilities [batch, classes], which need not be normalized, `sample_size` classes."""
    if np.ndim(x) != 2 or not x.shape[1]:
        text = f"log-probabilities of shape {np.shape(x)}"
        raise ShapeError(text, where="Multinomial", why="[batch, classes] is wanted")
    shape = check_size((x.shape[0], sample_size), "Multinomial")
    shares = np.cumsum(np.exp(np.asarray(x, np.float64) - x.max(axis=1, keepdims=True)), axis=1)
    drawn = generator_of(seed).random(shape) * shares[:, -1:]
    rows = [np.searchsorted(share, row, side="right") for share, row in zip(shares, drawn, strict=True)]
    return np.minimum(np.reshape(rows, shape), x.shape[1] - 1).astype(element_type(dtype))


@onnx_operator("Dropout", since=7, by_attribute={"ratio": 0.5})
@onnx_operator("Dropout", since=12, is_random=True)
class Dropout(SchemaAttributes):
    """The operand, and which of its elements were kept."""

    seed: int | None = None
    """Before opset 12."""

    def reference(self, x: Any, ratio: Any = None, training_mode: Any = None) -> Any:
        share = 0.5 if ratio is None else float(np.asarray(ratio).reshape(()))
        is_training = training_mode is not None and bool(np.asarray(training_mode).reshape(()))
        kept = np.ones(x.shape, bool)
        result = x
        if is_training and share:
            kept = np.random.RandomState(self.seed).uniform(0, 1, x.shape) >= share
            result = np.asarray(x * kept / (1 - share), x.dtype)
        return (result, kept) if self.output_count > 1 else result

    def lower(self, builder: Builder, x: Tensor, ratio: Tensor | None = None, training_mode: Tensor | None = None) -> Any:
        """Nothing, in inference."""
        if training_mode is not None and builder.constant_value(training_mode).any():
            raise UnsupportedOperation("Dropout in training in generated code")
        if self.output_count < 2:
            return x
        return x, builder.constant(np.ones(known(x.shape, "the mask of Dropout in extents"), bool))


@onnx_operator("Trilu", since=14)
class Trilu(SchemaAttributes):
    """The triangle with the diagonal k."""

    def reference(self, x: Any, k: Any = None) -> Any:
        _check_matrices(x, "Trilu")
        diagonal = 0 if k is None else int(np.asarray(k).reshape(-1)[0])
        diagonal = max(-SPREAD, min(diagonal, SPREAD))
        return np.triu(x, diagonal) if self.upper else np.tril(x, diagonal)

    def lower(self, builder: Builder, x: Tensor, k: Tensor | None = None) -> Tensor:
        """A comparison of positions."""
        _check_matrices(x, "Trilu")
        diagonal = 0 if k is None else int(builder.constant_value(k).reshape(-1)[0])
        return builder.record(triangle, x, diagonal, bool(self.upper), kind="trilu")


def _check_matrices(x: Any, where: str, most: float = math.inf) -> None:
    """Raise `ShapeError` for other numbers of dimensions; arrays or tensors."""
    if not 2 <= len(x.shape) <= most:
        raise ShapeError(f"a diagonal of shape {shape_text(x.shape)}", where=where)


@onnx_operator("EyeLike", since=9)
class EyeLike(SchemaAttributes):
    """Of the shape of a matrix and, without `dtype`, of its type."""

    def reference(self, x: Any) -> Any:
        _check_matrices(x, "EyeLike", most=2)
        return np.eye(x.shape[0], x.shape[1], self.k).astype(x.dtype if self.dtype is None else element_type(self.dtype))

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        """A comparison of positions that reads nothing."""
        _check_matrices(x, "EyeLike", most=2)
        target = x.dtype if self.dtype is None else element_type(self.dtype).name
        if target == "object":
            raise DTypeError("a diagonal of strings", where="EyeLike")
        return builder.record(eye, x.shape, self.k, target, kind="eye")
