"""ONNX files and protobufs as a `Model`: functions inlined, names unique, nodes in order, attributes and tensors as values.

Whatever makes no sense raises `InvalidModel` with its place; operators without a definition are listed all at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, replace
from functools import cache
from itertools import zip_longest
from typing import Any, TypeAlias

import numpy as np
from google.protobuf.message import DecodeError
from onnx import AttributeProto, ModelProto

from tilewright import ort_errors
from tilewright.errors import InvalidModel, UnsupportedOperation
from tilewright.frontend.onnx.definition import Definition, definition
from tilewright.frontend.onnx.description import Description
from tilewright.frontend.onnx.files import Content, ExternalFiles, opened, without_large_contents
from tilewright.frontend.onnx.model import Array, Body, Declared, Node, has_foreign, needed_values
from tilewright.frontend.onnx.names import Names, Scope, sorted_nodes
from tilewright.frontend.onnx.values import array_of, check_against, declared, kind_of, schema_of, sparse_array_of, value_of
from tilewright.graph.short_names import short_name
from tilewright.ort_errors import Fail, InvalidArgument, InvalidGraph, InvalidProtobuf, raised_as
from tilewright.records import record

MOST_NODES = 100_000
"""After functions have been inlined: a few functions that call each other can mean billions."""
NEWEST = {"": 28, "ai.onnx.ml": 5, "com.microsoft": 1}
"""Versions of domains beyond which nobody knows what operators mean; of others any is taken."""
NEWEST_IR = 14
"""Of the format of files."""
MOST_DEPTH = 64
"""Of graphs in nodes and functions in functions."""
TRAINING = "ai.onnx.preview.training."
"""The domain of Adagrad, Adam, Momentum and Gradient."""
STRUCTURAL = frozenset({"Constant", "Identity", "If", "Shape", "Size"})
"""Standard operators that the importer does itself."""


@record(eq=False)
class Model:
    """A whole model. Inputs that have a default are in `body.constants`, too."""

    body: Body
    opsets: Mapping[str, int]
    producer: str = ""
    producer_version: str = ""
    domain: str = ""
    description_text: str = ""
    version: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)
    ir_version: int = 0
    check_files: Callable[[], None] = lambda: None
    """Raises `InvalidModel` if a file that holds constants was written to since the model was read."""

    @property
    def is_known(self) -> bool:
        """Whether it means the same to every process that has this package: no operator is defined elsewhere."""
        return not has_foreign(self.body.nodes)

    @property
    def description(self) -> Description:
        """All that sessions tell of the model."""
        body = self.body
        defaults = tuple(value.unique for value in body.inputs if value.unique in body.constants)
        needs = needed_values(body.nodes, [value.unique for value in body.outputs], body.constants)
        about = (self.producer, self.domain, self.description_text, self.version, dict(self.metadata))
        return Description(body.name, body.inputs, body.outputs, defaults, needs, *about)


def load(source: Any) -> Model:
    """The model of a path, of bytes, or of a `ModelProto`.

    Raises `InvalidModel` for what is none, and `UnsupportedOperation` for operators that are not known.
    """
    if isinstance(source, ModelProto):
        return read(source, ExternalFiles(None))
    content = opened(source)
    if content is not None:
        return model_of(content)
    text = f"a model cannot be a {type(source).__name__}"
    raise ort_errors.ArgumentTypeError(text, hint="pass a path, bytes or an onnx.ModelProto")


def model_of(content: Content) -> Model:
    """The model of bytes. Large contents of tensors are not copied: arrays share memory with these. Raises as `load`."""
    try:
        rest, large = without_large_contents(content.whole)
    except InvalidProtobuf as problem:
        raise InvalidProtobuf(problem.message, where=content.where, why=problem.why) from problem
    return replace(read(_parsed(rest, content.where), content.files, large), check_files=content.files.check)


def _parsed(content: bytes, where: str) -> Any:
    proto = ModelProto()
    try:
        proto.ParseFromString(content)
    except (DecodeError, ValueError, RecursionError) as problem:
        raise InvalidProtobuf("this is no ONNX model, or a damaged one", where=where, why=str(problem)) from problem
    return proto


def read(proto: Any, files: ExternalFiles, large: Sequence[memoryview | None] = ()) -> Model:
    """The model of a `ModelProto`; `large` has contents of the graph's initializers that were cut out of it.

    Raises `InvalidModel`, and `UnsupportedOperation` listing all unknown operators.
    """
    if not proto.HasField("graph"):
        raise raised_as(InvalidModel("the model has no graph", where="model"), InvalidArgument)
    if proto.ir_version > NEWEST_IR:
        text = f"there is no version {proto.ir_version} of the format"
        raise InvalidModel(text, where="ir_version", why=f"{NEWEST_IR} is known")
    opsets = _opsets(proto.opset_import) or {"": 1}
    functions: dict[Key, Any] = {}
    for function in proto.functions:
        if functions.setdefault((_domain(function.domain), function.name, function.overload), function) is not function:
            raise InvalidModel(f"two functions are named {function.name!r}", where="model")
    reader = _Reader(files, functions, large)
    body = reader.body(proto.graph, _Context(opsets), Scope(reader.names), "the model's graph")
    reader.check_known()
    return Model(
        body,
        opsets,
        producer=proto.producer_name,
        producer_version=proto.producer_version,
        domain=proto.domain,
        description_text=proto.doc_string,
        version=proto.model_version,
        metadata={entry.key: entry.value for entry in proto.metadata_props},
        ir_version=proto.ir_version,
    )


Key: TypeAlias = tuple[str, str, str]
"""Domain, name and overload of a function."""
Strings: TypeAlias = tuple[str, ...]


@record
class _Context:
    """Where a node stands: versions by domain, the attributes of the function around it, and what encloses it."""

    opsets: Mapping[str, int]
    bindings: Mapping[str, Any] | None = None
    functions: tuple[Key, ...] = ()
    depth: int = 0
    place: str = ""


@dataclass(slots=True)
class _Reader:
    files: ExternalFiles
    functions: Mapping[Key, Any]
    large: Sequence[memoryview | None]
    names: Names = field(default_factory=Names)
    node_count: int = 0
    unknown: dict[str, str] = field(default_factory=dict)
    """Operators without a definition, and the first node of each."""
    schema: Callable[[str, int, str], Any] = field(default_factory=lambda: cache(schema_of))
    """Of an operator, a version and a domain: ONNX takes 0.3 ms to find one."""

    def body(self, graph: Any, context: _Context, scope: Scope, where: str) -> Body:
        """A graph, in a scope of its own."""
        if context.depth > MOST_DEPTH:
            raise InvalidModel("graphs are nested too deeply", where=where)
        inputs = tuple(self._input(value, scope, where) for value in graph.input)
        constants = self._constants(graph, where, self.large if context.depth == 0 else ())
        known = {(scope.find if scope.owns(name) else scope.define)(name, where): array for name, array in constants}
        nodes = self._nodes(graph.node, context, scope, where, known)
        outputs = tuple(declared(info, scope.find(info.name, f"output {info.name!r} of {where}")) for info in graph.output)
        return Body(graph.name, inputs, outputs, nodes, known)

    def check_known(self) -> None:
        """Raise `UnsupportedOperation` listing all operators without a definition."""
        if self.unknown:
            names = ", ".join(sorted(self.unknown))
            where = "; ".join(f"{name}: {place}" for name, place in sorted(self.unknown.items())[:8])
            hint = "export the model with standard operators, or as functions of these"
            if all(name.startswith(TRAINING) for name in self.unknown):
                hint = "export the model for inference: steps of optimizers and derivatives are not computed here"
            problem = UnsupportedOperation(f"operators that are not known: {names}", where=where, hint=hint)
            raise raised_as(problem, Fail if any("." in name for name in self.unknown) else InvalidGraph)

    def _constants(self, graph: Any, where: str, large: Sequence[memoryview | None]) -> Iterator[tuple[str, Array]]:
        names = [*(tensor.name for tensor in graph.initializer), *(tensor.values.name for tensor in graph.sparse_initializer)]
        for name, count in Counter(names).items():
            if not name or count > 1:
                raise InvalidModel(f"two initializers are named {name!r}" if name else "an initializer has no name", where=where)
        for tensor, content in zip_longest(graph.initializer, large):
            yield tensor.name, array_of(tensor, self.files, f"initializer {tensor.name!r}", content)
        for tensor in graph.sparse_initializer:
            yield tensor.values.name, sparse_array_of(tensor, self.files, f"initializer {tensor.values.name!r}")

    def _input(self, info: Any, scope: Scope, where: str) -> Declared:
        if not info.name:
            raise InvalidModel("an input has no name", where=where)
        return declared(info, scope.define(info.name, f"an input of {where}"))

    def _nodes(self, protos: Any, context: _Context, scope: Scope, where: str, constants: dict[str, Array]) -> tuple[Node, ...]:
        for number, proto in enumerate(protos):
            for name in proto.output:
                if name and not (context.functions and scope.owns(name) and not _is_made_twice(name, number, protos)):
                    scope.define(name, _label(proto, number, context))
        nodes: list[Node] = []
        for number, proto in sorted_nodes(protos, where):
            nodes += self._node(proto, context, scope, _label(proto, number, context), constants)
        return tuple(nodes)

    def _node(self, proto: Any, context: _Context, scope: Scope, where: str, constants: dict[str, Array]) -> Iterator[Node]:
        """The nodes that a `NodeProto` stands for: none for a constant, many for a function."""
        self.node_count += 1
        if self.node_count > MOST_NODES:
            raise InvalidModel(f"the model has more than {MOST_NODES} nodes once its functions are inlined", where=where)
        if not (isinstance(proto.op_type, str) and isinstance(proto.domain, str)):
            raise InvalidModel("the name of an operator is not UTF-8", where=where)
        domain = _domain(proto.domain)
        key = (domain, proto.op_type, proto.overload)
        inputs = tuple(scope.find(name, where) for name in proto.input)
        while inputs and not inputs[-1]:  # operands that are left out at the end
            inputs = inputs[:-1]
        outputs = tuple(scope.find(name, where) for name in proto.output)
        if key in self.functions:
            yield from self._inlined(key, proto, context, inputs, outputs, where, constants)
            return
        attributes, bodies = self._attributes(proto, context, scope, where)
        if domain == "" and proto.op_type == "Constant":
            constants[outputs[0]] = _constant(attributes, where)
            return
        version, is_structural = self._version(domain, proto, context, where), domain == "" and proto.op_type in STRUCTURAL
        found = None if is_structural else definition(proto.op_type, version, domain)
        if found is None and not is_structural:
            self.unknown.setdefault(f"{domain}.{proto.op_type}" if domain else proto.op_type, where)
        if found is not None:
            _check_attributes(found, {*attributes, *bodies}, where)
        given_name = short_name(proto.name)
        yield Node(given_name or where, proto.op_type, domain, found, inputs, outputs, attributes, bodies, given_name)

    def _version(self, domain: str, proto: Any, context: _Context, where: str) -> int:
        version = context.opsets.get(domain)
        if version is None:
            self.unknown.setdefault(f"{domain}.{proto.op_type}", f"{where} (the model imports no opset of {domain!r})")
            return 0
        schema = self.schema(proto.op_type, version, domain)
        if schema is not None:
            check_against(schema, proto, where)
        return version

    def _attributes(self, proto: Any, context: _Context, scope: Scope, where: str) -> tuple[dict[str, Any], dict[str, Body]]:
        values: dict[str, Any] = {}
        bodies: dict[str, Body] = {}
        for attribute in _bound(proto.attribute, context, where):
            kind = kind_of(attribute, where)
            if attribute.name in values or attribute.name in bodies:
                raise InvalidModel(f"attribute {attribute.name!r} is given twice", where=where)
            if kind == AttributeProto.GRAPH:
                inner = replace(context, depth=context.depth + 1, place=f"{where}, {attribute.name}: ")
                place = f"{attribute.name} of {where}"
                bodies[attribute.name] = self.body(attribute.g, inner, Scope(self.names, scope), place)
            else:
                values[attribute.name] = value_of(attribute, kind, self.files, where)
        return values, bodies

    def _inlined(
        self, key: Key, proto: Any, context: _Context, inputs: Strings, outputs: Strings, where: str, constants: dict[str, Array]
    ) -> Iterator[Node]:
        """The nodes of a model's own function in the place of its call."""
        function = self.functions[key]
        if key in context.functions or context.depth >= MOST_DEPTH:
            raise InvalidModel(f"function {function.name!r} calls itself", where=where)
        if len(inputs) > len(function.input) or len(outputs) > len(function.output):
            why = f"it has {len(function.input)} inputs and {len(function.output)} outputs"
            raise InvalidModel(f"function {function.name!r} is called with other numbers of values", where=where, why=why)
        scope = Scope(self.names)
        for name, unique in zip(function.input, (*inputs, *[""] * len(function.input)), strict=False):
            scope.bind(name, unique)
        passed = [(name, unique) for name, unique in zip(function.output, outputs, strict=False) if unique]
        for name, unique in passed:
            if name in function.input:
                yield Node(where, "Identity", "", None, (scope.find(name, where),), (unique,))
            else:
                scope.bind(name, unique)
        opsets = _opsets(function.opset_import) or context.opsets
        bindings = {given.name: given for given in (*function.attribute_proto, *_bound(proto.attribute, context, where))}
        inner = _Context(opsets, bindings, (*context.functions, key), context.depth + 1, f"{where}, ")
        yield from self._nodes(function.node, inner, scope, where, constants)


def _bound(attributes: Any, context: _Context, where: str) -> Iterator[Any]:
    """Attributes, those that refer to an attribute of the function around the node replaced by it, or left out without one."""
    for attribute in attributes:
        if not attribute.ref_attr_name:
            yield attribute
        elif context.bindings is None:
            raise InvalidModel(f"attribute {attribute.name!r} refers to a function's attribute outside of one", where=where)
        elif attribute.ref_attr_name in context.bindings:
            copied = AttributeProto()
            copied.CopyFrom(context.bindings[attribute.ref_attr_name])
            copied.name = attribute.name
            yield copied


def _check_attributes(operator: Definition, given: set[str], where: str) -> None:
    defaults = operator.defaults
    unknown = sorted(given - defaults.keys())
    if unknown:
        raise UnsupportedOperation(f"the attribute {unknown[0]!r} of {operator.name} has no implementation", where=where)
    missing = sorted(name for name in defaults.keys() - given if defaults[name] is MISSING)
    if missing:
        raise InvalidGraph(f"{operator.name} lacks the attribute {missing[0]!r}", where=where)


def _constant(attributes: Mapping[str, Any], where: str) -> Array:
    if len(attributes) != 1:
        raise InvalidModel("a Constant has one value", where=where, why=f"it has {len(attributes)} attributes")
    (name, value), *_ = attributes.items()
    if name in ("value", "sparse_value") and isinstance(value, np.ndarray):
        return value
    types = {"value_float": "float32", "value_floats": "float32", "value_int": "int64", "value_ints": "int64"}
    return np.array(value, types.get(name, "object"))


def _opsets(imports: Any) -> dict[str, int]:
    for imported in imports:
        newest = NEWEST.get(_domain(imported.domain), imported.version)
        if not 1 <= imported.version <= newest:
            why = f"versions 1 to {newest} are known" if imported.version > 0 else ""
            kind = InvalidModel if imported.version > 0 else InvalidGraph
            raise kind(f"the domain {imported.domain!r} has no version {imported.version}", where="opset_import", why=why)
    return {_domain(imported.domain): imported.version for imported in imports}


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _is_made_twice(name: str, number: int, protos: Any) -> bool:
    return any(name in proto.output for proto in protos[:number])


def _label(proto: Any, number: int, context: _Context) -> str:
    return f"{context.place}{proto.op_type} node {short_name(proto.name) or number!r}"
