"""Optional, OptionalHasElement, OptionalGetElement: a tensor or a sequence, or None."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define


@dataclass(frozen=True, slots=True, kw_only=True)
class Optional:
    """The value itself, or None; of what type an empty value would be does not matter."""

    type: Any = None

    def reference(self, value: Any = None) -> Any:
        return value


class OptionalHasElement:
    """Whether there is a value, 0-d bool."""

    def reference(self, value: Any = None) -> Any:
        return np.array(value is not None)


class OptionalGetElement:
    """The value. Raises `ShapeError` if there is none."""

    def reference(self, value: Any) -> Any:
        if value is None:
            raise ShapeError("the optional value is empty", where="OptionalGetElement", hint="ask OptionalHasElement before")
        return value


define("Optional", Optional, since=15)
define("OptionalHasElement", OptionalHasElement, since=15)
define("OptionalGetElement", OptionalGetElement, since=15)
