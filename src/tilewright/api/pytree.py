"""Nested containers of arrays: tuples, named tuples, lists, dicts, dataclasses and None, taken apart and put together again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

IsLeaf: TypeAlias = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Leaf:
    """The place of one array."""


@dataclass(frozen=True, slots=True)
class Static:
    """A value that is part of the structure. Values of different types are different (1 is not True)."""

    value: Any
    kind: type


@dataclass(frozen=True, slots=True)
class Node:
    """A container: its type, its keys (dict keys, field names, or positions) and the structures inside."""

    kind: type
    keys: tuple[Any, ...]
    children: tuple[Structure, ...]


Structure: TypeAlias = Leaf | Static | Node


@dataclass(frozen=True, slots=True)
class Flat:
    """The leaves of a tree from left to right, a readable path for each, and the structure that holds them."""

    leaves: tuple[Any, ...]
    paths: tuple[str, ...]
    structure: Structure


def flatten(tree: Any, is_leaf: IsLeaf, path: str = "") -> Flat:
    """Take a tree apart. What is neither a container nor a leaf by `is_leaf` is static. Dicts keep their order of insertion.

    >>> flat = flatten({"w": 1.0, "layers": [2.0, None]}, lambda x: isinstance(x, float), "params")
    >>> flat.leaves, flat.paths
    ((1.0, 2.0), ("params['w']", "params['layers'][0]"))
    """
    if is_leaf(tree):
        return Flat((tree,), (path,), Leaf())
    parts = _parts(tree, path)
    if parts is None:
        return Flat((), (), Static(tree, type(tree)))
    children = [flatten(child, is_leaf, child_path) for _, child, child_path in parts]
    node = Node(type(tree), tuple(key for key, _, _ in parts), tuple(child.structure for child in children))
    leaves = tuple(leaf for child in children for leaf in child.leaves)
    return Flat(leaves, tuple(name for child in children for name in child.paths), node)


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


def _parts(tree: Any, path: str) -> list[tuple[Any, Any, str]] | None:
    """Key, child and child's path of everything directly inside a container; None for what is no container."""
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = [field.name for field in dataclasses.fields(tree) if field.init]
        return [(name, getattr(tree, name), f"{path}.{name}") for name in names]
    if isinstance(tree, dict):
        return [(key, child, f"{path}[{key!r}]") for key, child in tree.items()]
    if isinstance(tree, tuple | list):
        return [(position, child, f"{path}[{position}]") for position, child in enumerate(tree)]
    return None


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
