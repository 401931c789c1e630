"""A chain of convolutions as a case of a benchmark: image, constant filters and biases, float64 reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from tilewright_bench.cases import conv_chain_shapes
from tilewright_bench.cases.case import SEED, DoubleArray, FloatArray, normal, relative_error
from tilewright_bench.cases.conv_chain_networks import Float64, chain
from tilewright_bench.cases.conv_chain_shapes import ConvChain, conv_chain
from tilewright_bench.cases.shape_case import ShapeCase


@dataclass(frozen=True)
class ConvChainCase(ShapeCase[ConvChain]):
    """One chain."""

    @property
    def prepacked(self) -> bool:
        """Filters and biases are constants."""
        return True

    @cached_property
    def image(self) -> FloatArray:
        """Standard normal data, the same in every run: [1, channels, height, width]."""
        return normal(self.shape.image_shape, 1.0, np.random.default_rng(SEED))

    @cached_property
    def filters(self) -> tuple[FloatArray, ...]:
        """[filters, channels of a group, *taps] each, scaled so that activations keep their size (He et al., Delving Deep into
        Rectifiers, section 2.2)."""
        generator = np.random.default_rng(SEED + 1)
        shapes = [convolution.filter_shape for convolution in self.shape.convolutions]
        return tuple(normal(shape, (2 / prod(shape[1:])) ** 0.5, generator) for shape in shapes)

    @cached_property
    def biases(self) -> tuple[FloatArray, ...]:
        """One for each convolution; not every chain uses them."""
        generator = np.random.default_rng(SEED + 2)
        return tuple(normal((convolution.filters,), 0.1, generator) for convolution in self.shape.convolutions)

    @property
    def result_shape(self) -> tuple[int, ...]:
        """(1, filters of the last convolution, height, width)."""
        return self.shape.result_shape

    @cached_property
    def reference(self) -> DoubleArray:
        """The result in float64."""
        result: DoubleArray = chain(self.shape, Float64(), self.image.astype(np.float64), self.filters, self.biases)
        return result

    def error(self, result: np.ndarray[Any, Any]) -> float:
        """The largest difference to the reference, relative to its largest magnitude; infinite for another shape or NaN."""
        return relative_error(result, self.reference)


def conv_chain_cases(names: Sequence[str]) -> list[ConvChainCase]:
    """The cases of these names."""
    return [ConvChainCase(conv_chain(name), _table(name)) for name in names]


def _table(name: str) -> str:
    return next(title for title, shapes in conv_chain_shapes.TABLES.items() if conv_chain(name) in shapes)
