"""Places in the user's source: where a traced operation stands, and errors that say so."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import ParamSpec, TypeVar

import numpy as np

from tilewright.errors import TilewrightError, UnsupportedOperation
from tilewright.frontend.tracing.hints import instead_of

P = ParamSpec("P")
T = TypeVar("T")
_LIBRARIES = (str(Path(__file__).parents[2]), str(Path(np.__file__).parent))


class UnsupportedAttribute(UnsupportedOperation, AttributeError):
    """A missing attribute: `hasattr` sees it as such, users see what to use instead."""


def user_location() -> str:
    """`file:line` of the innermost frame that is neither Tilewright's nor NumPy's nor torch's, "" if there is none."""
    frame: FrameType | None = sys._getframe(1)
    torch = getattr(sys.modules.get("torch"), "__file__", None)
    libraries = (*_LIBRARIES, str(Path(torch).parent)) if torch else _LIBRARIES
    while frame is not None:
        if not frame.f_code.co_filename.startswith(libraries):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def located(error: TilewrightError) -> TilewrightError:
    """The error, with the place in the user's source added where it does not name it yet."""
    place = user_location()
    if place not in error.where:
        error.where = f"{error.where}, {place}" if error.where else place
    return error


def located_call(function: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    """The value of a call whose errors are given the place in the user's source."""
    try:
        return function(*arguments, **options)
    except TilewrightError as error:
        raise located(error) from error.__cause__


def unsupported(operation: str, known: Iterable[str], why: str = "", hint: str = "") -> UnsupportedOperation:
    """The error for a function that cannot be traced; without a hint, there may be one for its name."""
    why = why or "it has no operator here"
    hint = hint or instead_of(operation.rsplit(".", 1)[-1], known)
    return UnsupportedOperation(f"{operation} cannot be traced", where=user_location(), why=why, hint=hint)
