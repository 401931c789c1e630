"""The exception hierarchy.

    TilewrightError            whatever goes wrong in a way that a user can cause or meet
    |-- InvalidModel           a model file or graph that means nothing
    |-- UnsupportedOperation   a meaningful operation that is not here
    |-- ShapeError             extents that do not fit together
    |   `-- Undecided          a question that depends on the value of a dimension known at run time
    |-- FeedError              inputs that a call of a model leaves out, or names that it does not have
    |-- DTypeError             element types that are not accepted
    |-- PositionError          positions that data gives, outside of what they are positions in
    |-- NotFiniteError         results that NaN or infinities may have made wrong
    |-- NotPicklable           objects that live in one process
    |-- PlanningError          no executable plan under the given constraints
    |-- ToolchainError         no C compiler, or one that failed
    `-- CacheError             the on-disk kernel cache cannot be used
    InternalError              a bug of Tilewright: not a TilewrightError, on purpose

A message says what went wrong; `where` says at which place of the user's input, `why` gives the reason, `hint` what to try.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["CacheError", "DTypeError", "FeedError", "InternalError", "InvalidModel", "PlanningError", "PositionError"]
__all__ += ["ShapeError", "TilewrightError", "ToolchainError", "UnsupportedOperation"]
"""Public names: the others are raised in the place of one of these."""

_PACKAGE = os.path.dirname(__file__)


@contextmanager
def needs_packages(what: str, extra: str, where: str = "") -> Iterator[None]:
    """Inside, a package that is missing is told with the extra that has it: Tilewright is on no index, but in a checkout.

    >>> with needs_packages("a cluster", "tune"):
    ...     import dusk
    Traceback (most recent call last):
    tilewright.errors.TilewrightError: a cluster needs the package dusk
      hint: in a checkout of Tilewright: pip install -e '.[tune]'
    """
    try:
        yield
    except ModuleNotFoundError as problem:
        hint = f"in a checkout of Tilewright: pip install -e '.[{extra}]'"
        raise TilewrightError(f"{what} needs the package {problem.name}", where=where, hint=hint) from problem


class TilewrightError(Exception):
    """An error that the user can understand and act upon.

    >>> print(ShapeError("cannot multiply (2, 3) by (4, 5)", where="matmul", why="3 != 4", hint="transpose one operand"))
    cannot multiply (2, 3) by (4, 5)
      where: matmul
      why: 3 != 4
      hint: transpose one operand
    """

    def __init__(self, message: str, *, where: str = "", why: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.why = why
        self.hint = hint

    def __str__(self) -> str:
        details = (("where", self.where), ("why", self.why), ("hint", self.hint))
        return "\n".join([self.message, *(f"  {label}: {text}" for label, text in details if text)])

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors come back from other processes, whatever else a class takes: pools wait for ever for one that does not."""
        return _restored, (type(self), self.args, vars(self))


def _restored(kind: type[TilewrightError], arguments: tuple[Any, ...], fields: dict[str, Any]) -> TilewrightError:
    error = kind.__new__(kind, *arguments)
    vars(error).update(fields)
    return error


class InvalidModel(TilewrightError):
    """A model file or a graph that has no meaning."""


class UnsupportedOperation(TilewrightError):
    """An operation that has a meaning but no implementation here."""


class ShapeError(TilewrightError, ValueError):
    """Extents that do not fit together."""


class Undecided(ShapeError, UnsupportedOperation):
    """A question about extents known at run time that has different answers inside of their ranges.

    `cuts` are the dimensions and values from which on the answer is another one: ranges that end and begin there decide it.
    `equal` are pairs of extents that are equal for some values, as those of multiples of a number may be. `numbers` are the
    dimensions that have to be numbers: each of their values is compiled on its own.
    """

    cuts: tuple[tuple[str, int], ...] = ()
    equal: tuple[tuple[Any, Any], ...] = ()
    numbers: tuple[str, ...] = ()

    def with_cuts(self, cuts: tuple[tuple[str, int], ...]) -> Undecided:
        """The same error, with what would decide the question."""
        self.cuts = cuts
        return self

    def with_equal(self, pairs: Iterable[tuple[Any, Any]]) -> Undecided:
        """The same error, with extents that would have to be equal."""
        self.equal = tuple(pairs)
        return self

    def with_numbers(self, dimensions: Iterable[str]) -> Undecided:
        """The same error, with the dimensions that have to be numbers."""
        self.numbers = tuple(dimensions)
        return self


class FeedError(TilewrightError, ValueError):
    """An input that a model needs and a call does not give, or the other way round."""


class DTypeError(TilewrightError, TypeError):
    """An element type that is not accepted."""


class PositionError(TilewrightError, IndexError):
    """A position that data gives (an index of Gather, a token id) outside of the dimension that it is a position in."""


class NotFiniteError(TilewrightError, ArithmeticError):
    """Results are wrong where NaN or infinities of others spread to them; `precision="strict"` computes them one by one.

    Jitted functions and sessions do so by themselves: only a library that is loaded without its graph raises it.
    """


class NotPicklable(TilewrightError, TypeError):
    """An object that cannot be pickled: it belongs to the process that made it."""


class PlanningError(TilewrightError):
    """No executable plan exists under the constraints that were given."""


class ToolchainError(TilewrightError):
    """No C compiler was found, or the one found failed."""


class CacheError(TilewrightError):
    """The on-disk kernel cache cannot be used."""


class InternalError(Exception):
    """A bug of Tilewright: a stage produced something that its verifier refuses.

    `dump` is the text of what was being compiled; with it the failure can be reproduced.
    """

    def __init__(self, message: str, *, dump: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.dump = dump

    def __str__(self) -> str:
        advice = "This is a bug of Tilewright. Please report it together with the text below."
        return "\n".join([self.message, advice, *([self.dump] if self.dump else [])])


@contextmanager
def bugs_reported(activity: str, dump: Callable[[], str]) -> Iterator[None]:
    """Inside, an exception that is no message to users becomes an `InternalError` with a dump.

    >>> with bugs_reported("planning f", lambda: "graph f"):
    ...     {}["x"]
    Traceback (most recent call last):
    ...
    tilewright.errors.InternalError: planning f: KeyError: 'x'
    This is a bug of Tilewright. Please report it together with the text below.
    graph f
    """
    try:
        yield
    except (TilewrightError, InternalError, MemoryError):
        raise
    except RecursionError as problem:
        raise _too_deep(activity) from problem
    except Exception as problem:
        raise bug(activity, problem, dump()) from problem


def _too_deep(activity: str) -> UnsupportedOperation:
    """The error of functions that call each other more often than Python allows, the caller's among them."""
    return UnsupportedOperation(
        f"{activity} needs more nested calls than Python allows",
        why=f"sys.getrecursionlimit() is {sys.getrecursionlimit()}, of which the caller's own calls are a part",
        hint="compile from fewer nested calls, or raise the limit with sys.setrecursionlimit",
    )


def bug(activity: str, problem: Exception, dump: str) -> InternalError:
    """The `InternalError` for an exception that nobody meant."""
    return InternalError(f"{activity}: {type(problem).__name__}: {problem}", dump=dump)


def is_bug(problem: BaseException) -> bool:
    """Whether an exception that is no message to users was raised by a line of this package."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    is_here = trace is not None and trace.tb_frame.f_code.co_filename.startswith(_PACKAGE)
    return is_here and not isinstance(problem, (TilewrightError, MemoryError))
