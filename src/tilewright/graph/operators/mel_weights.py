"""MelWeightMatrix: triangles that sum the bins of a spectrum into bands of equal width on the mel scale.

    mel(f) = 2595 log10(1 + f / 700)

The edges of the bands are rounded down to bins of a transform of `dft_length` points, as ONNX's own tests do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.graph.definition import define
from tilewright.graph.element_types import check_size, element_type


def meaning(
    num_mel_bins: Any,
    dft_length: Any,
    sample_rate: Any,
    lower_edge_hertz: Any,
    upper_edge_hertz: Any,
    *,
    output_datatype: int = 1,
) -> Any:
    """Weights [dft_length // 2 + 1, num_mel_bins], 1 at the middle of a band falling to 0 at the middles of its neighbours."""
    bands, length, rate, lowest, highest = (
        _number(one) for one in (num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz)
    )
    bins, bands = check_size((length // 2 + 1, bands), "MelWeightMatrix")
    if not 0 <= lowest < highest or rate <= 0:
        raise ShapeError(f"bands from {lowest} to {highest} Hz of {rate} samples/s", where="MelWeightMatrix")
    mels = _mel(lowest) + np.arange(bands + 2) * (_mel(highest) - _mel(lowest)) / (bands + 2)
    edges = np.floor((length + 1) * 700 * (10 ** (mels / 2595) - 1) / rate)
    start, middle, end = edges[:-2], edges[1:-1], edges[2:]
    bin_ = np.arange(bins)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rise, fall = (bin_ - start) / (middle - start), (end - bin_) / (end - middle)
    weights = np.where(bin_ <= middle, rise, fall).clip(0, 1)
    return np.where(bin_ == middle, 1.0, weights).astype(element_type(output_datatype))


def _mel(hertz: float) -> float:
    return float(2595 * np.log10(1 + hertz / 700))


def _number(value: Any) -> Any:
    if np.size(value) != 1:
        raise ShapeError(f"{np.size(value)} numbers instead of one", where="MelWeightMatrix")
    return np.asarray(value).item()


define("MelWeightMatrix", meaning, since=17)
