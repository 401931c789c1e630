"""Records: frozen dataclasses with slots, a third of the time of `dataclasses` to define, and 0.6 of it to fill.

`dataclasses` compiles every method of a class alone, 0.7 ms a class, and planning imports some 400 classes. Here the methods of a
class are compiled together, and fields are set by the descriptors of their slots, which `object.__setattr__` looks up by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import Any, TypeVar, cast, dataclass_transform, overload

T = TypeVar("T")


class _Factory:
    """In a signature, the default that a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(*, eq: bool = True, kw_only: bool = False, weakref_slot: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: Any = None, /, *, eq: bool = True, **options: bool) -> Any:
    """A class as `dataclass(frozen=True, slots=True)` with these options makes it: `fields`, `replace` and patterns know it.

    >>> @record
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> Point(3), Point(1, 2) == Point(1, 2)
    (Point(x=3, y=0), True)
    """

    def decorate(cls: type[Any]) -> type[Any]:
        slotted = dataclass(slots=True, init=False, repr=False, eq=False, **options)(cls)
        for name, method in _methods(slotted, eq).items():
            if name not in vars(slotted) or (name == "__hash__" and slotted.__hash__ is None):
                setattr(slotted, name, method)
        return slotted

    return decorate if cls is None else decorate(cls)


def replace(one: T, /, **changes: Any) -> T:
    """As `dataclasses.replace`, in half of its time: planning makes thousands of records from others.

    >>> @record
    ... class Point:
    ...     x: int
    ...     y: int = 0
    >>> replace(Point(3), y=5)
    Point(x=3, y=5)
    """
    cls = one.__class__
    names = _given.get(cls)
    if names is None:
        names = _given[cls] = tuple(field.name for field in fields(cast(Any, cls)) if field.init)
    for name in names:
        if name not in changes:
            changes[name] = getattr(one, name)
    return cls(**changes)


_given: dict[type[Any], tuple[str, ...]] = {}
"""The fields that a class is made of."""


def _methods(cls: type[Any], eq: bool) -> dict[str, Any]:
    """Those of instances, by name."""
    scope: dict[str, Any] = {"__name__": cls.__module__, "_FACTORY": _FACTORY}
    for one in fields(cls):
        scope[f"_set_{one.name}"] = getattr(cls, one.name).__set__
        scope[f"_default_{one.name}"] = one.default
        scope[f"_make_{one.name}"] = one.default_factory
    exec("\n".join(_text(cls, eq)), scope)
    own = {name: scope[name] for name in ("__init__", "__eq__", "__hash__") if name in scope}
    for name, method in own.items():
        method.__qualname__ = f"{cls.__qualname__}.{name}"
    scope["__init__"].__annotations__ = {one.name: one.type for one in fields(cls) if one.init} | {"return": None}
    repr_ = _written([one.name for one in fields(cls) if one.repr])
    shared = {"__repr__": repr_, "__setattr__": _set, "__delattr__": _delete, "__getstate__": _state, "__setstate__": _with_state}
    return own | shared


def _text(cls: type[Any], eq: bool) -> Iterator[str]:
    known = fields(cls)
    given = [one for one in known if one.init]
    keywords = [_parameter(one) for one in given if one.kw_only]
    parameters = ["self", *(_parameter(one) for one in given if not one.kw_only), *(["*", *keywords] if keywords else [])]
    yield f"def __init__({', '.join(parameters)}):"
    yield from (f" _set_{one.name}(self, {_value(one)})" for one in known if one.init or _has_default(one))
    yield " self.__post_init__()" if hasattr(cls, "__post_init__") else " pass"
    if eq:
        compared = [one for one in known if one.compare]
        hashed = [one for one in known if (one.compare if one.hash is None else one.hash)]
        yield "def __eq__(self, other):"
        yield " if other.__class__ is not self.__class__: return NotImplemented"
        yield f" return {_tuple('self', compared)} == {_tuple('other', compared)}"
        yield f"def __hash__(self): return hash({_tuple('self', hashed)})"


def _has_default(one: Field[Any]) -> bool:
    return one.default is not MISSING or one.default_factory is not MISSING


def _parameter(one: Field[Any]) -> str:
    if one.default_factory is not MISSING:
        return f"{one.name}=_FACTORY"
    return one.name if one.default is MISSING else f"{one.name}=_default_{one.name}"


def _value(one: Field[Any]) -> str:
    """What a field is set to."""
    if one.default_factory is MISSING:
        return one.name if one.init else f"_default_{one.name}"
    return f"_make_{one.name}() if {one.name} is _FACTORY else {one.name}" if one.init else f"_make_{one.name}()"


def _tuple(owner: str, of: list[Field[Any]]) -> str:
    return f"({''.join(f'{owner}.{one.name}, ' for one in of)})"


def _written(names: list[str]) -> Callable[[Any], str]:
    def __repr__(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join([f'{name}={getattr(self, name)!r}' for name in names])})"

    return __repr__


def _set(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    """For `pickle` and `copy`."""
    return [getattr(self, one.name) for one in fields(self)]


def _with_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
