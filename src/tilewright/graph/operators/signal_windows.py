"""Windows of signals: sums of cosines (A. H. Nuttall, "Some windows with very good sidelobe behavior", IEEE TASSP 29 (1981)).

w[n] = a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), where N = size, or size - 1 for a symmetric window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define
from tilewright.graph.element_types import check_size, element_type


def _window(where: str, *weights: float) -> Callable[..., Any]:
    def meaning(size: Any, *, output_datatype: int = 1, periodic: int = 1) -> Any:
        """The window of `size` points, periodic or symmetric."""
        if np.size(size) != 1:
            raise ShapeError(f"{np.size(size)} sizes", where=where, why="one number is wanted")
        (points,) = check_size((np.asarray(size).item(),), where)
        turns = np.arange(points) / max(points if periodic else points - 1, 1)
        terms = [(-1) ** k * weight * np.cos(2 * np.pi * k * turns) for k, weight in enumerate(weights)]
        return np.sum(terms, axis=0).astype(element_type(output_datatype))

    return meaning


define("HannWindow", _window("HannWindow", 0.5, 0.5), since=17)
define("HammingWindow", _window("HammingWindow", 25 / 46, 21 / 46), since=17)
define("BlackmanWindow", _window("BlackmanWindow", 0.42, 0.5, 0.08), since=17)
