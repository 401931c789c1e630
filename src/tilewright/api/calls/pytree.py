"""Nested containers of arrays: tuples, named tuples, lists, dicts, dataclasses and None, taken apart and put together again."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from tilewright.errors import TilewrightError

IsLeaf: TypeAlias = Callable[[Any], bool]


class Leaf(NamedTuple):
    """The place of one array. Structures are tuples, which hash and compare fast: every call looks its kernel up by one."""


class Static(NamedTuple):
    """A value that is part of the structure; made by `static`, so that values equal only if nothing can tell them apart."""

    value: Any
    identity: Any


class Node(NamedTuple):
    """A container: its type, its keys (dict keys, field names, or positions) and the structures inside."""

    kind: type
    keys: tuple[Any, ...]
    children: tuple[Any, ...]
    """Structures."""
    identities: tuple[Any, ...] = ()
    """Of the keys of a dict: 1 is not True."""


Structure: TypeAlias = Leaf | Static | Node
LEAF = Leaf()


class Flat(NamedTuple):
    """The leaves of a tree from left to right, and the structure that holds them."""

    leaves: tuple[Any, ...]
    structure: Structure


def static(value: Any) -> Static:
    """The structure of a static value. 1, 1.0 and True differ, also inside tuples and frozensets; so do 0.0 and -0.0.

    >>> static((1,)) == static((True,)), static(float("nan")) == static(float("nan"))
    (False, True)
    """
    is_nan = isinstance(value, float) and value != value
    return Static(math.nan if is_nan else value, _identity(value))


def _identity(value: Any) -> Any:
    kind = type(value)
    if isinstance(value, float):
        return kind, value.hex()
    if isinstance(value, (tuple, frozenset)):
        inner = map(_identity, value)
        return kind, tuple(inner) if isinstance(value, tuple) else frozenset(inner)
    return kind


def flatten(tree: Any, is_leaf: IsLeaf) -> Flat:
    """Take a tree apart. What is neither a container nor a leaf by `is_leaf` is static. Dicts keep their order of insertion;
    subclasses of dict become plain dicts. Raises `TilewrightError` for dataclasses that cannot be built from their fields.

    >>> flat = flatten({"w": 1.0, "layers": [2.0, None]}, lambda x: isinstance(x, float))
    >>> flat.leaves, list(paths(flat.structure, "params"))
    ((1.0, 2.0), ["params['w']", "params['layers'][0]"])
    """
    leaves: list[Any] = []
    structure = structure_of(tree, is_leaf, leaves)
    return Flat(tuple(leaves), structure)


def structure_of(tree: Any, is_leaf: IsLeaf, leaves: list[Any]) -> Structure:
    """The structure of a tree, whose leaves are added to `leaves`."""
    if is_leaf(tree):
        leaves.append(tree)
        return LEAF
    keys: tuple[Any, ...]
    children: Iterable[Any]
    if isinstance(tree, (tuple, list)):
        keys, children = tuple(range(len(tree))), tree
    elif isinstance(tree, dict):
        keys, children = tuple(tree), tree.values()
    elif dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        keys = _constructor_fields(tree)
        children = [getattr(tree, key) for key in keys]
    else:
        return static(tree)
    return node(type(tree), keys, tuple([structure_of(child, is_leaf, leaves) for child in children]))


def node(kind: type, keys: tuple[Any, ...], children: tuple[Any, ...]) -> Node:
    """The structure of a container with these keys and structures inside."""
    return Node(kind, keys, children, tuple(map(_identity, keys)) if issubclass(kind, dict) else ())


def _constructor_fields(tree: Any) -> tuple[str, ...]:
    fields = dataclasses.fields(tree)
    extra = [field.name for field in fields if not field.init]
    if extra:
        raise TilewrightError(
            f"a {type(tree).__name__} cannot be an argument or a result",
            why=f"its field {extra[0]} is not set by its constructor",
            hint="pass its arrays in a tuple or a dict",
        )
    return tuple(field.name for field in fields)


def paths(structure: Structure, path: str = "") -> Iterator[str]:
    """How Python would write the place of every leaf, where `path` stands for the whole."""
    if isinstance(structure, Leaf):
        yield path
    elif isinstance(structure, Node):
        for key, child in zip(structure.keys, structure.children, strict=True):
            yield from paths(child, f"{path}.{key}" if dataclasses.is_dataclass(structure.kind) else f"{path}[{key!r}]")


def unflatten(structure: Structure, leaves: Sequence[Any]) -> Any:
    """The tree of that structure with these leaves.

    >>> unflatten(flatten((1.0, [2.0]), lambda x: isinstance(x, float)).structure, "ab")
    ('a', ['b'])
    """
    return _built(structure, iter(leaves))


def statics(structure: Structure) -> Iterator[Any]:
    """Every static value in a structure."""
    if isinstance(structure, Static):
        yield structure.value
    elif isinstance(structure, Node):
        for child in structure.children:
            yield from statics(child)


def _built(structure: Structure, leaves: Iterator[Any]) -> Any:
    match structure:
        case Leaf():
            return next(leaves)
        case Static(value, _):
            return value
        case Node(kind, keys, children):
            values = [_built(child, leaves) for child in children]
            if dataclasses.is_dataclass(kind) or issubclass(kind, dict):
                pairs = dict(zip(keys, values, strict=True))
                return kind(**pairs) if dataclasses.is_dataclass(kind) else pairs
            make: Callable[..., Any] = kind
            return make(*values) if hasattr(kind, "_fields") else make(values)
