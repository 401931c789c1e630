"""A convolution as a case of a benchmark: image, constant filters, float64 reference, and what it must reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from tilewright_bench.cases import conv_models
from tilewright_bench.cases.case import SEED, DoubleArray, FloatArray, normal, relative_error
from tilewright_bench.cases.conv_shapes import ConvShape
from tilewright_bench.cases.required import Required
from tilewright_bench.cases.shape_case import ShapeCase

MODELS_TABLE = "convolutions of seven models"
NAMED_TABLE = "convolutions by name"


@dataclass(frozen=True)
class ConvCase(ShapeCase[ConvShape]):
    """One convolution of one image in NCHW, without bias or activation."""

    @property
    def prepacked(self) -> bool:
        """Filters are constants."""
        return True

    @cached_property
    def image(self) -> FloatArray:
        """Standard normal data, the same in every run: [1, channels, *points]."""
        return normal(self.shape.image_shape, 1.0, np.random.default_rng(SEED))

    @cached_property
    def filters(self) -> FloatArray:
        """[filters, channels of a group, *taps], scaled so that results are as large as the image's elements."""
        return normal(self.shape.filter_shape, prod(self.shape.filter_shape[1:]) ** -0.5, np.random.default_rng(SEED + 1))

    @property
    def result_shape(self) -> tuple[int, ...]:
        """(1, filters, outputs of each dimension)."""
        return self.shape.result_shape

    @cached_property
    def reference(self) -> DoubleArray:
        """The result in float64: a product of matrices for every tap."""
        return convolved(self.shape, self.image, self.filters)

    def error(self, result: np.ndarray[Any, Any]) -> float:
        """The largest difference to the reference, relative to its largest magnitude; infinite for another shape or NaN."""
        return relative_error(result, self.reference)


def convolved(shape: ConvShape, image: FloatArray, filters: FloatArray) -> DoubleArray:
    """The sum over the taps of the filters' weights there times the points that the tap sees, in float64."""
    borders = ((0, 0), (0, 0), *((border, border) for border in shape.padding))
    padded = np.pad(image.astype(np.float64), borders).reshape(shape.groups, shape.channels // shape.groups, *_padded(shape))
    weights = filters.astype(np.float64).reshape(shape.groups, shape.filters // shape.groups, *shape.filter_shape[1:])
    result = np.zeros((shape.groups, shape.filters // shape.groups, prod(shape.output)))
    for tap in product(*map(range, shape.kernel)):
        steps = zip(tap, shape.dilation, shape.stride, shape.output, strict=True)
        seen = (slice(t * gap, t * gap + step * (outputs - 1) + 1, step) for t, gap, step, outputs in steps)
        everything: tuple[Any, ...] = (slice(None), slice(None))
        points = padded[(*everything, *seen)].reshape(*padded.shape[:2], -1)
        result += weights[(*everything, slice(None), *tap)] @ points
    return result.reshape(shape.result_shape)


def model_cases(models: Sequence[str]) -> list[ConvCase]:
    """Every shape of some models, once."""
    shapes = dict.fromkeys(shape for model in models for shape in conv_models.layers(model))
    return [ConvCase(shape, MODELS_TABLE, Required(ratio=0.92)) for shape in shapes]


def named_cases(shapes: Sequence[ConvShape]) -> list[ConvCase]:
    """Shapes that a user names: shown without a requirement."""
    return [ConvCase(shape, NAMED_TABLE) for shape in shapes]


def _padded(shape: ConvShape) -> tuple[int, ...]:
    return tuple(points + 2 * border for points, border in zip(shape.image, shape.padding, strict=True))
