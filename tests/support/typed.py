"""Graphs of operators in many element types, built one by one, and run against their NumPy reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes  # noqa: F401  (NumPy then knows bfloat16)
import numpy as np

from tilewright import compiler
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Graph, Operator, Tensor
from tilewright.machine import Machine
from tilewright.plan.supported import obstacle

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
TYPES = ("bool", *INTEGERS, *FLOATS)
EXTREMES = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -0.75, 300.0, -200.0, 65504.0, 65519.9, 65520.0, 1e-8, 6e-8, 3.4e38)
SPECIAL = (*EXTREMES, np.inf, -np.inf, np.nan)
Array = np.ndarray[Any, np.dtype[Any]]


class Graphs:
    """A graph that grows by operators, with values for its inputs."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.values: dict[str, Array] = {}

    def input(self, value: Array) -> Tensor:
        """A new input that has this value."""
        tensor = Tensor(f"x{len(self.values)}", value.shape, value.dtype.name)
        self.values[tensor.name] = value
        self.tensors.append(tensor)
        return tensor

    def add(self, build: Callable[..., tuple[Operator, Tensor]], *arguments: Any, **options: Any) -> Tensor:
        """The result of a new operator."""
        number = len(self.operators)
        operator, result = build(*arguments, **options, name=f"f{number}", result=f"y{number}")
        self.operators.append(operator)
        self.tensors.append(result)
        assert obstacle(operator, {tensor.name: tensor for tensor in self.tensors}) == ""
        return result

    def graph(self, *outputs: Tensor) -> Graph:
        """The graph with these outputs; without any, what no operator reads."""
        read = {access.tensor for operator in self.operators for access in operator.reads}
        unread = tuple(op.write.tensor for op in self.operators if op.write.tensor not in read)
        names = tuple(tensor.name for tensor in outputs) or unread
        return Graph("test", tuple(self.tensors), tuple(self.operators), tuple(self.values), names)


def run(graph: Graph, values: Mapping[str, Array], target: str, threads: int = 2) -> list[Array]:
    """The outputs by generated code."""
    executable = compiler.build(compiler.plan(graph, Machine.named(target)), threads=threads)
    inputs = [values[name] for name in graph.inputs]
    outputs = executable.new_outputs(inputs)
    executable.run(inputs, outputs)
    return outputs


def meanings(graph: Graph, values: Mapping[str, Array]) -> list[Array]:
    """The outputs by the interpreter."""
    found = evaluate(graph, values)
    return [found[name] for name in graph.outputs]


def sample(dtype: str, count: int, seed: int = 0) -> Array:
    """Random elements, and the extremes of a type."""
    generator = np.random.default_rng(seed)
    if dtype == "bool":
        return generator.random(count) < 0.5
    if dtype in INTEGERS:
        limits = np.iinfo(dtype)
        few = np.array([0, 1, 2, 3, 7, limits.min, limits.max, limits.max - 1], dtype)
        wide = generator.integers(limits.min, limits.max, count // 2, dtype, endpoint=True)
        return np.resize(np.concatenate([few, wide, generator.integers(0, 12, count // 2).astype(dtype)]), count)
    with np.errstate(all="ignore"):
        return np.resize(np.concatenate([np.array(SPECIAL), generator.standard_normal(count) * 100]), count).astype(dtype)


def assert_same(got: Array, expected: Array) -> None:
    """Equal, all NaN alike."""
    assert got.dtype == expected.dtype
    wide = "f8" if got.dtype.name == "bfloat16" else got.dtype
    np.testing.assert_array_equal(got.astype(wide), expected.astype(wide))
