"""Registry of ONNX operators: the reference implementation and the lowering of every version of an operator.

A file of `operators/<family>/` holds the classes of operators, or of operators that share their attributes, and declares them
with `onnx_operator` or `define`, which spell the names that they define. Only the files that spell a name are loaded to find its
definition: a session waits for this, and a model has few of the operators.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, MISSING, field, fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

import numpy as np

from tilewright.errors import InternalError
from tilewright.records import record

if TYPE_CHECKING:
    from tilewright.graph.builders.builder import Builder
    from tilewright.graph.types import Tensor

OPERATORS = "tilewright.frontend.onnx.operators"
OUTPUT_COUNT = "output_count"
NEWEST = 1 << 30
"""Later than all versions of a domain."""
T = TypeVar("T")


class SchemaAttributes(SimpleNamespace):
    """An operator that has the attributes of ONNX's schema, `output_count` among them, instead of fields.

    Without a default, an attribute that is left out is (), if it is a list, or None.
    """


@record
class Definition:
    """One version of an operator: it holds from version `since` of its domain until the next one.

    `implementation` is a class. Its keyword-only fields are the operator's attributes with ONNX's defaults, all but
    `output_count`, which says how many results are wanted (`SchemaAttributes` need no fields); other fields take `parameters`,
    by which operators of one class differ. Its method `reference(*inputs)` takes and returns NumPy arrays (lists of arrays for
    sequences, None for what is left out); several results are a tuple. Its method `lower(builder, *inputs)`, if it has one, takes
    and returns tensors of the builder's graph. It raises `UnsupportedOperation` for operands that only the reference
    implementation can compute, and `NotKnown` (through the builder) where it needs constant values that are not known yet.
    """

    name: str
    domain: str
    since: int
    implementation: type[Any]
    parameters: tuple[Any, ...] = ()
    _: KW_ONLY
    by_attribute: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Operands of the class that are attributes of this version, by parameter, with their defaults (MISSING: it has none)."""
    is_random: bool = False
    """Whether every call may give other results, so that none is a constant."""
    unpacks: bool = False
    """Whether it makes longer numbers of short ones, which stay short where they are constants: products may take them so."""
    schema: Mapping[str, Any] | None = field(default=None, hash=False)
    """The attributes of ONNX's schema as `with_schema` gave them: the package onnx is not asked."""

    @property
    def defaults(self) -> dict[str, Any]:
        """Of all attributes; MISSING of those without one."""
        return {name: default for name, default in self._keywords().items() if name != OUTPUT_COUNT} | dict(self.by_attribute)

    def _keywords(self) -> dict[str, Any]:
        """The keyword-only fields of the class, or the attributes of the newest schema that this version stands for."""
        if issubclass(self.implementation, SchemaAttributes):
            return {OUTPUT_COUNT: 1, **(self.schema_attributes() or {})}
        all_fields = fields(self.implementation) if is_dataclass(self.implementation) else ()
        return {one.name: one.default for one in all_fields if one.kw_only}

    def schema_attributes(self) -> Mapping[str, Any] | None:
        """The attributes that ONNX declares, with their defaults (MISSING without one); None where the class has fields."""
        if self.schema is not None or not issubclass(self.implementation, SchemaAttributes):
            return self.schema
        later = (since for since in _definitions[self.domain, self.name] if since > self.since)
        return _declared(self.name, min(later, default=NEWEST) - 1, self.domain)

    def with_schema(self, attributes: Mapping[str, Any]) -> Definition:
        """The same definition with the attributes that `schema_attributes` gave elsewhere."""
        return replace(self, schema=attributes)

    @property
    def is_foreign(self) -> bool:
        """Whether others define it, so that nothing tells when that changes."""
        return self.implementation.__module__.partition(".")[0] != __name__.partition(".")[0]

    @property
    def has_lowering(self) -> bool:
        """Whether it can be recorded as canonical operators."""
        return hasattr(self.implementation, "lower")

    def operator(self, *, output_count: int = 1, **attributes: Any) -> Any:
        """The operator of a node: an instance of `implementation`.

        Raises `TypeError` for an attribute that is missing or does not exist.

        >>> definition("Gelu", 20).operator(approximate="tanh")
        Gelu(output_count=1, approximate='tanh')
        """
        keywords = self._keywords()
        if OUTPUT_COUNT in keywords:
            attributes[OUTPUT_COUNT] = output_count
        given = {name: attributes.pop(name, default) for name, default in self.by_attribute.items()}
        if MISSING in given.values():
            raise TypeError(f"{self.name} lacks an attribute of {', '.join(given)}")
        if issubclass(self.implementation, SchemaAttributes):
            attributes = {name: default for name, default in keywords.items() if default is not MISSING} | attributes
            if wrong := (attributes.keys() ^ keywords.keys()) - self.by_attribute.keys():
                raise TypeError(f"{self.name} lacks, or has not, the attributes {', '.join(sorted(wrong))}")
        operator = self.implementation(*self.parameters, **attributes)
        return _WithOperands(operator, given) if given else operator


@cache
def _declared(name: str, version: int, domain: str) -> dict[str, Any]:
    """The attributes that ONNX declares of an operator, and their defaults."""
    from onnx import defs

    return {name: _default(attribute) for name, attribute in defs.get_schema(name, version, domain).attributes.items()}


def _default(attribute: Any) -> Any:
    """Of an attribute of a schema; MISSING if it must be given."""
    from onnx import defs, helper

    kinds = defs.OpSchema.AttrType
    if attribute.required:
        return MISSING
    if not attribute.default_value.type:
        return () if attribute.type in (kinds.FLOATS, kinds.INTS, kinds.STRINGS) else None
    value = helper.get_attribute_value(attribute.default_value)
    return value.decode() if isinstance(value, bytes) else tuple(value) if isinstance(value, list) else value


@record
class _WithOperands:
    """An operator at work with some operands that attributes give."""

    operator: Any
    given: Mapping[str, Any]

    def reference(self, *operands: Any) -> Any:
        return self.operator.reference(*operands, **self._made(np.asarray))

    def lower(self, builder: Builder, *operands: Tensor) -> Any:
        return self.operator.lower(builder, *operands, **self._made(lambda value: builder.constant(value, "attribute")))

    def _made(self, make: Callable[[Any], Any]) -> dict[str, Any]:
        return {name: make(value) for name, value in self.given.items() if value is not None}


_definitions: dict[tuple[str, str], dict[int, Definition]] = {}


def define(name: str, implementation: type[Any], *parameters: Any, since: int = 1, domain: str = "", **options: Any) -> None:
    """Define an operator from version `since` of its domain on; `options` are those of a `Definition`.

    Raises `InternalError` if that is defined already.
    """
    versions = _definitions.setdefault((domain, name), {})
    if since in versions:
        raise InternalError(f"{domain or 'the standard'} operator {name} is defined twice from version {since} on")
    versions[since] = Definition(name, domain, since, implementation, parameters, **options)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def onnx_operator(name: str, **options: Any) -> Callable[[type[T]], type[T]]:
    """A class as an operator that `define` defines with these options; its fields, or those of the schema, are the attributes.

    Several versions, or names, of one class stand one above the other.
    """

    def decorate(implementation: type[T]) -> type[T]:
        if not issubclass(implementation, SchemaAttributes) and "__dataclass_fields__" not in vars(implementation):
            implementation = record(kw_only=True)(implementation)
        define(name, implementation, **options)
        return implementation

    return decorate


def onnx_function(name: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function of operands and, as keywords, of ONNX's attributes, as the reference implementation of an operator.

    The operator has no lowering, and is defined with these options.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        names = [one.name for one in signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY]

        def reference(operator: Any, *operands: Any, **given: Any) -> Any:
            return function(*operands, **given, **{name: getattr(operator, name) for name in names})

        about = {"__doc__": function.__doc__, "__module__": function.__module__, "reference": reference}
        define(name, type(name, (SchemaAttributes,), about), **options)
        return function

    return decorate


def definition(name: str, version: int, domain: str = "") -> Definition | None:
    """The definition of an operator in a version of its domain; None if there is none.

    >>> definition("NoSuchOperator", 21) is None
    True
    """
    _load_files_of(name)
    if (domain, name) not in _definitions:
        _load()
    versions = _definitions.get((domain, name), {})
    return versions.get(max((since for since in versions if since <= version), default=0))


def definitions() -> tuple[Definition, ...]:
    """All definitions, by name."""
    _load()
    return tuple(versions[since] for _, versions in sorted(_definitions.items()) for since in sorted(versions))


@cache
def _load_files_of(name: str) -> None:
    """Load every file that spells the name of an operator: those that define it, and some that do not."""
    for module, text in _texts():
        if f'"{name}"' in text:
            import_module(module)


@cache
def _texts() -> tuple[tuple[str, str], ...]:
    """The files of operators by the names of their modules; none where the package is no directory: then all are loaded."""
    roots = map(Path, import_module(OPERATORS).__path__)
    files = [path for root in roots for path in sorted(root.glob("*/*.py"))]
    return tuple((f"{OPERATORS}.{path.parent.name}.{path.stem}", path.read_text("utf-8")) for path in files)


@cache
def _load() -> None:
    for module in pkgutil.walk_packages(import_module(OPERATORS).__path__, f"{OPERATORS}."):
        import_module(module.name)
