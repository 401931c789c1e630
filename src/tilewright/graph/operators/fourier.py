"""Discrete Fourier transforms along an axis and of short frames; complex numbers are pairs in the last dimension.

    y[k] = sum_n x[n] exp(-2 pi i k n / N),    the inverse with exp(2 pi i k n / N) / N

Computed by NumPy's transforms in the precision of the operand, float32 at least.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.graph.definition import define
from tilewright.graph.element_types import check_size
from tilewright.graph.shapes import normalize_axis


def dft_with_axis_attribute(x: Any, dft_length: Any = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0) -> Any:
    """The transform along `axis` in `dft_length` points; one-sided: of or to real numbers, half the spectrum."""
    _check_parts(x, "DFT")
    along = normalize_axis(axis, np.ndim(x), where="DFT")
    if along == np.ndim(x) - 1:
        raise ShapeError("the last axis holds real and imaginary parts", where="DFT")
    length = None if dft_length is None else _positive(dft_length, "DFT")
    check_size((*x.shape[:along], length or 1, *x.shape[along + 1 :]), "DFT")
    if onesided and inverse:
        return np.fft.irfft(_complex(x), length, axis=along)[..., None].astype(x.dtype)
    if onesided:
        return _pairs(np.fft.rfft(_real(x, "DFT"), length, axis=along), x.dtype)
    return _pairs((np.fft.ifft if inverse else np.fft.fft)(_complex(x), length, axis=along), x.dtype)


def dft(x: Any, dft_length: Any = None, axis: Any = None, *, inverse: int = 0, onesided: int = 0) -> Any:
    """The same with the axis as an operand, by default the last one before the parts."""
    along = -2 if axis is None else int(np.asarray(axis).item())
    return dft_with_axis_attribute(x, dft_length, axis=along, inverse=inverse, onesided=onesided)


def stft(signal: Any, frame_step: Any, window: Any = None, frame_length: Any = None, *, onesided: int = 1) -> Any:
    """Transforms of frames of [batch, samples, 1 or 2], `frame_step` apart, times a window: [batch, frames, bins, 2]."""
    _check_parts(signal, "STFT")
    if np.ndim(signal) != 3:
        raise ShapeError(f"a signal of shape {np.shape(signal)}", where="STFT", why="[batch, samples, 1 or 2] is wanted")
    samples, step = signal.shape[1], _positive(frame_step, "STFT")
    length = samples if window is None else len(window)
    length = length if frame_length is None else _positive(frame_length, "STFT")
    if not 1 <= length <= samples or (window is not None and np.shape(window) != (length,)):
        raise ShapeError(f"frames of {length} of {samples} samples", where="STFT", why="a window must be as long as a frame")
    values = _real(signal, "STFT") if onesided else _complex(signal)
    frames = np.lib.stride_tricks.sliding_window_view(values, length, axis=1)[:, ::step]
    frames = frames if window is None else frames * np.asarray(window, frames.real.dtype)
    return _pairs((np.fft.rfft if onesided else np.fft.fft)(frames, axis=-1), signal.dtype)


def _real(x: Any, where: str) -> Any:
    if x.shape[-1] != 1:
        raise UnsupportedOperation("half a spectrum of complex numbers", where=where, why="it does not determine the other half")
    return np.asarray(x[..., 0], np.result_type(x.dtype, np.float32))


def _complex(x: Any) -> Any:
    wide = np.asarray(x, np.result_type(x.dtype, np.float32))
    return wide[..., 0] + 1j * wide[..., 1] if x.shape[-1] == 2 else wide[..., 0] + 0j


def _pairs(values: Any, dtype: Any) -> Any:
    return np.stack([values.real, values.imag], axis=-1).astype(dtype)


def _check_parts(x: Any, where: str) -> None:
    if np.ndim(x) < 2 or x.shape[-1] not in (1, 2):
        raise ShapeError(f"numbers of shape {np.shape(x)}", where=where, why="the last dimension holds one or two parts")


def _positive(value: Any, where: str) -> int:
    if np.size(value) != 1 or np.asarray(value).item() < 1:
        raise ShapeError(f"a length or step of {value}", where=where, why="one positive number is wanted")
    return check_size((np.asarray(value).item(),), where)[0]


define("DFT", dft_with_axis_attribute, since=17)
define("DFT", dft, since=20)
define("STFT", stft, since=17)
