"""Frozen dataclasses as JSON, and back: a format that holds data and nothing else.

Reading constructs the types that annotations name, and checks the type of every field: content that somebody else wrote is
read as values of these types or refused. Nothing in it names code.

| Value | JSON |
|---|---|
| dataclass | `{"ClassName": [field, ...]}`, in the order of `__init__` |
| tuple, frozenset | array; a set is sorted |
| mapping | array of pairs |
| bytes | `{"bytes": base64}` |
| NumPy array | `{"ndarray": [type, shape, whether all elements are one, base64]}`, little-endian |
| member of an enumeration | its value |
| NumPy type | its name |
| None, truth value, integer, floating-point number (NaN and infinity, too), text | as they are |
"""

from __future__ import annotations

import functools
import json
import math
import sys
import types
import typing
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar, Union

import numpy as np

from tilewright.dtypes import FLOATS, POWER_TYPE, dtype_named
from tilewright.records import record

T = TypeVar("T")
Encoded: TypeAlias = Any
"""What `json` reads and writes."""
ARRAY_TYPES = frozenset(
    (
        *("bool", "complex64", "complex128", "float16", "bfloat16", "float32", "float64"),
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (2, 4, 8, 16, 32, 64)),
        *(POWER_TYPE, *FLOATS),
    )
)
TYPES = ARRAY_TYPES | {"object"}
NOT_READABLE = (ValueError, RecursionError, OverflowError, MemoryError)
"""What damaged or hostile content can raise on its way through `json`, `binascii`, NumPy and the checks here."""


class Unreadable(ValueError):
    """A value that is not of the type that is wanted."""


def encode(value: object, kind: type) -> bytes:
    """The value, which is an instance of `kind`, as JSON. Raises `Unreadable` for what the format has no place for.

    >>> from tilewright.graph.types import Axis
    >>> encode(Axis("m", 4), Axis)
    b'{"Axis":["m",4,"parallel"]}'
    """
    return json.dumps(_form_of(kind).write(value), separators=(",", ":")).encode()


def decode(content: bytes, kind: type[T]) -> T:
    """The inverse of `encode`. Raises `Unreadable` for anything else than what it makes of such a value.

    >>> from tilewright.graph.types import Axis
    >>> decode(b'{"Axis":["m",4,"parallel"]}', Axis).extent
    4
    """
    try:
        value: T = _form_of(kind).read(json.loads(content))
    except NOT_READABLE as problem:
        raise Unreadable(f"no {kind.__name__}: {problem}") from problem
    return value


@record
class _Form:
    """How values of a type are written and read."""

    accepts: Callable[[Any], bool]
    """Whether a value is of the type, as far as its outermost level tells."""
    is_encoded: Callable[[Encoded], bool]
    """The same of JSON."""
    write: Callable[[Any], Encoded]
    read: Callable[[Encoded], Any]
    as_they_are: tuple[type, ...] = ()
    """Types of values that `write` returns."""


def _form_of(kind: Any) -> _Form:
    return _form(kind)


@functools.cache
def _form(kind: Any) -> _Form:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return _choice(kind)
    if origin is tuple:
        return _many(arguments[0]) if arguments[1:] == (...,) else _each(arguments)
    if origin is frozenset:
        return _set(arguments[0])
    if origin is Mapping:
        return _mapping(arguments)
    if origin is np.dtype:
        return _Form(lambda value: isinstance(value, np.dtype), _names_type, lambda value: value.name, _type_named)
    if kind is np.ndarray:
        return _tagged("ndarray", np.ndarray, _written_array, _read_array)
    if kind is bytes:
        return _tagged("bytes", bytes, _written_bytes, _read_bytes)
    if is_dataclass(kind):
        return _record(kind)
    if issubclass(kind, Enum):
        return _enumeration(kind)
    return _plain(kind)


def _plain(kind: type) -> _Form:
    """Numbers of NumPy count as Python's; an integer may stand where a floating-point number is wanted."""
    exact = (float, int) if kind is float else (kind,)
    numpy_kinds: tuple[type, ...] = {int: (np.integer,), float: (np.floating, np.integer)}.get(kind, ())

    def check(value: Any) -> Any:
        if type(value) not in exact:
            raise Unreadable(f"{value!r:.40} is no {kind.__name__}")
        return value

    def write(value: Any) -> Encoded:
        if type(value) in exact:
            return value
        return check(value.item() if isinstance(value, np.generic) and isinstance(value, numpy_kinds) else value)

    return _Form(lambda value: isinstance(value, (*exact, *numpy_kinds)), lambda value: type(value) in exact, write, check, exact)


def _choice(kind: Any) -> _Form:
    forms = [_form(argument) for argument in typing.get_args(kind)]

    by_type: dict[type, _Form] = {}
    """Of values that were met: what accepts a value depends on its type alone."""

    def write(value: Any) -> Encoded:
        form = by_type.get(type(value)) or next((form for form in forms if form.accepts(value)), None)
        if form is None:
            raise Unreadable(f"a {type(value).__name__} is none of {kind}")
        return by_type.setdefault(type(value), form).write(value)

    def read(value: Encoded) -> Any:
        for form in forms:
            if form.is_encoded(value):
                return form.read(value)
        raise Unreadable(f"{value!r:.40} is none of {kind}")

    return _Form(
        lambda value: any(form.accepts(value) for form in forms),
        lambda value: any(form.is_encoded(value) for form in forms),
        write,
        read,
    )


def _many(kind: Any) -> _Form:
    """A tuple of any length; the form of its elements is looked up when it is needed, since types contain each other."""

    def write(values: Any) -> Encoded:
        form = _form(kind)
        return [value if type(value) in form.as_they_are else form.write(value) for value in values]

    def read(values: Encoded) -> Any:
        element = _form(kind).read
        return tuple([element(value) for value in _listed(values)])

    return _Form(_is_a(tuple), _is_a(list), write, read)


def _each(kinds: tuple[Any, ...]) -> _Form:
    @functools.cache
    def writes() -> list[Callable[[Any], Encoded]]:
        return [_form(kind).write for kind in kinds]

    def write(values: Any) -> Encoded:
        return [write(value) for write, value in zip(writes(), values, strict=True)]

    def read(values: Encoded) -> Any:
        return tuple([_form(kind).read(value) for kind, value in zip(kinds, _listed(values), strict=True)])

    return _Form(_is_a(tuple), _is_a(list), write, read)


def _set(kind: Any) -> _Form:
    many = _many(kind)
    return _Form(
        _is_a(frozenset), _is_a(list), lambda values: sorted(many.write(values)), lambda values: frozenset(many.read(values))
    )


def _mapping(kinds: tuple[Any, ...]) -> _Form:
    pairs = _many(tuple[kinds])  # type: ignore[valid-type]
    return _Form(_is_a(dict), _is_a(list), lambda value: pairs.write(value.items()), lambda value: dict(pairs.read(value)))


def _enumeration(kind: Any) -> _Form:
    values = {member.value for member in kind}
    return _Form(_is_a(kind), lambda value: type(value) in (str, int) and value in values, lambda member: member.value, kind)


def _record(kind: Any) -> _Form:
    names = [field.name for field in fields(kind) if field.init]
    parts = attrgetter(*names) if len(names) > 1 else lambda value: [getattr(value, name) for name in names]

    @functools.cache
    def forms() -> list[_Form]:
        """As one annotation, since each costs 20 us: a process that starts warm waits for this."""
        texts = [str(field.type) for field in fields(kind) if field.init]
        together = types.SimpleNamespace(__annotations__={"all": f"tuple[{', '.join(['None', *texts])}]"})
        _, *hints = typing.get_args(typing.get_type_hints(together, vars(sys.modules[kind.__module__]))["all"])
        return [_form(hint) for hint in hints]

    def write(value: Any) -> Encoded:
        written = zip(forms(), parts(value), strict=True)
        return [part if type(part) in form.as_they_are else form.write(part) for form, part in written]

    def read(values: Encoded) -> Any:
        return kind(*[form.read(value) for form, value in zip(forms(), _listed(values), strict=True)])

    return _tagged(kind.__name__, kind, write, read)


def _tagged(tag: str, kind: type, write: Callable[[Any], Encoded], read: Callable[[Encoded], Any]) -> _Form:
    def checked(value: Any) -> Encoded:
        if type(value) is not kind:
            raise Unreadable(f"a {type(value).__name__} is no {tag}")
        return {tag: write(value)}

    def is_tagged(value: Encoded) -> bool:
        return type(value) is dict and len(value) == 1 and tag in value

    def content(value: Encoded) -> Any:
        if not is_tagged(value):
            raise Unreadable(f"{value!r:.40} is no {tag}")
        return read(value[tag])

    return _Form(_is_a(kind), is_tagged, checked, content)


def _written_array(array: np.ndarray) -> Encoded:
    name = array.dtype.name
    if name not in ARRAY_TYPES:
        raise Unreadable(f"arrays of {name} have no place in files")
    is_uniform = array.size > 1 and not any(array.strides)
    values = array.reshape(-1)[:1] if is_uniform else array
    native = values.astype(_array_type(name), copy=False)
    return [name, list(array.shape), is_uniform, _written_bytes(native.tobytes())]


def _read_array(value: Encoded) -> np.ndarray:
    name, shape, is_uniform, content = _form(tuple[str, tuple[int, ...], bool, str]).read(value)
    if name not in ARRAY_TYPES or any(extent < 0 for extent in shape):
        raise Unreadable(f"there are no arrays of {name!r:.40} and {shape!r:.40}")
    values = np.frombuffer(_read_bytes(content), _array_type(name))
    if is_uniform and len(values) == 1:
        return np.broadcast_to(values[0], shape)
    if len(values) != math.prod(shape):
        raise Unreadable(f"{len(values)} elements are no array of {shape!r:.40}")
    return values.reshape(shape)


def _array_type(name: str) -> np.dtype[Any]:
    return dtype_named(name).newbyteorder("<")


def _names_type(name: Encoded) -> bool:
    return type(name) is str and name in TYPES


def _type_named(name: Encoded) -> np.dtype[Any]:
    if not _names_type(name):
        raise Unreadable(f"there is no type {name!r:.40}")
    return dtype_named(name)


def _written_bytes(value: bytes) -> Encoded:
    return b2a_base64(value, newline=False).decode()


def _read_bytes(value: Encoded) -> bytes:
    if not isinstance(value, str):
        raise Unreadable("binary content is no text")
    return a2b_base64(value, strict_mode=True)


def _listed(value: Encoded) -> list[Encoded]:
    if type(value) is not list:
        raise Unreadable(f"{value!r:.40} is no array")
    return value


def _is_a(kind: type) -> Callable[[Any], bool]:
    return lambda value: type(value) is kind
