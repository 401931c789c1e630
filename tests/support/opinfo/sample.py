"""A sample: an ONNX model of an operator with its inputs; as a program, with the contents of all values by onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

from tests.support.random.onnx.growing import TWINS, UNIT_ROUNDOFF, plain_options
from tests.support.random.onnx.program import Program, Value

NOISE = 64 * UNIT_ROUNDOFF
"""Relative change of a twin's inputs, which stands for all roundings on the way to the outputs."""
FLOOR = 16 * UNIT_ROUNDOFF
"""Change of a twin's results, of the largest of them."""
TARGETS = ("x86-64-v2", "x86-64-v3")
MOST_ELEMENTS = 100_000


class Skipped(Exception):
    """There is nothing to compare, for this reason."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A model, with the contents of its inputs by name."""

    seed: int
    name: str
    """The operator and its type."""
    model: onnx.ModelProto
    feeds: dict[str, np.ndarray]

    @property
    def target(self) -> str:
        """The machine to compile for."""
        return TARGETS[self.seed % len(TARGETS)]

    def program(self) -> Program:
        """With the contents of all values by onnxruntime. Raises `Skipped`."""
        graph = self.model.graph
        wanted = tuple(one.name for one in graph.output)
        draws = np.random.default_rng([self.seed, 1])
        twins = [{n: _shaken(one, draws) for n, one in self.feeds.items()} for _ in range(TWINS)]
        run = _everything(self.model)
        own, others = run(self.feeds), [run(one) for one in twins]
        values = {n: _value(n, own, others, draws) for n in own if all(_is_tensor(one[n]) for one in (own, *others))}
        values |= {one.name: _constant(numpy_helper.to_array(one)) for one in graph.initializer}
        constants = [name for node in graph.node if node.op_type == "Constant" for name in node.output]
        values |= {name: _constant(values[name].arrays[0]) for name in constants if name in values}
        if any(name not in values for name in wanted):
            raise Skipped("results that are no tensors")
        if any(one.size > MOST_ELEMENTS for one in values.values()):
            raise Skipped("large tensors")
        if any(values[name].spread and values[name].dtype.kind != "f" for name in wanted):
            raise Skipped("results without a margin")
        opset = self.model.opset_import[0].version
        return Program(f"{self.name}, sample {self.seed}", tuple(graph.node), values, wanted, self.target, 1, opset)


def _everything(model: onnx.ModelProto) -> Any:
    """onnxruntime's function of all values of a model, by name."""
    inspected = onnx.ModelProto()
    inspected.CopyFrom(model)
    made = [name for node in model.graph.node for name in node.output if name]
    inspected.graph.output.extend(onnx.ValueInfoProto(name=name) for name in dict.fromkeys(made))
    del inspected.graph.output[: len(model.graph.output)]
    inspected.graph.output.extend(one for one in model.graph.output if one.name not in made)
    try:
        session = onnxruntime.InferenceSession(inspected.SerializeToString(), plain_options(), providers=["CPUExecutionProvider"])
    except Exception as problem:
        raise Skipped("onnxruntime refuses") from problem
    names = [one.name for one in session.get_outputs()]

    def run(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        try:
            return {**arrays, **dict(zip(names, session.run(None, arrays), strict=True))}
        except Exception as problem:
            raise Skipped("onnxruntime refuses") from problem

    return run


def _is_tensor(value: Any) -> bool:
    return isinstance(value, np.ndarray) and not value.dtype.hasobject


def _shaken(array: np.ndarray, draws: np.random.Generator) -> np.ndarray:
    if array.dtype.kind != "f":
        return array
    return (array * (1 + NOISE * draws.uniform(-1, 1, array.shape))).astype(array.dtype)


def _value(name: str, own: dict[str, Any], others: list[dict[str, Any]], draws: np.random.Generator) -> Value:
    array = own[name]
    twins = tuple((other[name] if other[name].shape == array.shape else array,) for other in others)
    if array.dtype.kind == "f" and array.size:
        size = FLOOR * float(np.max(np.abs(array), initial=0.0, where=np.isfinite(array)))
        with np.errstate(over="ignore"):
            twins = tuple(((one + draws.choice([-size, size], one.shape)).astype(one.dtype),) for (one,) in twins)
    return Value((array,), twins)


def _constant(array: np.ndarray) -> Value:
    return Value((array,), ((array,),) * TWINS, is_constant=True)
