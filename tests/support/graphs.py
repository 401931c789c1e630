"""Small graphs for tests: one operator between its inputs and its output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph, Operator, Tensor
from tilewright.graph.verifier import verify


def single(operator: Operator, result: Tensor, inputs: Sequence[Tensor]) -> Graph:
    """The graph of one operator."""
    names = tuple(dict.fromkeys(tensor.name for tensor in inputs))
    declared = tuple({tensor.name: tensor for tensor in (*inputs, result)}.values())
    return Graph("test", declared, (operator,), names, (result.name,))


def run(built: tuple[Operator, Tensor], inputs: Sequence[Tensor], values: Mapping[str, Any], dtype: str | None = None) -> Any:
    """Verify and interpret one operator."""
    graph = single(*built, inputs)
    verify(graph)
    return evaluate(graph, values, dtype=dtype)[built[1].name]


def random(*shape: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Normally distributed float32 values."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
