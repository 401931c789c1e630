"""A program: ONNX nodes, with the contents of every value that they read and make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import onnx
from onnx import helper, numpy_helper

OPSET = 21
IR_VERSION = 10


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor, for each size of the batch; `twins` are what it might have been, had sums been rounded differently."""

    arrays: tuple[np.ndarray, ...]
    twins: tuple[tuple[np.ndarray, ...], ...]
    is_constant: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.arrays[0].dtype

    @property
    def rank(self) -> int:
        return self.arrays[0].ndim

    @cached_property
    def shape(self) -> tuple[int | None, ...]:
        """None where the extent changes with the batch."""
        extents = zip(*(one.shape for one in self.arrays), strict=True)
        return tuple(several[0] if len(set(several)) == 1 else None for several in extents)

    @cached_property
    def names(self) -> tuple[int | str, ...]:
        """The shape as ONNX declares it: extents that change alike have the same name."""
        extents = zip(*(one.shape for one in self.arrays), strict=True)
        return tuple(several[0] if len(set(several)) == 1 else "N" + "_".join(map(str, several)) for several in extents)

    @cached_property
    def size(self) -> int:
        return max(one.size for one in self.arrays)

    @cached_property
    def largest(self) -> float:
        """The largest magnitude; not a number if an element is not."""
        return max((float(np.abs(one.astype(np.float64)).max()) for one in self.arrays if one.size), default=0.0)

    @cached_property
    def largest_finite(self) -> float:
        """The same without elements of -inf, as masks make them."""
        finite = [one[one != -np.inf] for one in self.arrays]
        return max((float(np.abs(one.astype(np.float64)).max()) for one in finite if one.size), default=0.0)

    @cached_property
    def spread(self) -> float:
        """The largest difference of a twin."""
        pairs = [(own, other) for twin in self.twins for own, other in zip(self.arrays, twin, strict=True) if own.size]
        return max((_apart(own, other) for own, other in pairs), default=0.0)


def _apart(own: np.ndarray, other: np.ndarray) -> float:
    """The largest difference of finite elements."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(own.astype(np.float64) - other.astype(np.float64))
    return float(np.max(apart, initial=0.0, where=np.isfinite(apart)))


@dataclass(frozen=True, eq=False)
class Program:
    """Nodes in order, and the values that are wanted of them."""

    name: str
    nodes: tuple[onnx.NodeProto, ...]
    values: Mapping[str, Value]
    outputs: tuple[str, ...]
    target: str
    """The machine to compile for."""
    threads: int = 1
    opset: int = OPSET

    def with_nodes(self, nodes: tuple[onnx.NodeProto, ...], outputs: tuple[str, ...]) -> Program:
        """Another program over the same values: what it reads and does not make becomes an input."""
        return replace(self, nodes=nodes, outputs=outputs)

    def live(self) -> Program:
        """Without nodes that nobody reads."""
        wanted, kept = set(self.outputs), []
        for node in reversed(self.nodes):
            if wanted.intersection(node.output):
                kept.append(node)
                wanted.update(reads(node))
        return self.with_nodes(tuple(reversed(kept)), self.outputs)

    def is_complete(self) -> bool:
        """Whether the contents of all that is given and wanted are known."""
        return all(name in self.values for name in (*self._free, *self.outputs))

    @property
    def batches(self) -> range:
        return range(len(next(iter(self.values.values())).arrays))

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The values that are given."""
        return tuple(name for name in self._free if not self.values[name].is_constant)

    @cached_property
    def _free(self) -> tuple[str, ...]:
        made = {name for node in self.nodes for name in node.output}
        read = [name for node in self.nodes for name in reads(node)]
        return tuple(dict.fromkeys(name for name in (*read, *self.outputs) if name not in made))

    def feeds(self, batch: int) -> dict[str, np.ndarray]:
        return {name: self.values[name].arrays[batch] for name in self.inputs}

    def model(self) -> onnx.ModelProto:
        """The ONNX model; a checked one."""
        declared = [self._info(name) for name in self.inputs]
        constants = [numpy_helper.from_array(self.values[n].arrays[0], n) for n in self._free if self.values[n].is_constant]
        wanted = [self._info(name) for name in self.outputs]
        graph = helper.make_graph(self.nodes, self.name, declared, wanted, constants)
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)

    def _info(self, name: str) -> onnx.ValueInfoProto:
        value = self.values[name]
        is_given = name in self.inputs
        shape = [extent if isinstance(extent, int) or is_given or name == "N" else None for extent in value.names]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), shape)

    def text(self) -> str:
        """The program as people read it."""
        shown = [f"# {self.name}: for {self.target} on {self.threads} thread(s), {len(self.nodes)} nodes"]
        for name in self._free:
            value = self.values[name]
            kind = "constant" if value.is_constant else "input"
            small = f" = {value.arrays[0].tolist()}" if value.is_constant and value.size <= 16 else ""
            shown.append(f"{kind} {name}: {value.dtype}{_shape(value)}{small}")
        for node in self.nodes:
            attributes = ", ".join(f"{one.name}={helper.get_attribute_value(one)}" for one in node.attribute)
            made = ", ".join(f"{name}{_shape(self.values[name])}" for name in node.output if name)
            shown.append(f"{made} = {node.op_type}({', '.join(node.input)}{'; ' if attributes else ''}{attributes})")
        return "\n".join([*shown, f"return {', '.join(self.outputs)}"])


def reads(node: onnx.NodeProto) -> Iterator[str]:
    """The names that a node reads; those that its graphs capture, too."""
    yield from filter(None, node.input)
    for graph in (attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH):
        own = {one.name for one in (*graph.input, *graph.initializer)} | {name for inner in graph.node for name in inner.output}
        yield from (name for inner in graph.node for name in reads(inner) if name not in own)


def _shape(value: Value) -> str:
    return f"({', '.join(map(str, value.names))})"
