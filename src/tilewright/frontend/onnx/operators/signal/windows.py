"""HannWindow, HammingWindow, BlackmanWindow: sums of cosines (A. H. Nuttall, "Some windows with very good sidelobe behavior",
IEEE TASSP 29 (1981)).

    w[n] = a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N),    N = size, or size - 1 for a symmetric window
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.sizes import check_size


@dataclass(frozen=True, slots=True)
class Window:
    """The window of `size` points with these weights of its cosines, periodic or symmetric."""

    operator: str
    weights: tuple[float, ...]
    _: KW_ONLY
    output_datatype: int = 1
    periodic: int = 1

    def reference(self, size: Any) -> Any:
        if np.size(size) != 1:
            raise ShapeError(f"{np.size(size)} sizes", where=self.operator, why="one number is wanted")
        (points,) = check_size((np.asarray(size).item(),), self.operator)
        turns = np.arange(points) / max(points if self.periodic else points - 1, 1)
        terms = [(-1) ** k * weight * np.cos(2 * np.pi * k * turns) for k, weight in enumerate(self.weights)]
        return np.sum(terms, axis=0).astype(element_type(self.output_datatype))


define("HannWindow", Window, "HannWindow", (0.5, 0.5), since=17)
define("HammingWindow", Window, "HammingWindow", (25 / 46, 21 / 46), since=17)
define("BlackmanWindow", Window, "BlackmanWindow", (0.42, 0.5, 0.08), since=17)
