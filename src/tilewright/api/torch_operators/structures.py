"""Arguments and results of jitted functions as Dynamo takes them apart and puts them together.

Structures are nested tuples, since Dynamo makes constants of these, but not of named tuples.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from enum import Enum
from types import SimpleNamespace
from typing import Any, TypeAlias

import numpy as np
import torch

from tilewright.api.calls import pytree

PLACE, VALUE = "place", "value"
TUPLE, LIST, DICT, SEQUENCE, DATACLASS = "tuple", "list", "dict", "sequence", "dataclass"
Structure: TypeAlias = tuple[Any, ...]
"""`(PLACE,)`, `(VALUE, value)` or `(kind of a container, class, keys, structures)`; None is the class of built-in containers.

In structures of results, a name in `_classes` stands for a class: Dynamo can guard it there.
"""
STATIC_TYPES = (bool, str, Enum, type, type(None), np.dtype)
NUMBERS = (torch.SymInt, torch.SymFloat)
"""Numbers that are known at run time only."""


_classes = SimpleNamespace()
"""Containers that results have."""


def taken_apart(value: Any, leaves: list[Any]) -> Structure:
    """The structure of nested containers, whose tensors and numbers are added to `leaves`.

    >>> leaves = []
    >>> structure = taken_apart((torch.ones(2), {"n": 3, "mode": "sum"}), leaves)
    >>> leaves, put_together(structure, iter(["x", 4]))
    ([tensor([1., 1.]), 3], ('x', {'n': 4, 'mode': 'sum'}))
    """
    if isinstance(value, (*STATIC_TYPES, np.ndarray)):
        return (VALUE, value)
    if isinstance(value, (torch.Tensor, int, float, *NUMBERS)):
        leaves.append(value)
        return (PLACE,)
    if isinstance(value, tuple | list):
        kind = TUPLE if type(value) is tuple else LIST if type(value) is list else SEQUENCE
        return (kind, type(value) if kind == SEQUENCE else None, (), tuple([taken_apart(one, leaves) for one in value]))
    if isinstance(value, dict):
        return (DICT, None, tuple(value), tuple([taken_apart(one, leaves) for one in value.values()]))
    if dataclasses.is_dataclass(value):
        keys = tuple([field.name for field in dataclasses.fields(value)])
        return (DATACLASS, type(value), keys, tuple([taken_apart(getattr(value, key), leaves) for key in keys]))
    return (VALUE, value)


def put_together(structure: Structure, leaves: Iterator[Any]) -> Any:
    """The inverse of `taken_apart`, with other leaves."""
    if structure[0] == PLACE:
        return next(leaves)
    if structure[0] == VALUE:
        return without_source(structure[1])
    kind, other, keys, structures = structure
    values = [put_together(one, leaves) for one in structures]
    if kind == TUPLE:
        return tuple(values)
    if kind == DICT:
        return dict(zip(keys, values, strict=True))
    if kind == LIST:
        return values
    container = getattr(_classes, without_source(other)) if isinstance(other, str) else other
    if kind == DATACLASS:
        return container(**dict(zip(keys, values, strict=True)))
    return container(*values) if hasattr(container, "_fields") else container(values)


def without_source(value: Any) -> Any:
    """A constant of which Dynamo does not believe that a guard can be made."""
    if isinstance(value, bool):
        return bool(value)
    return value * 1 if isinstance(value, (int, float, str)) else value


def filled(structure: Structure, constants: Iterator[Structure]) -> Structure:
    """The structure with others in its places."""
    if structure[0] == PLACE:
        return next(constants)
    if structure[0] == VALUE:
        return structure
    kind, other, keys, structures = structure
    return (kind, other, keys, tuple([filled(one, constants) for one in structures]))


def taken_apart_result(result: Any, outputs: list[Any]) -> Structure:
    """The structure of a result, whose tensors are added to `outputs`; numbers in it are static."""
    return plain(pytree.structure_of(result, lambda value: isinstance(value, torch.Tensor), outputs))


def plain(structure: pytree.Structure) -> Structure:
    """A structure as Dynamo makes constants of it."""
    match structure:
        case pytree.Leaf():
            return (PLACE,)
        case pytree.Static(value, _):
            return (VALUE, value)
        case pytree.Node(kind, keys, children):
            name = _kind(kind)
            return (name, _named(kind) if name in (SEQUENCE, DATACLASS) else None, keys, tuple(map(plain, children)))


def _named(container: type) -> str:
    """The name under which Dynamo finds a class, so that it can guard it."""
    name = f"{container.__name__}_{id(container)}"
    setattr(_classes, name, container)
    return name


def _kind(container: type) -> str:
    if dataclasses.is_dataclass(container):
        return DATACLASS
    return DICT if issubclass(container, dict) else TUPLE if container is tuple else LIST if container is list else SEQUENCE
