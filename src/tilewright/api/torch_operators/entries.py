"""What the keys of the operator stand for: functions, with the structures of their arguments and traced graphs.

A key is a digest of the traced graph, of the numbers among the arguments and of the function's options: graphs that torch has
cached on disk never meet another function under the same key.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch

from tilewright.api.calls.calling import TracedCall
from tilewright.api.torch_operators.extents import Lengths
from tilewright.api.torch_operators.structures import NUMBERS, PLACE, VALUE, Structure, filled, put_together
from tilewright.errors import TilewrightError, UnsupportedOperation
from tilewright.frontend.tracing.trace import TensorSpec
from tilewright.graph.builders.builder import Builder
from tilewright.graph.data_format import Unreadable, encode
from tilewright.graph.types import Extent, Graph, Tensor
from tilewright.records import record
from tilewright.runtime.digests import sha256


class Jitted(Protocol):
    """What is asked of a jitted function."""

    __name__: str
    _told: Any
    """Its options."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        """The result."""

    def _outlined(self, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[TracedCall, tuple[Any, ...]]:
        """The graph of a call whose arguments are specs and numbers, and these arguments one by one."""

    def _record_into(
        self, builder: Builder, args: tuple[Any, ...], options: dict[str, Any], tensors: Sequence[tuple[TensorSpec, Tensor]]
    ) -> tuple[Tensor, ...]:
        """The results of such a call on tensors of a graph under construction, each with the spec that stands for it."""


@record(eq=False)
class Entry:
    """What a key of the operator stands for."""

    jitted: Jitted
    structure: Structure
    """Of the positional and the named arguments, with the numbers that are constant."""
    numbers: tuple[type | None, ...]
    """Of each tensor: the type of the number that it stands for, if it does."""
    shapes: tuple[tuple[Extent, ...], ...]
    """Of the tensors, whose extents are numbers or dimensions."""
    traced: TracedCall
    sources: tuple[tuple[str, Any], ...]
    """Of the graph's inputs, as `_sources` has them."""

    def arguments(self, tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the function is called with."""
        pairs = zip(tensors, self.numbers, strict=True)
        leaves = iter([tensor if kind is None else kind(tensor.item()) for tensor, kind in pairs])
        positional, named = put_together(self.structure, leaves)
        return positional, named


_entries: dict[str, Entry] = {}


def entered(entry: Entry) -> str:
    """The key of an entry; one that was made before may stand for it."""
    key = _key(entry)
    _entries.setdefault(key, entry)
    return key


def with_constants(structure: Structure, leaves: Sequence[Any]) -> Structure:
    """The structure with the leaves that are constant."""
    return filled(structure, iter([(PLACE,) if isinstance(leaf, (torch.Tensor, *NUMBERS)) else (VALUE, leaf) for leaf in leaves]))


def as_tensors(given: Sequence[Any]) -> list[Any]:
    """What the operator takes: numbers that are known at run time only are 0-d float64."""
    return [leaf if isinstance(leaf, torch.Tensor) else torch.scalar_tensor(leaf, dtype=torch.float64) for leaf in given]


def _number_type(leaf: Any) -> type | None:
    if isinstance(leaf, torch.Tensor):
        return None
    return int if isinstance(leaf, torch.SymInt) else float


class _Integer(int):
    """In the place of an integer that is known at run time only."""


class _Real(float):
    """The same of other numbers."""


_STAND_INS = {int: _Integer, float: _Real}


def traced(jitted: Jitted, structure: Structure, given: Sequence[Any]) -> Entry:
    """The entry of a call, for all values of the extents that vary; where that does not work, for fewer and fewer of them."""
    numbers = tuple(map(_number_type, given))

    def attempt(lengths: Lengths) -> Entry:
        shapes = tuple(() if isinstance(leaf, NUMBERS) else lengths.shape(leaf.shape) for leaf in given)
        specs = [
            TensorSpec(shape, _name(leaf.dtype)) if kind is None else _STAND_INS[kind](1)
            for leaf, shape, kind in zip(given, shapes, numbers, strict=True)
        ]
        positional, named = put_together(structure, iter(specs))
        traced, leaves = jitted._outlined(positional, named)
        return Entry(jitted, structure, numbers, shapes, traced, _sources(leaves, specs))

    lengths = Lengths()
    for narrowed in (lengths.make_equal, lengths.specialise):
        try:
            return attempt(lengths)
        except Exception:
            if not lengths.values:
                raise
            narrowed()
            lengths = Lengths()
    return attempt(lengths)


def _name(dtype: Any) -> str:
    """An element type by NumPy's name."""
    return str(dtype).removeprefix("torch.")


def _key(entry: Entry) -> str:
    """A text that is the same in every process where the operator computes the same."""
    graph = entry.traced.graph
    try:
        content = encode(graph, Graph)
    except Unreadable:
        content = f"{id(graph)} of {_PROCESS}".encode()
    described = repr((entry.jitted._told, entry.sources, entry.numbers))
    return f"{graph.name}_{sha256(content + described.encode()).hex()[:32]}"


def _sources(leaves: Sequence[Any], given: Sequence[Any]) -> tuple[tuple[str, Any], ...]:
    """Where each input of the graph comes from: a tensor of the operator by its place, or a number that is part of the call.

    Arguments that are given by name are inputs in the order of the parameters, and tensors in that of the call.
    """
    places = {id(one): place for place, one in enumerate(given)}
    for leaf in leaves:
        if id(leaf) not in places and not isinstance(leaf, (int, float, np.generic)):
            text = f"a {type(leaf).__name__} was passed to a jitted function beside tensors that stand for others"
            raise UnsupportedOperation(text, why="only tensors and numbers can be there", hint="pass a tensor of torch")
    return tuple(("tensor", places[id(leaf)]) if id(leaf) in places else (type(leaf).__name__, leaf) for leaf in leaves)


_PROCESS = f"{id(sys)} {np.random.default_rng().integers(2**62)}"
"""A text of this process alone."""


def entry_of(key: str) -> Entry:
    """What a key stands for. Raises `TilewrightError` for one of another process."""
    found = _entries.get(key)
    if found is None:
        why = "a graph with a call of a jitted function runs in the process that has recorded it"
        hint = "compile or export the model in this process; for files, jitted functions have save() and tw.load()"
        raise TilewrightError(f"nothing is known of the jitted function {key!r}", why=why, hint=hint)
    return found
