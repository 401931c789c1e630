"""StringNormalizer: strings without stop words, in upper or lower case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.text.strings import strings

_CASES: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}


@dataclass(frozen=True, slots=True, kw_only=True)
class StringNormalizer:
    """The strings of a [C] or [1, C] tensor without stop words, in another case; one empty string if none is left."""

    case_change_action: str = "NONE"
    is_case_sensitive: int = 0
    locale: str = ""
    stopwords: Sequence[str] = ()

    def reference(self, x: Any) -> Any:
        x = strings(x)
        if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
            raise ShapeError(f"strings of shape {x.shape}", where="StringNormalizer", why="only [C] and [1, C] have a meaning")
        if self.case_change_action not in _CASES:
            raise UnsupportedOperation(f"case_change_action {self.case_change_action!r}", where="StringNormalizer")
        fold: Callable[[str], str] = str if self.is_case_sensitive else str.lower
        stops = {fold(word) for word in self.stopwords}
        kept = [_CASES[self.case_change_action](text) for text in x.reshape(-1) if fold(text) not in stops] or [""]
        return np.array(kept, object).reshape((1,) * (x.ndim - 1) + (-1,))


define("StringNormalizer", StringNormalizer, since=10)
