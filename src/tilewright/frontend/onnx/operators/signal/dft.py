"""DFT: the discrete Fourier transform along an axis.

y[k] = sum_n x[n] exp(-2 pi i k n / N),    the inverse with exp(2 pi i k n / N) / N
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.signal.spectra import (
    check_parts,
    complex_numbers,
    pairs,
    positive_integer,
    real_numbers,
)
from tilewright.frontend.onnx.sizes import check_size
from tilewright.graph.shapes import normalize_axis


@dataclass(frozen=True, slots=True, kw_only=True)
class DFT:
    """In `dft_length` points along an axis, by default the last one before the parts; one-sided: of or to real numbers."""

    inverse: int = 0
    onesided: int = 0

    def reference(self, x: Any, dft_length: Any = None, axis: Any = None) -> Any:
        check_parts(x, "DFT")
        along = normalize_axis(-2 if axis is None else int(np.asarray(axis).item()), np.ndim(x), where="DFT")
        if along == np.ndim(x) - 1:
            raise ShapeError("the last axis holds real and imaginary parts", where="DFT")
        length = None if dft_length is None else positive_integer(dft_length, "DFT")
        check_size((*x.shape[:along], length or 1, *x.shape[along + 1 :]), "DFT")
        if self.onesided and self.inverse:
            return np.fft.irfft(complex_numbers(x), length, axis=along)[..., None].astype(x.dtype)
        if self.onesided:
            return pairs(np.fft.rfft(real_numbers(x, "DFT"), length, axis=along), x.dtype)
        return pairs((np.fft.ifft if self.inverse else np.fft.fft)(complex_numbers(x), length, axis=along), x.dtype)


define("DFT", DFT, since=17, by_attribute={"axis": 1})
define("DFT", DFT, since=20)
