"""Numbers as texts and texts as numbers, as Cast has them.

ONNX names only the forms that texts may have; what is written is what onnxruntime writes, 8 digits at most.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tilewright.errors import DTypeError

DIGITS = 8
WHOLE = re.compile(r"\s*[+-]?\d+\s*")
LEAST, MOST = -(2**63), 2**64 - 1
"""Of whole numbers; those beyond a narrower type lose their upper bits."""
NOT_FINITE = {"nan": "NaN", "inf": "INF", "-inf": "-INF"}


def text_of(value: Any) -> str:
    """A text, decoded."""
    return value.decode() if isinstance(value, bytes) else str(value)


def texts_of(x: Any) -> Any:
    """Every element as a text.

    >>> texts_of(np.array([1.5, 2, 1 / 3, 1e20, -np.inf], np.float32)).tolist(), texts_of(np.array([True])).tolist()
    (['1.5', '2', '0.33333334', '1e+20', '-INF'], ['1'])
    """
    if x.dtype == object:
        return x
    written = str if x.dtype.kind in "iu" or "int" in x.dtype.name else _whole if x.dtype.kind == "b" else _real
    return np.array([written(element) for element in x.reshape(-1)], object).reshape(x.shape)


def numbers_of(x: Any, target: np.dtype[Any]) -> Any:
    """Texts as numbers that can be converted to a type: exact whole ones, or float64. Raises `DTypeError` for other texts.

    >>> numbers_of(np.array(["9007199254740993", "1.5", "-1"], object), np.dtype("int64")).astype("int64").tolist()
    [9007199254740993, 1, -1]
    """
    read = _whole_number if target.kind in "iu" else _number
    values = [read(text_of(element), target) for element in x.reshape(-1)]
    return np.array(values, np.uint64 if target.kind in "iu" else np.float64).reshape(x.shape)


def _whole(element: Any) -> str:
    return str(int(element))


def _real(element: Any) -> str:
    text = f"{float(element):.{DIGITS}g}"
    return NOT_FINITE.get(text, text)


def _number(text: str, target: np.dtype[Any]) -> float:
    try:
        return float(text)
    except ValueError:
        raise _refused(text, target) from None


def _whole_number(text: str, target: np.dtype[Any]) -> int:
    """A whole number without its fraction, modulo 2^64."""
    number = int(text) if WHOLE.fullmatch(text) else _number(text, target)
    if not LEAST <= number <= MOST:
        raise _refused(text, target)
    return int(number) % 2**64


def _refused(text: str, target: np.dtype[Any]) -> DTypeError:
    return DTypeError(f"Cast of the text {text!r} to {target.name}", where="Cast", why="it is no such number")
