"""StringSplit: the parts of strings between delimiters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.text.strings import strings


@dataclass(frozen=True, slots=True, kw_only=True)
class StringSplit:
    """The parts of every string along a new last axis, filled with empty strings, and how many there are (int64).

    Without a delimiter strings are split at white space, of which any amount counts once and none at the ends.
    """

    delimiter: str = ""
    maxsplit: int = -1

    def reference(self, x: Any) -> Any:
        x = strings(x)
        texts = x.reshape(-1) if self.delimiter else [text.strip() for text in x.reshape(-1)]
        parts = [text.split(self.delimiter or None, self.maxsplit) for text in texts]
        longest = max(map(len, parts), default=0)
        table = np.full((len(parts), longest), "", object)
        for row, found in zip(table, parts, strict=True):
            row[: len(found)] = found
        return table.reshape(*x.shape, longest), np.array([len(found) for found in parts], np.int64).reshape(x.shape)


define("StringSplit", StringSplit, since=20)
