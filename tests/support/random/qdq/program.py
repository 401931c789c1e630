"""A program of quantised layers: ONNX nodes, constants, inputs, and between which numbers its results must lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.support.random.qdq.reals import Reals

OPSET, IR_VERSION = 17, 8


@dataclass(frozen=True, eq=False)
class Quantised:
    """Bytes of a program: their name, what they may be, and what a step stands for."""

    name: str
    steps: Reals
    dtype: str
    scale: float
    zero: int

    @property
    def shape(self) -> tuple[int, ...]:
        return self.steps.shape


@dataclass(frozen=True, eq=False)
class Program:
    """Nodes in order; `results` by the name of each output."""

    name: str
    nodes: tuple[onnx.NodeProto, ...]
    constants: dict[str, Any]
    feeds: dict[str, Any]
    results: dict[str, Reals]
    types: dict[str, str]
    target: str
    threads: int

    def model(self) -> onnx.ModelProto:
        """The ONNX model."""
        given = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in self.feeds.items()
        ]
        wanted = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(self.types[name])), value.shape)
            for name, value in self.results.items()
        ]
        weights = [numpy_helper.from_array(value, name) for name, value in self.constants.items()]
        graph = helper.make_graph(self.nodes, self.name, given, wanted, weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)

    def difference(self, outputs: list[Any]) -> str:
        """How results are wrong; nothing if they are not."""
        for (name, allowed), found in zip(self.results.items(), outputs, strict=True):
            if (found.dtype.name, found.shape) != (self.types[name], allowed.shape):
                return f"{name} is {found.dtype}{found.shape}, not {self.types[name]}{allowed.shape}"
            values = found.astype(np.float64)
            wrong = ~((allowed.low <= values) & (values <= allowed.high))
            if wrong.any():
                place = tuple(map(int, np.argwhere(wrong)[0]))
                exact = int(wrong[allowed.low == allowed.high].sum())
                bounds = f"{values[place]} is not in {allowed.low[place]} to {allowed.high[place]}"
                return f"{name}: {wrong.sum()} of {wrong.size} elements, {exact} of them exact; at {list(place)} {bounds}"
        return ""

    def text(self) -> str:
        """The program as people read it."""
        lines = [f"# {self.name}: for {self.target} on {self.threads} thread(s), {len(self.nodes)} nodes"]
        for name, value in (*self.feeds.items(), *self.constants.items()):
            kind = "input" if name in self.feeds else "constant"
            small = f" = {value.tolist()}" if value.size <= 8 else ""
            lines.append(f"{kind} {name}: {value.dtype}{list(value.shape)}{small}")
        for node in self.nodes:
            attributes = {one.name: helper.get_attribute_value(one) for one in node.attribute}
            lines.append(f"{', '.join(node.output)} = {node.op_type}({', '.join(node.input)}) {attributes or ''}")
        return "\n".join(lines)
