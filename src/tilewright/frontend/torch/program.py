"""Graphs of ATen calls (`torch.fx`) become graphs of operators, call by call; what has no lowering is refused with a reason.

A result that is refused is an input of the graph from there on, so that every call behind it is tried as well. Whoever wants a
whole program asks for outputs; it exists where nothing of what they need was refused.
"""

from __future__ import annotations

import operator as python_operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.fx import GraphModule, Node

from tilewright.errors import TilewrightError, UnsupportedOperation
from tilewright.frontend.torch.call import Call
from tilewright.frontend.torch.element_types import NAMES, numpy_view
from tilewright.frontend.torch.extents import EqualExtents, extent_of, number_of, shape_of, standing_in
from tilewright.frontend.torch.nodes import attribute_of, example_of, operands_of, results_of
from tilewright.frontend.torch.registry import lowerings
from tilewright.graph.builders import elementwise
from tilewright.graph.builders.builder import Builder
from tilewright.graph.constant_values import magnitudes_of
from tilewright.graph.expressions.extents import Extent, dimensions_of
from tilewright.graph.expressions.scalar import Load, Scalar
from tilewright.graph.needed_operators import needed_operators
from tilewright.graph.recorded import rollback, that_bind_symbols
from tilewright.graph.types import Constant, Graph, SymbolicExtent, Tensor
from tilewright.graph.verifier import verify
from tilewright.plan.supported import obstacle
from tilewright.records import record

BUG = "defect of Tilewright: "
"""With which reasons begin that are no decisions."""
MOST_STAND_INS = 256
"""Extents that are recorded as others."""
WITHOUT_RESULTS = frozenset(("aten._assert_tensor_metadata.default",))
"""What exported graphs check of examples, which all calls have."""


@record(eq=False)
class Computed:
    """An output that the graph computes, by its number."""

    number: int


@record(eq=False)
class Given:
    """An output that is a placeholder as it is, by its name, or a value: a tensor, a number, None."""

    value: Any


ProgramResult: TypeAlias = Computed | Given


@record(eq=False)
class Program:
    """A graph, and what it has to do with the calls that it was recorded from."""

    graph: Graph
    inputs: tuple[str, ...]
    """The placeholders that are the graph's inputs. One whose example is no tensor gives its number as an extent: an array of so
    many truth values, which nobody reads."""
    results: tuple[ProgramResult, ...]
    constants: Mapping[str, str]
    """The placeholder whose elements a constant is, by the constant."""

    def with_constants(self, values: Mapping[str, np.ndarray[Any, Any]]) -> Graph:
        """The graph with other elements of its constants, by placeholders."""
        chosen = {constant: values[name] for constant, name in self.constants.items()}
        constants = ((name, Constant(chosen[name]) if name in chosen else value) for name, value in self.graph.constants)
        tensors = (replace(t, magnitudes=magnitudes_of(chosen[t.name])) if t.name in chosen else t for t in self.graph.tensors)
        return replace(self.graph, constants=tuple(constants), tensors=tuple(tensors))


class _Unavailable:
    """A value that no graph has, and why."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Recording:
    """The calls of a module, recorded."""

    @classmethod
    def of(cls, module: GraphModule, constants: Mapping[str, torch.Tensor], name: str) -> Recording:
        """Record all calls of a module of ATen operators, whose nodes have an example in `meta["val"]`.

        `constants` are the values of placeholders, by name, that are the same in all calls. Extents that torch has not compared,
        and that calls need to be equal (lengths of keys and of values), are one: other arguments are errors of the call.
        """
        stand_ins: dict[str, Extent] = {}
        for _ in range(MOST_STAND_INS):
            recording = cls(module, constants, name)
            try:
                with standing_in(stand_ins):
                    recording._visit_all()
                return recording
            except EqualExtents as found:
                stand_ins = {**stand_ins, found.name: found.extent}
        raise UnsupportedOperation(f"a graph of more than {MOST_STAND_INS} equal extents")

    def __init__(self, module: GraphModule, constants: Mapping[str, torch.Tensor], name: str) -> None:
        self.builder = Builder(name)
        self.refused: dict[Node, str] = {}
        """Why calls stay in torch."""
        self._module, self._frozen = module, constants
        self._values: dict[Node, Any] = {}
        self._placeholders: dict[str, Node] = {}
        """By input of the graph, the node whose value it is."""
        self._constants: dict[int, tuple[torch.Tensor, Tensor]] = {}
        """By identity of tensors, which must live on for it."""
        self._origins: dict[str, str] = {}

    def _visit_all(self) -> None:
        for node in self._module.graph.nodes:
            self._visit(node)

    def _visit(self, node: Node) -> None:
        try:
            self._values[node] = self._value_of(node)
        except EqualExtents:
            raise
        except Exception as problem:
            self._refuse(node, reason_of(problem))

    def _refuse(self, node: Node, reason: str) -> None:
        if node.op == "placeholder":
            self._values[node] = _Unavailable(reason)
            return
        self.refused[node] = reason
        self._values[node] = self._input_instead(node, reason)

    def _input_instead(self, node: Node, reason: str) -> Any:
        try:
            return self._input(node)
        except TilewrightError:
            return _Unavailable(reason)

    def _value_of(self, node: Node) -> Any:
        match node.op:
            case "placeholder":
                return self._frozen[node.name] if node.name in self._frozen else self._input(node)
            case "get_attr":
                return attribute_of(self._module, node.target)
            case "call_function":
                return self._called(node)
            case "output":
                return None
        raise UnsupportedOperation(f"a node of the kind {node.op}")

    def _input(self, node: Node) -> Any:
        """A node's value as an input of the graph: a tensor, an extent, or what else it is."""
        example = node.meta.get("val")
        if isinstance(example, list | tuple):
            return [_Unavailable("a part of a list")] * len(example)
        if isinstance(example, torch.SymInt):
            return self._extent_input(node, example)
        if isinstance(example, torch.SymFloat):
            return number_of(example)
        if not isinstance(example, torch.Tensor):
            raise UnsupportedOperation(f"a value of type {type(example).__name__}")
        if type(example).__name__ not in ("Tensor", "FakeTensor", "Parameter", "FunctionalTensor"):
            raise UnsupportedOperation(f"a tensor of the class {type(example).__name__}")
        if example.layout is not torch.strided or not example.is_cpu or example.dtype not in NAMES:
            raise UnsupportedOperation(f"a tensor of {example.dtype}, {example.layout}, on {example.device.type}")
        tensor = self.builder.input(node.name, shape_of(example), NAMES[example.dtype])
        self._placeholders[tensor.name] = node
        return tensor

    def _extent_input(self, node: Node, example: torch.SymInt) -> Any:
        """An extent; where it is a dimension, an array of this length can give it to the graph."""
        extent = extent_of(example)
        if isinstance(extent, SymbolicExtent) and extent.formula is None and node.op == "placeholder":
            tensor = self.builder.input(f"{node.name}_values", (extent,), "bool")
            self._placeholders[tensor.name] = node
        return extent

    # Calls

    def _called(self, node: Node) -> Any:
        if node.target is python_operator.getitem:
            return self._item(node)
        if isinstance(node.meta.get("val"), torch.SymInt | int):
            return extent_of(node.meta["val"])
        if isinstance(node.meta.get("val"), torch.SymFloat):
            return number_of(node.meta["val"])
        name = str(node.target)
        if name in WITHOUT_RESULTS:
            return None
        lowering = lowerings().get(name) if isinstance(node.target, torch._ops.OpOverload) else None
        if lowering is None:
            raise UnsupportedOperation(f"{name} has no lowering")
        restore, first = rollback(self.builder), len(self.builder.operators)
        try:
            call = self._call(node, name)
            results = lowering(call)
            self._check(call, results if isinstance(results, tuple) else (results,), first)
        except Exception:
            restore()
            raise
        return list(results) if isinstance(results, tuple) else results

    def _item(self, node: Node) -> Any:
        container, number = node.args
        value = self._values[container][number]
        if value is None:
            raise UnsupportedOperation(f"{container.target} gives no result {number}")
        if isinstance(value, _Unavailable) and container in self.refused:
            return self._input_instead(node, value.reason)
        return self._available(value)

    def _call(self, node: Node, name: str) -> Call:
        operands, examples = {}, {}
        for argument, value in operands_of(node):
            operands[argument], examples[argument] = self._operand(value), torch.fx.node.map_arg(value, example_of)
        return Call(self.builder, name, operands, examples, results_of(node), self._constant)

    def _operand(self, value: Any) -> Any:
        if isinstance(value, Node):
            found = self._available(self._values[value])
            return self._number(found) if isinstance(found, Scalar) else found
        if isinstance(value, list | tuple):
            return [self._operand(part) for part in value]
        return value

    def _number(self, number: Scalar) -> Tensor:
        """A number in float64, as Python computes it."""
        return self.builder.record(elementwise.map_of, "number", (), (), number, "float64", kind="number")

    def _available(self, value: Any) -> Any:
        if isinstance(value, _Unavailable):
            raise UnsupportedOperation(value.reason)
        return value

    def _constant(self, tensor: torch.Tensor) -> Tensor:
        """The constant of the graph that a tensor is."""
        known = self._constants.get(id(tensor))
        if known is None or known[1].name not in self.builder.constants:
            if tensor.dtype not in NAMES:
                raise UnsupportedOperation(f"a constant of {tensor.dtype}")
            origin = next((name for name, value in self._frozen.items() if value is tensor), None)
            made = self.builder.constant(numpy_view(tensor), origin or "constant")
            self._constants[id(tensor)] = tensor, made
            if origin is not None:
                self._origins[made.name] = origin
                self.builder.known.pop(made.name)  # other elements may come in their place: nothing is decided by these
        return self._constants[id(tensor)][1]

    def _check(self, call: Call, results: Sequence[Tensor | None], first: int) -> None:
        """Raises `UnsupportedOperation` for what generated code cannot compute, and where torch says other shapes or types."""
        for operator in self.builder.operators[first:]:
            if reason := obstacle(operator, self.builder.tensors):
                raise call.refuse(reason)
        for number, (result, said) in enumerate(zip(results, call.results, strict=True)):
            if result is None and said.is_used:
                raise call.refuse(f"its result {number} is not computed")
            if result is not None and (result.shape, result.dtype) != (said.shape, said.dtype):
                is_known = result.dtype != said.dtype or all(isinstance(one, int) for one in (*result.shape, *said.shape))
                text = BUG if is_known else "of extents that torch has compared, "
                text += f"a result {result.dtype}{list(map(str, result.shape))}"
                raise call.refuse(f"{text} where torch has {said.dtype}{list(map(str, said.shape))}")

    # Programs

    def program(self, outputs: Sequence[Any], *, is_closed: bool = False) -> Program:
        """What computes these outputs: nodes, or values as they are. Raises `UnsupportedOperation` where it needs what was
        refused, or an extent that no input has.

        A closed program reads all placeholders that are tensors and no constants, and computes all outputs that are tensors, each
        on its own: it serves where nobody else holds placeholders and constants.
        """
        made: dict[str, int] = {}
        known: dict[Node, ProgramResult] = {}
        results: list[ProgramResult] = []
        for output in outputs:
            if not isinstance(output, Node):
                results.append(Given(output))
            else:
                if output not in known or is_closed:
                    known[output] = self._result(output, made, is_closed)
                results.append(known[output])
        graph = self._graph(tuple(made), is_closed)
        inputs = tuple(self._placeholders[name] for name in graph.inputs)
        if refused := [node.name for node in inputs if node.op != "placeholder"]:
            raise UnsupportedOperation(f"a program that needs {', '.join(refused)}")
        origins = {name: self._origins[name] for name, _ in graph.constants if name in self._origins}
        return Program(graph, tuple(node.name for node in inputs), tuple(results), origins)

    def _result(self, output: Node, made: dict[str, int], is_closed: bool) -> ProgramResult:
        """What an output is; `made` numbers the tensors that the graph gives. Each output has memory of its own."""
        if output.op == "placeholder" and not is_closed:
            return Given(output.name)
        value = self._available(self._values[output])
        if isinstance(value, int) or (isinstance(value, torch.Tensor) and not is_closed):
            return Given(value)
        value = self._constant(value) if isinstance(value, torch.Tensor) else value
        if not isinstance(value, Tensor):
            raise UnsupportedOperation(f"an output of type {type(value).__name__}")
        if value.name in made or value.name in self.builder.constants or value.name in self.builder.inputs:
            value = self.builder.body(Load(0), value, dtype=value.dtype, kind="copy")
        return Computed(made.setdefault(value.name, len(made)))

    def _graph(self, outputs: tuple[str, ...], is_closed: bool) -> Graph:
        builder = self.builder
        operators = needed_operators(builder.operators, outputs)
        read = {access.tensor for operator in operators for access in operator.reads}
        touched = read | {operator.write.tensor for operator in operators}
        used = [name for name in builder.inputs if name in read or (is_closed and self._is_tensor(self._placeholders[name]))]
        used += that_bind_symbols(builder, used, touched, operators)
        used = self._in_order(used)
        kept = touched | set(used)
        _check_bound(builder, used, kept)
        tensors = tuple(tensor for name, tensor in builder.tensors.items() if name in kept)
        constants = tuple(pair for pair in builder.constants.items() if pair[0] in read)
        graph = Graph(builder.name, tensors, tuple(operators), tuple(used), outputs, constants)
        verify(graph)
        return graph

    def _is_tensor(self, node: Node) -> bool:
        return node.op == "placeholder" and isinstance(node.meta["val"], torch.Tensor)

    def _in_order(self, inputs: Sequence[str]) -> list[str]:
        """Inputs whose extents follow from dimensions come behind those that tell these: calls look at one after the other."""
        tensors = self.builder.tensors
        needed = dimensions_of(extent for name in inputs for extent in _formulas(tensors[name]))
        numbers = [name for name, node in self._placeholders.items() if isinstance(node.meta.get("val"), torch.SymInt)]
        first = [name for name in numbers if not needed.keys().isdisjoint(map(str, tensors[name].shape))]
        return [*first, *sorted((name for name in inputs if name not in first), key=lambda name: bool(_formulas(tensors[name])))]


def _formulas(tensor: Tensor) -> list[SymbolicExtent]:
    """Its extents that follow from dimensions."""
    return [extent for extent in tensor.shape if isinstance(extent, SymbolicExtent) and extent.formula is not None]


def _check_bound(builder: Builder, inputs: Sequence[str], names: set[str]) -> None:
    """Raises `UnsupportedOperation` for a dimension that no input has."""

    def dimensions(tensors: Sequence[str]) -> set[str]:
        shapes = [extent for name in tensors for extent in builder.tensors[name].shape]
        return {name for name, extent in dimensions_of(shapes).items()}

    plain = {
        str(e) for name in inputs for e in builder.tensors[name].shape if isinstance(e, SymbolicExtent) and e.formula is None
    }
    if missing := sorted(dimensions(sorted(names)) - plain):
        raise UnsupportedOperation(f"extents made of {', '.join(missing)}", why="no input has that extent")


def reason_of(problem: Exception) -> str:
    """Why something stays in torch, in one line: a decision, or a defect."""
    if isinstance(problem, TilewrightError):
        return problem.message if not problem.why else f"{problem.message}: {problem.why}"
    return f"{BUG}{type(problem).__name__}: {problem}"
