"""Calls as data, as packages hold them: the parameters of a function, the structures of arguments and results, kernels."""

from __future__ import annotations

import inspect
from typing import Any, TypeAlias

import numpy as np

from tilewright.api.calls import pytree
from tilewright.api.calls.calling import Binder, Called
from tilewright.api.ranges import SavedTable
from tilewright.backends.saving import SavedKernel
from tilewright.dtypes import dtype_named
from tilewright.errors import TilewrightError
from tilewright.records import record

KINDS: dict[str, type] = {"tuple": tuple, "list": list, "dict": dict}


@record
class SavedTuple:
    """A static tuple."""

    items: tuple[SavedValue, ...]


@record
class SavedType:
    """A static element type, by NumPy's name."""

    name: str


SavedValue: TypeAlias = bool | int | float | str | SavedTuple | SavedType | None
"""A static value."""


@record
class SavedLeaf:
    """The place of an array."""


@record
class SavedStatic:
    """A value that is part of a structure."""

    value: SavedValue


@record
class SavedNode:
    """A container of one of `KINDS`."""

    kind: str
    keys: tuple[SavedValue, ...]
    children: tuple[SavedStructure, ...]


SavedStructure: TypeAlias = SavedLeaf | SavedStatic | SavedNode


@record
class SavedParameter:
    """A parameter of a function."""

    name: str
    kind: int
    """Of `inspect.Parameter`."""
    has_default: bool
    """Which was part of the function when it was traced."""


@record
class SavedBinder:
    """How a function takes its arguments."""

    parameters: tuple[SavedParameter, ...]
    static_names: tuple[str, ...]

    def binder(self) -> Binder:
        """The binder. Raises `ValueError` for parameters that no function has."""
        every = inspect.Parameter
        kinds = {
            int(kind): kind
            for kind in (
                every.POSITIONAL_ONLY,
                every.POSITIONAL_OR_KEYWORD,
                every.VAR_POSITIONAL,
                every.KEYWORD_ONLY,
                every.VAR_KEYWORD,
            )
        }
        parameters = [
            every(one.name, kinds[one.kind], default=None if one.has_default else every.empty) for one in self.parameters
        ]
        return Binder(inspect.Signature(parameters), self.static_names)


@record
class SavedCall:
    """A kernel, and how it is called."""

    name: str
    binder: SavedBinder
    call: SavedStructure
    result: SavedStructure
    kernel: SavedKernel | None
    """None of a function that returns no array."""
    explanation: int | None = None
    """The section of its plan in words."""

    def called(self) -> Called:
        """How it is called. Raises `ValueError`, `TypeError` or `LookupError` for data that is none of ours."""
        call = structure(self.call)
        if not isinstance(call, pytree.Node):
            raise TypeError("the arguments are no container")
        return Called(self.name, self.binder.binder(), call, structure(self.result))


@record
class SavedSignatures:
    """The kernels of one structure of arguments, with the ranks and types of the arrays in it."""

    call: SavedStructure
    arrays: tuple[tuple[int, np.dtype[Any]], ...]
    table: SavedTable


@record
class SavedFunction:
    """A jitted function: its kernels, and which calls they are for."""

    name: str
    binder: SavedBinder
    kernels: tuple[SavedCall, ...]
    signatures: tuple[SavedSignatures, ...]


def saved_call(called: Called, kernel: SavedKernel | None) -> SavedCall:
    """The data of a kernel and its call. Raises `TilewrightError` for what only a program knows."""
    structures = saved_structure(called.call), saved_structure(called.result)
    return SavedCall(called.name, saved_binder(called.binder), *structures, kernel)


def saved_binder(binder: Binder) -> SavedBinder:
    """The data of a binder."""
    parameters = binder.signature.parameters.values()
    saved = (SavedParameter(one.name, int(one.kind), one.default is not one.empty) for one in parameters)
    return SavedBinder(tuple(saved), tuple(binder.static_names))


def saved_structure(structure: pytree.Structure) -> SavedStructure:
    """The data of a structure. Raises `TilewrightError` for containers and values that only a program knows."""
    match structure:
        case pytree.Leaf():
            return SavedLeaf()
        case pytree.Static(value, _):
            return SavedStatic(_saved_value(value))
        case pytree.Node(kind, keys, children):
            name = next((name for name, known in KINDS.items() if known is kind), None)
            if name is None:
                raise _unsavable(f"a {kind.__name__}")
            return SavedNode(name, tuple(map(_saved_value, keys)), tuple(map(saved_structure, children)))


def _saved_value(value: object) -> SavedValue:
    if value is None or type(value) in (bool, int, float, str):
        return value  # type: ignore[return-value]
    if type(value) is tuple:
        return SavedTuple(tuple(map(_saved_value, value)))
    if isinstance(value, np.dtype):
        return SavedType(value.name)
    raise _unsavable(f"a {type(value).__name__}")


def _unsavable(what: str) -> TilewrightError:
    return TilewrightError(
        f"a call that takes or returns {what} cannot be saved",
        where="save",
        why="a package holds data only: arrays in tuples, lists and dicts, with numbers, texts, truth values and None",
        hint="jit a function that takes the arrays inside as arguments",
    )


def structure(saved: SavedStructure) -> pytree.Structure:
    """The structure of its data. Raises `ValueError` or `TypeError` for data that is none of ours."""
    match saved:
        case SavedLeaf():
            return pytree.LEAF
        case SavedStatic(value):
            return pytree.static(_value(value))
        case SavedNode(kind, keys, children):
            if len(keys) != len(children):
                raise ValueError("a container has other keys than parts")
            return pytree.node(KINDS[kind], tuple(map(_value, keys)), tuple(map(structure, children)))


def _value(value: SavedValue) -> object:
    match value:
        case SavedTuple(items):
            return tuple(map(_value, items))
        case SavedType(name):
            return dtype_named(name)
        case _:
            return value
