"""Growing a program: each node is computed by onnxruntime as it is added, and refused where its results mean little."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import onnxruntime

import onnx
from onnx import helper, numpy_helper
from tests.support.random.onnx.program import IR_VERSION, OPSET, Value

T = TypeVar("T")

TWINS = 3
"""How many times the program is computed with other roundings."""
NOISE = 8.0
"""Rounding of a twin's results, in units of float32's, of the largest of them: elementary functions may be off by some units."""
UNIT_ROUNDOFF = 2.0**-24
MOST_SPREAD = 1e-3
"""Of twins, over the largest result: beyond, the value is too badly conditioned to be compared, or its choice has no margin."""
MOST_ELEMENTS = 12_000
MOST_ELEMENTS_OF_LARGE = 120_000
EMPTY = 0.06
"""Share of programs that may have tensors without elements."""
LARGEST, SMALLEST = 8.0, 0.125
"""Magnitudes beyond which floats are scaled back by a power of two."""
LARGEST_INTEGER = 2**20


class Unfit(Exception):
    """The node is not added."""


class Growing:
    """A program that grows. Values go by name; `batches` are the sizes of the batch, two for a dynamic one."""

    def __init__(self, seed: int, batches: tuple[int, ...], most_elements: int = MOST_ELEMENTS) -> None:
        self.rng = np.random.default_rng(seed)
        self.noise = np.random.default_rng([seed, 1])
        self.batches = batches
        self.most_elements = most_elements
        self.has_empty = bool(self.rng.random() < EMPTY)
        self.nodes: list[onnx.NodeProto] = []
        self.values: dict[str, Value] = {}
        self.readers: Counter[str] = Counter()
        self.recency = float(self.rng.uniform(0.3, 0.95))
        self._favourite, self._favoured = "", 0

    # Choices

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def whole(self, least: int, most: int) -> int:
        """A whole number, both ends included."""
        if least > most:
            raise Unfit
        return int(self.rng.integers(least, most + 1))

    def choose(self, options: Sequence[T]) -> T:
        """One of them."""
        if not options:
            raise Unfit
        return options[int(self.rng.integers(len(options)))]

    def some(self, options: Sequence[T], least: int = 1) -> list[T]:
        """Some of them, in order."""
        if not options:
            raise Unfit
        count = self.whole(min(least, len(options)), len(options))
        return [options[n] for n in sorted(self.rng.permutation(len(options))[:count])]

    def favour(self) -> None:
        """Now and then, one value is what the next nodes read."""
        self._favoured -= 1
        made = [name for node in self.nodes for name in node.output]
        if self._favoured < 0 and made and self.chance(0.2):
            self._favourite, self._favoured = self.choose(made), self.whole(2, 4)

    def pick(self, kind: str = "f", fits: Callable[[Value], bool] = lambda value: True) -> str:
        """A computed value: mostly a recent one, often one that is read already. `kind` has NumPy's letters."""
        names = [name for name, one in self.values.items() if is_of(one, kind) and not one.is_constant and fits(one)]
        if not names:
            raise Unfit
        if self._favoured >= 0 and self._favourite in names and self.chance(0.75):
            return self._favourite
        shared = [name for name in names if self.readers[name]]
        if shared and self.chance(0.3):
            return self.choose(shared)
        if self.chance(self.recency):
            return self.choose(names[-4:] if self.chance(0.5) else names[-1:])
        return self.choose(names)

    # Values

    def shape(self, name: str) -> tuple[int | None, ...]:
        return self.values[name].shape

    def fixed(self, name: str) -> list[int]:
        """The dimensions whose extents do not change with the batch."""
        return [axis for axis, extent in enumerate(self.shape(name)) if extent is not None]

    def input(self, array_of: Callable[[int], np.ndarray]) -> str:
        """A graph input; the array for each batch."""
        arrays = tuple(array_of(batch) for batch in self.batches)
        return self._declare("x", Value(arrays, (arrays,) * TWINS))

    def constant(self, array: Any, dtype: Any = None) -> str:
        given = np.asarray(array, dtype)
        arrays = (given,) * len(self.batches)
        return self._declare("c", Value(arrays, (arrays,) * TWINS, is_constant=True))

    def integers(self, *values: int) -> str:
        """A constant vector of int64."""
        return self.constant(np.array(values, np.int64))

    def floats(self, *shape: int, scale: float = 1.0, positive: bool = False) -> str:
        """A constant of random floats."""
        drawn = self.rng.uniform(0.5, 1.5, shape) if positive else self.rng.standard_normal(shape)
        return self.constant((drawn * scale).astype(np.float32))

    def _declare(self, letter: str, value: Value) -> str:
        name = f"{letter}{len(self.values)}"
        self.values[name] = value
        return name

    # Nodes

    def add(
        self, operator: str, *inputs: str, terms: int = 0, results: int = 1, is_masked: bool = False, **attributes: Any
    ) -> Any:
        """The results' names (one: itself). `terms` are summed for an element, 1 for a function; 0 for what is exact, which may
        be -inf if it `is_masked`.

        Raises `Unfit` where onnxruntime refuses, and for results that are too large, not finite or without a margin.
        """
        node = helper.make_node(operator, inputs, [f"r{number}" for number in range(results)], **attributes)
        values = [self._rounded(value, terms) for value in self._computed(node)]
        for value in values:
            check(value, self.most_elements, has_empty=self.has_empty, is_masked=is_masked)
        names = [self._declare("v", value) for value in values]
        node.output[:] = names
        self.nodes.append(node)
        self.readers.update(name for name in inputs if name)
        if terms:
            names = [self._scaled(name) for name in names]
        return names[0] if results == 1 else names

    def _computed(self, node: onnx.NodeProto) -> list[Value]:
        operands = {name: self.values[name] for name in node.input if name}
        run = single_node(node, operands)
        own = [run({n: one.arrays[batch] for n, one in operands.items()}) for batch in range(len(self.batches))]
        twins = [
            [run({n: one.twins[twin][batch] for n, one in operands.items()}) for batch in range(len(self.batches))]
            for twin in range(TWINS)
        ]
        return [
            Value(tuple(one[n] for one in own), tuple(tuple(one[n] for one in twin) for twin in twins))
            for n in range(len(node.output))
        ]

    def _rounded(self, value: Value, terms: int) -> Value:
        if not terms or value.dtype.kind != "f" or not np.isfinite(value.largest):
            return value
        size = NOISE * UNIT_ROUNDOFF * np.sqrt(terms) * value.largest
        twins = tuple(
            tuple(
                (one + size * self.noise.choice([-1.0, 1.0], one.shape) * self.noise.random(one.shape)).astype(one.dtype)
                for one in twin
            )
            for twin in value.twins
        )
        return Value(value.arrays, twins)

    def _scaled(self, name: str) -> str:
        value = self.values[name]
        if value.dtype.kind != "f" or not value.largest or SMALLEST <= value.largest <= LARGEST:
            return name
        factor = 2.0 ** -np.round(np.log2(value.largest))
        return str(self.add("Mul", name, self.constant(np.float32(factor))))


def is_of(value: Value, kind: str) -> bool:
    """Whether the elements are of a kind; floats are of single precision."""
    return value.dtype.kind in kind and value.dtype != np.float64


def check(value: Value, most_elements: int, *, has_empty: bool, is_masked: bool = False) -> None:
    """Raises `Unfit` for a value that is not worth comparing."""
    if value.size > most_elements or (min(one.size for one in value.arrays) == 0 and not has_empty):
        raise Unfit
    largest = value.largest_finite if is_masked else value.largest
    if not np.isfinite(largest):
        raise Unfit
    if any(a.shape != b.shape for twin in value.twins for a, b in zip(value.arrays, twin, strict=True)):
        raise Unfit
    if value.dtype.kind != "f":
        if value.spread or largest > LARGEST_INTEGER:
            raise Unfit
    elif value.spread > MOST_SPREAD * largest or largest > 1e4:
        raise Unfit


def single_node(node: onnx.NodeProto, operands: dict[str, Value]) -> Callable[[dict[str, np.ndarray]], list[np.ndarray]]:
    """onnxruntime's function of a node. Raises `Unfit` where it refuses."""
    given = [n for n, one in operands.items() if not one.is_constant]
    types = {n: helper.np_dtype_to_tensor_dtype(operands[n].dtype) for n in given}
    declared = [helper.make_tensor_value_info(n, types[n], [None] * operands[n].rank) for n in given]
    constants = [numpy_helper.from_array(one.arrays[0], n) for n, one in operands.items() if one.is_constant]
    wanted = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = helper.make_graph([node], "node", declared, wanted, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), plain_options(), providers=["CPUExecutionProvider"])
    except Exception as problem:
        raise Unfit(f"{node.op_type}: {problem}") from problem

    def run(arrays: dict[str, np.ndarray]) -> list[np.ndarray]:
        try:
            return [np.asarray(one) for one in session.run(None, {n: arrays[n] for n in given})]
        except Exception as problem:
            raise Unfit(f"{node.op_type}: {problem}") from problem

    return run


def plain_options() -> onnxruntime.SessionOptions:
    """One thread, no rewriting, no messages."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    return options
