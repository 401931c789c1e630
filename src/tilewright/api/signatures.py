"""The kernels of one structure of calls, by the extents of their arrays or the buckets of these."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from tilewright.api.calling import Array
from tilewright.api.lengths import Extents, Lengths, described, symbols
from tilewright.errors import CacheError, InternalError, ToolchainError, bug, is_bug
from tilewright.frontend.tracing import TensorSpec
from tilewright.graph.types import Extent

TracedT = TypeVar("TracedT")
MadeT = TypeVar("MadeT", covariant=True)
NOT_ABOUT_LENGTHS = (ToolchainError, CacheError, InternalError, MemoryError)
"""Errors that would come again with fixed extents, and bugs."""

_log = logging.getLogger("tilewright.plan")


class Maker(Protocol[TracedT, MadeT]):
    """How a call becomes a kernel."""

    def trace(self, extents: Sequence[Extent]) -> TracedT:
        """The call's graph, with these extents of its arrays."""

    def compile(self, traced: TracedT) -> MadeT:
        """Planned, compiled and loaded."""


class Signatures(Generic[TracedT, MadeT]):
    """Kernels and the lengths that calls have shown. `find` may run while another thread makes a kernel."""

    def __init__(self, dynamic: bool | None, *, passing: tuple[type[Exception], ...] = ()) -> None:
        """`dynamic` as for `tw.jit`; exceptions that are `passing` say nothing about lengths."""
        self.kernels: dict[Extents, MadeT] = {}
        self._passing = (*NOT_ABOUT_LENGTHS, *passing)
        self._lengths = Lengths(dynamic)
        self._must_be_symbolic = dynamic is True

    def find(self, extents: Extents) -> MadeT | None:
        """The kernel of a call, if there is one."""
        return self.kernels.get(self._lengths.key(extents))

    def find_or_make(self, extents: Extents, maker: Maker[TracedT, MadeT]) -> MadeT:
        """The kernel of a call. Lengths that the function cannot be traced or planned with are specialised."""
        self._lengths.learn(extents)
        kernel = self.find(extents)
        while kernel is None:
            kernel = self._attempt(extents, maker)
        self.kernels[self._lengths.key(extents)] = kernel
        return kernel

    def _attempt(self, extents: Extents, maker: Maker[TracedT, MadeT]) -> MadeT | None:
        """A kernel; None where lengths were pinned instead.

        A function may refuse lengths in whatever way it likes; an error of this package is a bug if fixed extents do not meet it.
        """
        key = self._lengths.key(extents)
        lengths = symbols(key)
        try:
            return maker.compile(maker.trace(described(key, extents, lengths)))
        except Exception as problem:
            if not lengths or self._must_be_symbolic or isinstance(problem, self._passing):
                raise
            if is_bug(problem) and _can_trace(maker, extents):
                raise bug("tracing with lengths", problem, f"extents of the arguments: {key}") from problem
            _log.info("lengths are specialised: %s", problem)
        failing = [first for first in lengths if not _can_trace(maker, described(key, extents, (first,)))]
        self._lengths.pin([position for first in failing or lengths for position in lengths[first]], extents)
        return None


def extents_of(arrays: Sequence[Array]) -> Extents:
    """The extents of all arrays, one after the other."""
    return tuple([extent for array in arrays for extent in array.shape])


def with_extents(specs: Sequence[TensorSpec], extents: Sequence[Extent]) -> tuple[TensorSpec, ...]:
    """The same arguments with other extents.

    >>> with_extents([TensorSpec((3,)), TensorSpec((4, 5))], (6, 7, 8))[1].shape
    (7, 8)
    """
    rest = iter(extents)
    return tuple(replace(spec, shape=tuple(islice(rest, len(spec.shape)))) for spec in specs)


def _can_trace(maker: Maker[Any, Any], extents: Sequence[Extent]) -> bool:
    try:
        maker.trace(extents)
    except Exception:
        return False
    return True
