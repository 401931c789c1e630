"""A program of ONNX operators with one right result each: steps, what they are given, and what every step gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from tests.support.onnx_operators import operator
from tilewright.errors import UnsupportedOperation
from tilewright.graph.builders.builder import Builder, NotKnown
from tilewright.graph.types import Graph, Tensor

OPSET = 22
Array: TypeAlias = "np.ndarray[Any, Any]"


@dataclass(frozen=True)
class Step:
    """An operator: its attributes, the names of its operands, and that of its result."""

    op_type: str
    attributes: tuple[tuple[str, Any], ...]
    operands: tuple[str, ...]
    result: str

    def operator(self) -> Any:
        """With `reference`, and perhaps `lower`."""
        return operator(self.op_type, OPSET, **dict(self.attributes))

    def text(self) -> str:
        """As people read it."""
        attributes = "".join(f", {name}={value}" for name, value in self.attributes)
        return f"{self.result} = {self.op_type}({', '.join(self.operands)}{attributes})"


@dataclass(frozen=True, eq=False)
class Program:
    """Steps in order, and `values` by name: of what is given, and what the steps make of it. Some of the given are constants."""

    name: str
    values: Mapping[str, Array]
    steps: tuple[Step, ...]
    constants: frozenset[str]

    @property
    def results(self) -> tuple[str, ...]:
        """What no step reads."""
        read = {name for step in self.steps for name in step.operands}
        return tuple(step.result for step in self.steps if step.result not in read)

    def with_steps(self, steps: Sequence[Step]) -> Program:
        """Only these steps: what others made is given."""
        return replace(self, steps=tuple(steps))

    def given(self) -> tuple[str, ...]:
        """What is read and made by no step."""
        made = {step.result for step in self.steps}
        return tuple(dict.fromkeys(name for step in self.steps for name in step.operands if name not in made))

    def text(self) -> str:
        """The program as people read it."""
        lines = [f"# {self.name}"]
        for name in self.given():
            value = self.values[name]
            kind = "constant" if name in self.constants else "input"
            lines.append(f"{kind} {name}: {value.dtype}{list(value.shape)} = {value.tolist() if value.size <= 64 else '...'}")
        lines += [step.text() for step in self.steps]
        lines += [f"right: {name} = {self.values[name].dtype} {self.values[name].tolist()}" for name in self.results]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Joined:
    """The graph of several programs, its inputs' values, and by output the program and the result that it is."""

    graph: Graph
    feeds: Mapping[str, Array]
    outputs: Mapping[str, tuple[int, str]]


def joined(programs: Sequence[Program]) -> Joined:
    """One graph for all programs. What a step makes that has no lowering is an input."""
    builder = Builder("programs")
    feeds: dict[str, Array] = {}
    outputs: dict[str, tuple[int, str]] = {}
    for number, program in enumerate(programs):
        tensors: dict[str, Tensor] = {}

        def give(name: str, program: Program = program, tensors: dict[str, Tensor] = tensors) -> None:
            value = program.values[name]
            if name in program.constants:
                tensors[name] = builder.constant(value)
            else:
                tensors[name] = builder.input(name, value.shape, value.dtype.name)
                feeds[tensors[name].name] = value

        for name in program.given():
            give(name)
        for step in program.steps:
            made = _lowered(builder, step, [tensors[name] for name in step.operands])
            if made is None:
                give(step.result)
            else:
                tensors[step.result] = made
        made_by_graph = [name for name in program.results if tensors[name].name not in builder.inputs]
        outputs |= {tensors[name].name: (number, name) for name in made_by_graph}
    return Joined(builder.graph(tuple(outputs)), {name: feeds[name] for name in builder.inputs}, outputs)


def _lowered(builder: Builder, step: Step, operands: Sequence[Tensor]) -> Tensor | None:
    """The result of a step; None if it has no lowering, or is known without one."""
    found = step.operator()
    if not hasattr(found, "lower"):
        return None
    try:
        made = found.lower(builder, *operands)
    except (UnsupportedOperation, NotKnown):
        return None
    tensor: Tensor = made[0] if isinstance(made, tuple) else made
    return None if tensor.name in builder.constants else tensor


def difference(found: Array, wanted: Array) -> str:
    """How a result is wrong; nothing if it is not. All NaN are alike, and so are zeros."""
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return f"{found.dtype}{list(found.shape)} is not {wanted.dtype}{list(wanted.shape)}"
    found, wanted = (np.atleast_1d(_comparable(array)) for array in (found, wanted))
    with np.errstate(invalid="ignore"):
        wrong = ~((found == wanted) | ((found != found) & (wanted != wanted)))
    if not wrong.any():
        return ""
    place = tuple(map(int, np.argwhere(wrong)[0]))
    return f"{wrong.sum()} of {wrong.size} elements; at {list(place)} {found[place]!r} is not {wanted[place]!r}"


def _comparable(array: Array) -> Array:
    return array if array.dtype.kind in "biuf" and array.dtype != ml_dtypes.bfloat16 else array.astype(np.float32)
