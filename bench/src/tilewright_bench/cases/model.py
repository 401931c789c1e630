"""An ONNX model as a case of a benchmark: its file, operands, a reference, and the work that its plan counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.cli.model_feeds import completed, made_feed
from tilewright_bench.cases.case import DoubleArray, relative_error
from tilewright_bench.cases.required import NOTHING, Required

TABLE = "ONNX models"
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ModelCase:
    """One model file. `shapes` complete what it declares: shapes of inputs and extents of dimensions, by name; others are
    assumed."""

    path: Path
    shapes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    required: Required = NOTHING

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    @property
    def table(self) -> str:
        """One table for all models."""
        return TABLE

    @property
    def prepacked(self) -> bool:
        """Weights are constants."""
        return True

    @property
    def even(self) -> str:
        """No counterpart."""
        return ""

    @cached_property
    def feeds(self) -> dict[str, Array]:
        """An array for every input, the same in every run."""
        import tilewright.onnx as ort

        inputs = ort.InferenceSession(self.path, prepare=False).get_inputs()
        shapes, _ = completed(inputs, dict(self.shapes))
        return {declared.name: made_feed(declared, shapes[declared.name]) for declared in inputs}

    @cached_property
    def _work(self) -> tuple[int, int]:
        import tilewright.onnx as ort

        chains = ort.InferenceSession(self.path).profile(self.feeds).chains
        return sum(chain.flops for chain in chains), sum(chain.size_bytes for chain in chains)

    @property
    def flops(self) -> int:
        """Of all compiled chains, as their floors count them."""
        return self._work[0]

    @property
    def moved_bytes(self) -> int:
        """What all chains have to read and write at least: their inputs and outputs, weights included, each once."""
        return self._work[1]

    @cached_property
    def reference(self) -> list[DoubleArray]:
        """The outputs, by reference implementations: in the model's own types, apart from planning and generated code."""
        return [np.asarray(output, np.float64) for output in in_numpy(self.path, self.feeds)]

    def error(self, result: Array) -> float:
        """The largest of the outputs' differences, each relative to its reference's largest magnitude; `result` is `joined`."""
        expected = [output.ravel() for output in self.reference]
        if result.size != sum(output.size for output in expected):
            return float("inf")
        parts = np.split(result, np.cumsum([output.size for output in expected])[:-1])
        return max(relative_error(part, output) for part, output in zip(parts, expected, strict=True) if output.size)


def joined(outputs: Sequence[Array]) -> Array:
    """All outputs behind each other, as one array of numbers.

    >>> joined([np.array([[1, 2]]), np.array(True)]).tolist()
    [1.0, 2.0, 1.0]
    """
    return np.concatenate([np.asarray(output).ravel().astype(np.float64) for output in outputs])


def in_numpy(path: Path, feeds: dict[str, Array]) -> list[Array]:
    """A model's outputs with no node compiled."""
    from tilewright.api.onnx.steps import SessionContext, node_runner
    from tilewright.frontend.onnx.reading import load

    body, context = load(path).body, SessionContext()
    values: dict[str, Any] = {
        **body.constants,
        **{value.unique: feeds[value.name] for value in body.inputs if value.name in feeds},
    }
    for node in body.nodes:
        values.update(zip(node.outputs, node_runner(node, context).run(values), strict=True))
    return [values[value.unique] for value in body.outputs]
