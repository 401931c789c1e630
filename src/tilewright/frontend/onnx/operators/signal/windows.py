"""HannWindow, HammingWindow, BlackmanWindow: sums of cosines (A. H. Nuttall, "Some windows with very good sidelobe behavior",
IEEE TASSP 29 (1981)).

    w[n] = a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N),    N = size, or size - 1 for a symmetric window

MelWeightMatrix: triangles that sum the bins of a spectrum into bands of equal width on the mel scale.

    mel(f) = 2595 log10(1 + f / 700)

The edges of the bands are rounded down to bins of a transform of `dft_length` points, as ONNX's own tests do.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.operators.operands import single
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
        (points,) = check_size((single(size, self.operator),), self.operator)
        turns = np.arange(points) / max(points if self.periodic else points - 1, 1)
        terms = [(-1) ** k * weight * np.cos(2 * np.pi * k * turns) for k, weight in enumerate(self.weights)]
        return np.sum(terms, axis=0).astype(element_type(self.output_datatype))


@dataclass(frozen=True, slots=True, kw_only=True)
class MelWeightMatrix:
    """Weights [dft_length // 2 + 1, num_mel_bins], 1 at the middle of a band falling to 0 at the middles of its neighbours."""

    output_datatype: int = 1

    def reference(
        self, num_mel_bins: Any, dft_length: Any, sample_rate: Any, lower_edge_hertz: Any, upper_edge_hertz: Any
    ) -> Any:
        bands, length, rate = (single(each, "MelWeightMatrix") for each in (num_mel_bins, dft_length, sample_rate))
        lowest, highest = (single(each, "MelWeightMatrix") for each in (lower_edge_hertz, upper_edge_hertz))
        bins, bands = check_size((length // 2 + 1, bands), "MelWeightMatrix")
        if not 0 <= lowest < highest or rate <= 0:
            raise ShapeError(f"bands from {lowest} to {highest} Hz of {rate} samples/s", where="MelWeightMatrix")
        mels = _mel(lowest) + np.arange(bands + 2) * (_mel(highest) - _mel(lowest)) / (bands + 2)
        edges = np.floor((length + 1) * 700 * (10 ** (mels / 2595) - 1) / rate)
        return _triangles(np.arange(bins)[:, None], edges).astype(element_type(self.output_datatype))


def _triangles(bins: Any, edges: Any) -> Any:
    """1 at the middle edge of every three, and falling to 0 at both of its neighbours."""
    start, middle, end = edges[:-2], edges[1:-1], edges[2:]
    with np.errstate(divide="ignore", invalid="ignore"):
        rise, fall = (bins - start) / (middle - start), (end - bins) / (end - middle)
    return np.where(bins == middle, 1.0, np.where(bins <= middle, rise, fall).clip(0, 1))


def _mel(hertz: float) -> float:
    return float(2595 * np.log10(1 + hertz / 700))


define("HannWindow", Window, "HannWindow", (0.5, 0.5), since=17)
define("HammingWindow", Window, "HammingWindow", (25 / 46, 21 / 46), since=17)
define("BlackmanWindow", Window, "BlackmanWindow", (0.42, 0.5, 0.08), since=17)
define("MelWeightMatrix", MelWeightMatrix, since=17)
