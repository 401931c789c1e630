"""RegexFullMatch: whether strings match a regular expression of RE2 as a whole."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.text.strings import strings

_POSIX = {"alpha": "a-zA-Z", "digit": "0-9", "alnum": "0-9a-zA-Z", "upper": "A-Z", "lower": "a-z", "space": r"\s", "word": r"\w"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegexFullMatch:
    """Whether the pattern, in the syntax of RE2, matches the whole string."""

    pattern: str

    def reference(self, x: Any) -> Any:
        x = strings(x)
        try:
            compiled = re.compile(_from_re2(self.pattern), re.ASCII)
        except (re.error, OverflowError, RecursionError) as error:
            raise UnsupportedOperation(f"the pattern {self.pattern!r}", where="RegexFullMatch", why=str(error)) from error
        return np.array([compiled.fullmatch(text) is not None for text in x.reshape(-1)], bool).reshape(x.shape)


def _from_re2(pattern: str) -> str:
    """Python's spelling of what RE2 writes otherwise: POSIX classes and the end of the text."""
    for name, characters in _POSIX.items():
        pattern = pattern.replace(f"[:{name}:]", characters)
    return pattern.replace(r"\z", r"\Z")


define("RegexFullMatch", RegexFullMatch, since=20)
