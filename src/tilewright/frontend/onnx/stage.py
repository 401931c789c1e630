"""One stage of a model: the nodes that can be compiled for given shapes become one graph, the others run as NumPy.

Nodes are walked in order. What is known (constants, shapes, and what follows from these) is folded; what has a lowering is
recorded; what has none runs as its reference implementation after the graph; what depends on that, or on values that only the
graph computes, waits for the next stage.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from tilewright import errors
from tilewright.errors import InvalidModel, PositionError, ShapeError, TilewrightError, Undecided, UnsupportedOperation, bug
from tilewright.frontend.onnx import extents
from tilewright.frontend.onnx.later_readers import read_exactly
from tilewright.frontend.onnx.model import Array, Node, live_nodes
from tilewright.frontend.onnx.reference import described, grown_elements, placed, run_reference
from tilewright.frontend.onnx.sizes import check_shape
from tilewright.frontend.onnx.stage_types import ImportRequest, NeedsValues, Obstacle, Stage
from tilewright.frontend.onnx.symbolic import Symbolic
from tilewright.graph.builders.builder import Builder, NotKnown
from tilewright.graph.expressions.extents import times
from tilewright.graph.licences import with_exact
from tilewright.graph.needed_operators import needed_operators
from tilewright.graph.recorded import evaluated, rollback, that_bind_symbols
from tilewright.graph.types import Extent, Graph, SymbolicExtent, Tensor
from tilewright.graph.verifier import verify_stage

MOST_FOLDED = 1 << 16
"""Elements of the largest operands and results that are computed while a model is imported; larger ones become operators."""
MOST_SAMPLED = 1 << 22
"""Elements of the operands with which a node is tried whose lowering failed."""


def import_stage(import_request: ImportRequest, obstacle: Obstacle) -> Stage:
    """The stage with which these nodes begin.

    Raises `NeedsValues` for an input that must be known, `ShapeError`, `InvalidModel` or `DTypeError` with the node where
    operands make no sense, and `UnsupportedOperation` where something cannot be done with a symbolic extent.
    """
    traversal = _Traversal(import_request, obstacle, Builder(import_request.name))
    traversal.run()
    return traversal.stage()


@dataclass(slots=True)
class _Traversal:
    import_request: ImportRequest
    obstacle: Obstacle
    builder: Builder
    tensors: dict[str, Tensor] = field(default_factory=dict)
    """By value: what the graph computes or is given."""
    known: dict[str, Any] = field(default_factory=dict)
    """By value: arrays, lists, None and `Symbolic`s."""
    constants: dict[str, Tensor] = field(default_factory=dict)
    """Tensors of known values, as far as operators asked for them."""
    opaque: dict[str, str] = field(default_factory=dict)
    """Values without a shape, and the given ones that they are."""
    waiting: list[tuple[Node, bool]] = field(default_factory=list)
    """Nodes that are not compiled here, and whether they run as NumPy."""
    later: set[str] = field(default_factory=set)
    """Values of these."""
    work: deque[Node] = field(default_factory=deque)
    looking_up: dict[str, str] = field(default_factory=dict)
    """By operator that reads at positions that data gives, the label of its node."""
    operator_names: dict[str, str] = field(default_factory=dict)
    """By operator, the name that the file gives to its node."""
    refused: dict[str, TilewrightError] = field(default_factory=dict)
    """Why nodes run as NumPy, or wait, by label."""

    def run(self) -> None:
        self.known.update(self.import_request.known)
        for name, given in self.import_request.given.items():
            if given.dtype:
                self.tensors[name] = self.builder.input(name, given.shape, given.dtype)
            else:
                self.opaque[name] = name
        self.work.extend(live_nodes(self.import_request.nodes, self.import_request.wanted))
        while self.work:
            node = self.work.popleft()
            try:
                self._visit(node)
            except NotKnown as problem:
                self._needs(node, problem.tensor)
            except TilewrightError as problem:
                raise placed(problem, node) from problem

    # One node

    def _visit(self, node: Node) -> None:
        reads = node.reads()
        import_node = _STRUCTURAL.get(node.operator) if node.domain == "" else None
        if reads & self.later:
            self.postpone(node, as_numpy=False)
        elif import_node is not None:
            import_node(self, node)
        elif reads & self.opaque.keys() or node.bodies:
            self.postpone(node, as_numpy=True)
        elif not self._fold(node):
            self._lower(node)

    def postpone(self, node: Node, *, as_numpy: bool) -> None:
        self.waiting.append((node, as_numpy))
        self.later.update(node.outputs)

    def _needs(self, node: Node, tensor: str) -> None:
        """An operator needs the constant value of a tensor."""
        given = self._given_names().get(tensor)
        if given is not None and given not in self.import_request.unknowable:
            raise NeedsValues(given)
        value = evaluated(self.builder, tensor)
        if value is not None:
            self.builder.known[tensor] = value
            self.work.appendleft(node)
            return
        computed = any(operator.write.tensor == tensor for operator in self.builder.operators)
        self.postpone(node, as_numpy=given is not None or not computed)

    # What is known

    def _fold(self, node: Node, *, is_refused: bool = False) -> bool:
        """Compute a node at once, if all operands are known and small; of any size where its lowering refused them.

        Matrices of short numbers are not unpacked here.
        """
        inputs = [self.known_value(name) for name in node.inputs]
        if any(value is _UNKNOWN for value in inputs) or (node.definition is not None and node.definition.is_random):
            return False
        if any(isinstance(value, Symbolic) for value in inputs):
            return self._fold_symbolic(node, inputs)
        if node.definition is None:
            return False
        is_unpacked = node.definition.unpacks and np.ndim(inputs[0]) > 1
        if node.definition.has_lowering and not is_refused and (is_unpacked or _is_large(node, inputs)):
            return False
        for name, value in zip(node.outputs, run_reference(node, inputs), strict=True):
            self.known[name] = value
        return True

    def _fold_symbolic(self, node: Node, inputs: Sequence[Any]) -> bool:
        try:
            result = extents.fold(node, inputs)
        except Undecided as problem:
            self.refused[node.label] = problem
            return False
        if result is not None:
            self.known[node.outputs[0]] = result
        return result is not None

    def known_value(self, name: str) -> Any:
        """What is known of a value: None for an operand that is left out."""
        if not name:
            return None
        if name in self.known:
            return self.known[name]
        tensor = self.tensors.get(name)
        if tensor is None or tensor.name not in self.builder.known:
            return _UNKNOWN
        value = self.builder.known[tensor.name]
        return Symbolic(value, tensor.dtype) if value.dtype == object else value

    # What is computed

    def _lower(self, node: Node) -> None:
        if node.definition is None or not node.definition.has_lowering or self._has_strings(node):
            self.postpone(node, as_numpy=True)
            return
        operands = [self.tensor(name) if name else None for name in node.inputs]
        restore = rollback(self.builder)
        try:
            results = self._lowered(node, operands)
        except NotKnown:
            restore()
            raise
        except (ShapeError, PositionError, InvalidModel, errors.InternalError, MemoryError):
            raise
        except TilewrightError as problem:
            restore()
            if not self._fold(node, is_refused=True):
                self.refused[node.label] = problem
                self.postpone(node, as_numpy=True)
            return
        except Exception as problem:
            raise self._broken(node, operands, problem) from problem
        self.tensors.update((name, result) for name, result in zip(node.outputs, results, strict=False) if name)

    def _lowered(self, node: Node, operands: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
        assert node.definition is not None
        first = len(self.builder.operators)
        lower = node.definition.operator(output_count=len(node.outputs), **node.attributes).lower
        results = lower(self.builder, *operands)
        results = results if isinstance(results, tuple) else (results,)
        if sum(bool(name) for name in node.outputs) > sum(result is not None for result in results):
            raise UnsupportedOperation(f"{node.label} has results that are not compiled")
        for operator in self.builder.operators[first:]:
            written = self.builder.tensors[operator.write.tensor]
            check_shape(written.shape, np.dtype(getattr(ml_dtypes, written.dtype, written.dtype)).itemsize, node.label)
            reason = self.obstacle(operator, self.builder.tensors)
            if reason:
                raise UnsupportedOperation(f"{node.label} cannot be compiled", why=reason)
            if operator.looked_up():
                self.looking_up[operator.name] = node.label
            if node.given_name:
                self.operator_names[operator.name] = node.given_name
        return results

    def _broken(self, node: Node, operands: Sequence[Tensor | None], problem: Exception) -> Exception:
        """The error of a lowering that failed: the model's if the reference implementation cannot compute the node either."""
        samples = [None if operand is None else self._sample(operand) for operand in operands]
        if sum(sample.size for sample in samples if sample is not None) <= MOST_SAMPLED:
            try:
                run_reference(node, samples)
            except TilewrightError as refusal:
                return refusal
        return bug(f"the lowering of {node.label}", problem, described(node, samples))

    def _sample(self, tensor: Tensor) -> Array:
        """What is known of a tensor, or zeros; symbolic extents are at their low end."""
        known = self.builder.known.get(tensor.name)
        if known is not None and known.dtype != object:
            return known
        shape = [extent.low if isinstance(extent, SymbolicExtent) else extent for extent in tensor.shape]
        return np.broadcast_to(np.zeros((), getattr(ml_dtypes, tensor.dtype, tensor.dtype)), shape)

    def _has_strings(self, node: Node) -> bool:
        known = (self.known.get(name) for name in node.inputs)
        return any(isinstance(value, list) or (isinstance(value, np.ndarray) and value.dtype.hasobject) for value in known)

    def tensor(self, name: str) -> Tensor:
        """The tensor of a value; a known value becomes a constant of the graph."""
        if name in self.tensors:
            return self.tensors[name]
        if name not in self.constants:
            value, build = self.known[name], self.builder
            is_symbolic = isinstance(value, Symbolic)
            made = build.run_time_constant(value.array, value.dtype, name) if is_symbolic else build.constant(value, name)
            self.constants[name] = made
        return self.constants[name]

    # What the importer does itself

    def shape_of(self, name: str) -> tuple[Extent, ...] | None:
        """The extents of a value; None if it has none."""
        if name in self.tensors:
            return self.tensors[name].shape
        value = self.known.get(name)
        value = value.array if isinstance(value, Symbolic) else value
        return value.shape if isinstance(value, np.ndarray) else None

    # The stage

    def stage(self) -> Stage:
        as_numpy, rest = self._divided()
        needed = {name for node, _ in self.waiting for name in node.reads()} | set(self.import_request.wanted)
        written = {operator.write.tensor for operator in self.builder.operators}
        computed: dict[str, str] = {}
        same = {name: self.opaque[name] for name in sorted(needed) if self.opaque.get(name, name) != name}
        known: dict[str, Any] = {}
        inputs = self._given_names()
        for name in sorted(needed - self.later - self.opaque.keys()):
            value = self.known_value(name)
            if value is not _UNKNOWN:
                known[name] = value
            elif self.tensors[name].name in written:
                first = computed.setdefault(self.tensors[name].name, name)
                same.update({name: first} if first != name else {})
            elif inputs[self.tensors[name].name] != name:
                same[name] = inputs[self.tensors[name].name]
        graph, used = self._graph(tuple(computed)) if computed else (None, ())
        exact = read_exactly(node for node, _ in self.waiting)
        if graph is not None and exact:
            graph = with_exact(graph, {self.tensors[name].name for name in needed & exact & self.tensors.keys()})
        graph_inputs = tuple(inputs.get(name, name) for name in used)
        outputs, given = tuple(computed.values()), self.import_request.given
        tensor_names = {tensor.name: name for name, tensor in reversed((self.constants | self.tensors).items())}
        names = (self.looking_up, self.operator_names, tensor_names)
        return Stage(graph, graph_inputs, outputs, same, known, as_numpy, rest, given, *names, self.refused)

    def _given_names(self) -> dict[str, str]:
        """The given values that are tensors, by tensor."""
        return {self.tensors[name].name: name for name in self.import_request.given if name in self.tensors}

    def _divided(self) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
        """The nodes that run as NumPy, and those of the next stage."""
        numpy_nodes: list[Node] = []
        rest: list[Node] = []
        missing: set[str] = set()
        for node, as_numpy in self.waiting:
            only_numpy = node.definition is not None and not node.definition.has_lowering
            if (as_numpy or only_numpy) and not node.reads() & missing:
                numpy_nodes.append(node)
            else:
                rest.append(node)
                missing.update(node.outputs)
        return tuple(numpy_nodes), tuple(rest)

    def _graph(self, outputs: tuple[str, ...]) -> tuple[Graph, tuple[str, ...]]:
        """The graph of what the outputs need, and its inputs."""
        operators = needed_operators(self.builder.operators, outputs)
        touched = {access.tensor for operator in operators for access in (*operator.reads, operator.write)}
        used = [name for name in self.builder.inputs if name in touched]
        used = [*used, *that_bind_symbols(self.builder, used, touched, operators)]
        constants = tuple((name, constant) for name, constant in self.builder.constants.items() if name in touched)
        tensors = tuple(tensor for name, tensor in self.builder.tensors.items() if name in touched or name in used)
        graph = Graph(self.builder.name, tensors, tuple(operators), tuple(used), outputs, constants)
        verify_stage(graph)
        return graph, tuple(used)


_UNKNOWN: Any = object()


def _is_large(node: Node, inputs: Sequence[Any]) -> bool:
    sizes = [value.size for value in inputs if isinstance(value, np.ndarray)]
    return max([*sizes, grown_elements(node, inputs) or 0], default=0) > MOST_FOLDED


def _identity(traversal: _Traversal, node: Node) -> None:
    kinds: tuple[dict[str, Any], ...] = (traversal.known, traversal.tensors, traversal.opaque)
    for values in kinds:
        if node.inputs[0] in values:
            values[node.outputs[0]] = values[node.inputs[0]]


def _extents(traversal: _Traversal, node: Node) -> None:
    """Shape and Size."""
    shape = traversal.shape_of(node.inputs[0])
    if shape is None:
        traversal.postpone(node, as_numpy=True)
    elif node.operator == "Shape":
        start, end = node.attributes.get("start", 0), node.attributes.get("end", None)
        traversal.known[node.outputs[0]] = extents.of_extents(shape[start:end])
    else:
        count = times(*shape)
        known = np.array(count, np.int64) if isinstance(count, int) else Symbolic(np.array(count, object))
        traversal.known[node.outputs[0]] = known


def _if(traversal: _Traversal, node: Node) -> None:
    """The branch that is taken stands in the node's place."""
    condition = traversal.known_value(node.inputs[0])
    if condition is _UNKNOWN and node.inputs[0] not in traversal.tensors:
        traversal.postpone(node, as_numpy=True)
        return
    if condition is _UNKNOWN:
        raise NotKnown(traversal.tensors[node.inputs[0]].name)
    body = node.bodies["then_branch" if np.asarray(condition).reshape(-1)[:1].any() else "else_branch"]
    if len(body.outputs) != len(node.outputs):
        raise InvalidModel(f"{node.label} has {len(node.outputs)} outputs, its branch {len(body.outputs)}", where=node.label)
    traversal.known.update(body.constants)
    passed = zip(body.outputs, node.outputs, strict=True)
    results = [Node(node.name, "Identity", "", None, (inner.unique,), (outer,)) for inner, outer in passed]
    traversal.work.extendleft(reversed([*body.nodes, *results]))


_Import: TypeAlias = Callable[[_Traversal, Node], None]
_STRUCTURAL: Mapping[str, _Import] = {"Identity": _identity, "Shape": _extents, "Size": _extents, "If": _if}
