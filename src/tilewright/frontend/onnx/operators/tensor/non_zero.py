"""NonZero: the positions of the elements that are not 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import define


class NonZero:
    """One column for every position, in row-major order."""

    def reference(self, x: Any) -> Any:
        found = np.nonzero(x if x.ndim else x.reshape(1))
        return np.asarray(found[: x.ndim], np.int64).reshape(x.ndim, len(found[0]))


define("NonZero", NonZero, since=9)
