"""StringConcat: two strings put together, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.text.strings import strings


class StringConcat:
    """Both strings in a row, with broadcasting."""

    def reference(self, left: Any, right: Any) -> Any:
        try:
            return np.asarray(np.add(strings(left), strings(right)), object)
        except ValueError as error:
            raise ShapeError("operands that do not broadcast", where="StringConcat", why=str(error)) from error


define("StringConcat", StringConcat, since=20)
