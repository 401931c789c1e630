"""Signals: Fourier transforms (DFT), those of short frames of a signal, each multiplied by a window (STFT), windows, mel bands.

    y[k] = sum_n x[n] exp(-2 pi i k n / N),    the inverse with exp(2 pi i k n / N) / N

Complex numbers are pairs in the last dimension; single numbers are real. NumPy's transforms compute in the precision of the
operand, float32 at least. A signal is [batch, samples, 1 or 2]; torch's exporters leave out the last dimension of a real one,
which onnxruntime takes.

HannWindow, HammingWindow, BlackmanWindow: sums of cosines (A. H. Nuttall, "Some windows with very good sidelobe behavior",
IEEE TASSP 29 (1981)).

    w[n] = a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N),    N = size, or size - 1 for a symmetric window

MelWeightMatrix: triangles that sum the bins of a spectrum into bands of equal width on the mel scale.

    mel(f) = 2595 log10(1 + f / 700)

The edges of the bands are rounded down to bins of a transform of `dft_length` points, as ONNX's own tests do.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, define, onnx_function, onnx_operator
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.operators.operands import single
from tilewright.frontend.onnx.sizes import check_size
from tilewright.graph.shapes import normalize_axis
from tilewright.records import record


def check_parts(x: Any, where: str) -> None:
    """Raise `ShapeError` unless the last dimension of x holds one or two parts."""
    if np.ndim(x) < 2 or x.shape[-1] not in (1, 2):
        raise ShapeError(f"numbers of shape {np.shape(x)}", where=where, why="the last dimension holds one or two parts")


def real_numbers(x: Any, where: str) -> Any:
    """x without its last dimension. Raises `UnsupportedOperation` for complex numbers, which half a spectrum cannot describe."""
    if x.shape[-1] != 1:
        raise UnsupportedOperation("half a spectrum of complex numbers", where=where, why="it does not determine the other half")
    return np.asarray(x[..., 0], np.result_type(x.dtype, np.float32))


def complex_numbers(x: Any) -> Any:
    """The complex numbers of one or two parts.

    >>> complex_numbers(np.array([[1.0, 2.0]]))
    array([1.+2.j])
    """
    wide = np.asarray(x, np.result_type(x.dtype, np.float32))
    return wide[..., 0] + 1j * wide[..., 1] if x.shape[-1] == 2 else wide[..., 0] + 0j


def pairs(values: Any, dtype: Any) -> Any:
    """Complex numbers as pairs in a new last dimension."""
    return np.stack([values.real, values.imag], axis=-1).astype(dtype)


def positive_integer(value: Any, where: str) -> int:
    """The only element of an operand. Raises `ShapeError` unless it is one positive number."""
    if np.size(value) != 1 or np.asarray(value).item() < 1:
        raise ShapeError(f"a length or step of {value}", where=where, why="one positive number is wanted")
    return check_size((np.asarray(value).item(),), where)[0]


@onnx_function("DFT", since=17, by_attribute={"axis": 1})
@onnx_function("DFT", since=20)
def dft(x: Any, dft_length: Any = None, axis: Any = None, *, inverse: Any, onesided: Any) -> Any:
    """In `dft_length` points along an axis, by default the last one before the parts; one-sided: of or to real numbers."""
    check_parts(x, "DFT")
    along = normalize_axis(-2 if axis is None else int(np.asarray(axis).item()), np.ndim(x), where="DFT")
    if along == np.ndim(x) - 1:
        raise ShapeError("the last axis holds real and imaginary parts", where="DFT")
    length = None if dft_length is None else positive_integer(dft_length, "DFT")
    check_size((*x.shape[:along], length or 1, *x.shape[along + 1 :]), "DFT")
    if onesided and inverse:
        return np.fft.irfft(complex_numbers(x), length, axis=along)[..., None].astype(x.dtype)
    if onesided:
        return pairs(np.fft.rfft(real_numbers(x, "DFT"), length, axis=along), x.dtype)
    return pairs((np.fft.ifft if inverse else np.fft.fft)(complex_numbers(x), length, axis=along), x.dtype)


@onnx_function("STFT", since=17)
def stft(signal: Any, frame_step: Any, window: Any = None, frame_length: Any = None, *, onesided: Any) -> Any:
    """Transforms [batch, frames, bins, 2] of frames of a signal [batch, samples] or [batch, samples, 1 or 2]."""
    if np.ndim(signal) not in (2, 3):
        why = "[batch, samples], or with 1 or 2 parts of every sample, is wanted"
        raise ShapeError(f"a signal of shape {np.shape(signal)}", where="STFT", why=why)
    signal = signal if np.ndim(signal) == 3 else signal[..., None]
    check_parts(signal, "STFT")
    step, length = positive_integer(frame_step, "STFT"), _frame_length(signal.shape[1], window, frame_length)
    values = real_numbers(signal, "STFT") if onesided else complex_numbers(signal)
    frames = np.lib.stride_tricks.sliding_window_view(values, length, axis=1)[:, ::step]
    frames = frames if window is None else frames * np.asarray(window, frames.real.dtype)
    return pairs((np.fft.rfft if onesided else np.fft.fft)(frames, axis=-1), signal.dtype)


def _frame_length(samples: int, window: Any, frame_length: Any) -> int:
    """As given, else as long as the window, else as the signal. Raises `ShapeError` where these do not fit each other."""
    length = samples if window is None else len(window)
    length = length if frame_length is None else positive_integer(frame_length, "STFT")
    if not 1 <= length <= samples or (window is not None and np.shape(window) != (length,)):
        raise ShapeError(f"frames of {length} of {samples} samples", where="STFT", why="a window must be as long as a frame")
    return length


@record
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


@onnx_operator("MelWeightMatrix", since=17)
class MelWeightMatrix(SchemaAttributes):
    """Weights [dft_length // 2 + 1, num_mel_bins], 1 at the middle of a band falling to 0 at the middles of its neighbours."""

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
