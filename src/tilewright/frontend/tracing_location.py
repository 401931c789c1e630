"""Where in the user's source a traced operation stands, and errors that say so."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

import numpy as np

from tilewright.errors import UnsupportedOperation

_LIBRARIES = (str(Path(__file__).parents[1]), str(Path(np.__file__).parent))


class UnsupportedAttribute(UnsupportedOperation, AttributeError):
    """A missing attribute: `hasattr` sees it as such, users see what to use instead."""


def user_location() -> str:
    """`file:line` of the innermost frame that is neither Tilewright's nor NumPy's, "" if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_LIBRARIES):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def closest(name: str, known: Iterable[str]) -> str:
    """The hint "did you mean ...", or the way to see all names.

    >>> closest("sofmax", ["softmax", "exp"])
    'did you mean softmax?'
    """
    matches = difflib.get_close_matches(name, sorted(known), n=2, cutoff=0.5)
    return f"did you mean {' or '.join(matches)}?" if matches else "compose it of functions that exist: see tilewright.__all__"


def unsupported(operation: str, known: Iterable[str], why: str = "", hint: str = "") -> UnsupportedOperation:
    """The error for a function that cannot be traced; without a hint, the closest of the `known` names is one."""
    name = operation.rsplit(".", 1)[-1]
    return UnsupportedOperation(
        f"{operation} cannot be traced",
        where=user_location(),
        why=why or "it has no operator here",
        hint=hint or closest(name, known),
    )
