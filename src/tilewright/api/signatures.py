"""The kernels of one structure of calls, by the extents of their arrays or the ranges of these."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tilewright.api.lengths import FACTORS, DynamicDimensions, least_factor, named_symbols, symbols
from tilewright.api.ranges import Extents, SavedTable
from tilewright.api.recent import Recent
from tilewright.errors import CacheError, InternalError, ShapeError, ToolchainError, Undecided, bug, is_bug
from tilewright.graph.expressions.extents import dimensions_of
from tilewright.graph.types import Extent
from tilewright.records import record

if TYPE_CHECKING:
    from tilewright.api.calls.calling import Array
    from tilewright.frontend.tracing.trace import TensorSpec

TracedT = TypeVar("TracedT")
MadeT = TypeVar("MadeT")
NOT_ABOUT_LENGTHS = (ToolchainError, CacheError, InternalError, MemoryError)
"""Errors that would come again with fixed extents, and bugs."""

_log = logging.getLogger("tilewright.plan")


@record
class Maker(Generic[TracedT, MadeT]):
    """How a call becomes a kernel."""

    trace: Callable[[Sequence[Extent]], TracedT]
    """The call's graph, with these extents of its arrays."""
    compile: Callable[[TracedT], MadeT]
    """Planned, compiled and loaded."""


class Making(Future[None]):
    """A kernel that a thread is making; others that want it wait for the result, and get the error: it would come again."""

    def __init__(self) -> None:
        super().__init__()
        self._maker = threading.get_ident(), os.getpid()

    def is_by_another_thread(self) -> bool:
        """Of this process: a forked child does not have the thread. Who waited for himself would wait for ever."""
        thread, process = self._maker
        return process == os.getpid() and thread != threading.get_ident()


class Signatures(Generic[TracedT, MadeT]):
    """Kernels and the lengths that calls have shown. Safe from several threads.

    Kernels for different extents are made side by side, and one kernel by one thread; no lock is held meanwhile, so that
    kernels that exist are found at any time.
    """

    def __init__(
        self,
        dynamic: bool | None,
        kernels: Recent[tuple[object, Extents], MadeT],
        *,
        passing: tuple[type[Exception], ...] = (),
        ranks: Sequence[int] = (),
        names: Sequence[str | None] = (),
    ) -> None:
        """`dynamic` as for `tw.jit`, `ranks` and `names` as for `DynamicDimensions`; exceptions that are `passing` say nothing
        about lengths.

        `kernels`, which may be shared, are found by the extents of a call that they were made for, and by its key.
        """
        self._kernels = kernels
        self._passing = (*NOT_ABOUT_LENGTHS, *passing)
        self._lengths = DynamicDimensions(dynamic, ranks, names)
        self._told: set[str] = set()
        """Why dimensions were split or specialised, as far as that was said."""
        self._must_be_symbolic = dynamic is True
        self._begun: dict[Extents, Making] = {}
        self._lock = threading.Lock()

    def tell(self, names: Mapping[int, str], count: int) -> None:
        """That these of `count` extents vary, by position; equal names are one dimension."""
        with self._lock:
            self._lengths.tell(names, count)

    def find(self, extents: Extents) -> MadeT | None:
        """The kernel of a call, if there is one."""
        found = self._kernels.get((self, extents))
        return self._kernels.get((self, self._lengths.ranges.key(extents))) if found is None else found

    def saved(self, count: int, number: Callable[[MadeT], int | None]) -> SavedTable:
        """The table of its kernels as data, without those that have no number; calls have so many extents."""
        with self._lock:
            ranges = replace(self._lengths.ranges)
            entries = [(key, number(made)) for (owner, key), made in self._kernels.items() if owner is self]
        return SavedTable(count, ranges, tuple((key, found) for key, found in entries if found is not None))

    def find_or_make(self, extents: Extents, maker: Maker[TracedT, MadeT]) -> MadeT:
        """The kernel of a call. Lengths that the function cannot be traced or planned with are specialised."""
        with self._lock:
            self._lengths.learn(extents)
        while True:
            with self._lock:
                kernel = self.find(extents)
                if kernel is not None:
                    return kernel
                key = self._lengths.ranges.key(extents)
                begun = self._begun.get(key) or self._begun.get(extents)
                is_ours = begun is None or not begun.is_by_another_thread()
                if begun is None or is_ours:
                    begun = self._begun[key] = self._begun[extents] = Making()
            if not is_ours:
                begun.result()
                continue
            kernel = self._make(key, extents, maker, begun)
            if kernel is not None:
                return kernel

    def _make(self, key: Extents, extents: Extents, maker: Maker[TracedT, MadeT], making: Making) -> MadeT | None:
        """A kernel; None where lengths were specialised instead."""
        try:
            kernel = self._attempt(key, extents, maker)
            if kernel is not None:
                self._kernels.put((self, key), kernel)
                self._kernels.put((self, extents), kernel)
            return kernel
        except Exception as problem:
            making.set_exception(problem)
            raise
        finally:
            with self._lock:
                for begun in {key, extents}:
                    self._begun.pop(begun, None)
            if not making.done():
                making.set_result(None)

    def _attempt(self, key: Extents, extents: Extents, maker: Maker[TracedT, MadeT]) -> MadeT | None:
        """A kernel; None where ranges were split or dimensions specialised instead.

        A function may refuse lengths in whatever way it likes; an error of this package is a bug if fixed extents do not meet it.
        """
        lengths = symbols(key)
        try:
            return maker.compile(maker.trace(self._lengths.described(key, extents, lengths)))
        except Exception as problem:
            if not lengths or isinstance(problem, self._passing):
                raise
            is_restricted = self._made_numbers(key, extents, problem) or self._multiplied(key, extents, problem)
            if is_restricted or self._narrowed(key, problem) or self._restricted(key, extents, maker, problem):
                return None
            if self._must_be_symbolic:
                raise
            if is_bug(problem) and _can_trace(maker, extents):
                raise bug("tracing with lengths", problem, f"extents of the arguments: {key}") from problem
            self._tell("specialised: each of their values is compiled on its own", problem)
        failing = [first for first in lengths if not _can_trace(maker, self._lengths.described(key, extents, (first,)))]
        with self._lock:
            self._lengths.specialise([position for first in failing or lengths for position in lengths[first]], extents)
        return None

    def _narrowed(self, key: Extents, problem: Exception) -> bool:
        """Whether ranges were split where an undecided question has another answer, or equal extents made one dimension."""
        named, cuts = named_symbols(key), problem.cuts if isinstance(problem, Undecided) else ()
        with self._lock:
            split = [self._lengths.split(named[name], begin) for name, begin in cuts if name in named]
            is_split = any(split)
            is_narrowed = is_split or self._lengths.forget_names()
        if is_split:
            self._tell("dynamic in ranges", problem)
        return is_narrowed

    def _made_numbers(self, key: Extents, extents: Extents, problem: Exception) -> bool:
        """Whether dimensions that a problem says must be numbers, as heads that share others are, were specialised alone."""
        wanted = problem.numbers if isinstance(problem, Undecided) else ()
        found = [position for name, positions in named_symbols(key).items() if name in wanted for position in positions]
        if found:
            with self._lock:
                self._lengths.specialise(found, extents)
            self._tell("specialised: each of their values is compiled on its own", problem)
        return bool(found)

    def _multiplied(self, key: Extents, extents: Extents, problem: Exception) -> bool:
        """Whether dimensions were restricted to multiples of a number that make the extents equal that a problem names."""
        named = named_symbols(key)
        found: dict[int, int] = {}
        for pair in problem.equal if isinstance(problem, Undecided) else ():
            concerned = [named[name][0] for name in dimensions_of(pair)]
            least = max(self._lengths.factor(first, extents[first]) for first in concerned)
            factor = least_factor(*pair, [extents[first] for first in concerned], above=least)
            if factor is None:
                return False
            found |= {first: max(factor, found.get(first, 1)) for first in concerned}
        if found:
            self._multiply(found, symbols(key), extents, problem)
        return bool(found)

    def _restricted(self, key: Extents, extents: Extents, maker: Maker[TracedT, MadeT], problem: Exception) -> bool:
        """Whether dimensions were restricted to multiples of a number, with which shapes fit each other for all values."""
        if not isinstance(problem, Undecided | ShapeError):
            return False
        lengths = symbols(key)
        for factors in _restrictions([*lengths], extents):
            if _can_trace(maker, self._lengths.described(key, extents, lengths, factors)):
                self._multiply(factors, lengths, extents, problem)
                return True
        return False

    def _multiply(
        self, factors: Mapping[int, int], lengths: Mapping[int, Sequence[int]], extents: Extents, problem: Exception
    ) -> None:
        with self._lock:
            for first, factor in factors.items():
                self._lengths.multiply(lengths[first], extents, factor)
        told = ", ".join(f"{factor}" for factor in dict.fromkeys(factors.values()))
        self._tell(f"dynamic in multiples of {told}, others are compiled on their own", problem)

    def _tell(self, what: str, problem: Exception) -> None:
        """Say once what becomes of extents and why."""
        text = f"extents are {what}: {problem}"
        if text not in self._told:
            self._told.add(text)
            _log.info("%s", text)


def _restrictions(firsts: Sequence[int], extents: Extents) -> Iterator[dict[int, int]]:
    """Factors of dimensions that divide the extents of a call: of one dimension, the last ones first, then of all of them.

    >>> list(_restrictions([0, 1], (5, 10)))
    [{1: 2}, {1: 5}, {1: 10}, {0: 5}, {0: 5, 1: 5}]
    """
    for first in reversed(firsts):
        yield from ({first: factor} for factor in FACTORS if extents[first] % factor == 0)
    for factor in FACTORS:
        found = {first: factor for first in firsts if extents[first] % factor == 0}
        if len(found) > 1:
            yield found


def extents_of(arrays: Sequence[Array]) -> Extents:
    """The extents of all arrays, one after the other."""
    return tuple([extent for array in arrays for extent in array.shape])


def with_extents(specs: Sequence[TensorSpec], extents: Sequence[Extent]) -> tuple[TensorSpec, ...]:
    """The same arguments with other extents.

    >>> from tilewright.frontend.tracing.trace import TensorSpec
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
