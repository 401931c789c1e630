"""A network of linear layers as a case of a benchmark: rows, constant weights, float64 reference, and what it must reach."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tilewright_bench.cases import mlp_shapes
from tilewright_bench.cases.case import SEED, DoubleArray, FloatArray, normal, relative_error
from tilewright_bench.cases.mlp_networks import Float64, network
from tilewright_bench.cases.mlp_shapes import MlpShape, mlp_shape
from tilewright_bench.cases.required import NOTHING, Required
from tilewright_bench.cases.shape_case import ShapeCase

REQUIRED = {
    "mlp_64": Required(share=0.92),
    "mlp_32": Required(share=0.88),
    "low_rank": Required(ratio=1 / 0.97),
    "ffn_1": Required(read_share=0.92, ratio=1.10),
    "ffn_16": Required(ratio=1.10),
    "ffn_128": Required(ratio=1.10),
    "ffn_512": Required(ratio=1.00),
}
TABLES = {
    "MLPs and low rank": mlp_shapes.MLPS,
    "BERT's feed-forward network": mlp_shapes.FFNS,
    "gated, low-rank update, residual and layer norm": mlp_shapes.VARIANTS,
}


@dataclass(frozen=True)
class MlpCase(ShapeCase[MlpShape]):
    """One network."""

    @property
    def prepacked(self) -> bool:
        """Weights and biases are constants."""
        return True

    @cached_property
    def rows(self) -> FloatArray:
        """Standard normal data, the same in every run."""
        return normal((self.shape.rows, self.shape.width), 1.0, np.random.default_rng(SEED))

    @cached_property
    def weights(self) -> tuple[FloatArray, ...]:
        """(in, out) each, scaled so that activations keep their size (He et al., Delving Deep into Rectifiers, section 2.2)."""
        generator = np.random.default_rng(SEED + 1)
        return tuple(normal(matrix, float(np.sqrt(2 / matrix[0])), generator) for matrix in self.shape.matrices)

    @cached_property
    def biases(self) -> tuple[FloatArray, ...]:
        """One for each of the weights; not every network uses them."""
        generator = np.random.default_rng(SEED + 2)
        return tuple(normal((outer,), 0.1, generator) for _, outer in self.shape.matrices)

    @property
    def streamed(self) -> tuple[FloatArray, ...]:
        """What one row has to read, once, which binds it."""
        return self.weights if self.shape.rows == 1 else ()

    @property
    def result_shape(self) -> tuple[int, int]:
        """(rows, width of the last layer)."""
        return self.shape.result

    @cached_property
    def reference(self) -> DoubleArray:
        """The result in float64."""
        result: DoubleArray = network(self.shape, Float64(), self.rows.astype(np.float64), self.weights, self.biases)
        return result

    def error(self, result: np.ndarray[Any, Any]) -> float:
        """The largest difference to the reference, relative to its largest magnitude; infinite for another shape or NaN."""
        return relative_error(result, self.reference)


def mlp_cases(names: Sequence[str], odd_seed: int | None = None) -> list[MlpCase]:
    """The cases of these names, and behind them those of random odd sizes, if there is a seed for them."""
    even = [MlpCase(mlp_shape(name), _table(name), REQUIRED.get(name, NOTHING)) for name in names]
    if odd_seed is None:
        return even
    generator = random.Random(odd_seed)
    return [*even, *(MlpCase(case.shape.odd(generator), f"odd sizes, seed {odd_seed}", even=case.name) for case in even)]


def _table(name: str) -> str:
    return next(title for title, shapes in TABLES.items() if mlp_shape(name) in shapes)
