"""STFT: Fourier transforms of short frames of a signal, each multiplied by a window.

A signal is [batch, samples, 1 or 2]; torch's exporters leave out the last dimension of a real one, which onnxruntime takes.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class STFT:
    """Transforms [batch, frames, bins, 2] of frames of a signal [batch, samples] or [batch, samples, 1 or 2]."""

    onesided: int = 1

    def reference(self, signal: Any, frame_step: Any, window: Any = None, frame_length: Any = None) -> Any:
        if np.ndim(signal) not in (2, 3):
            why = "[batch, samples], or with 1 or 2 parts of every sample, is wanted"
            raise ShapeError(f"a signal of shape {np.shape(signal)}", where="STFT", why=why)
        signal = signal if np.ndim(signal) == 3 else signal[..., None]
        check_parts(signal, "STFT")
        step, length = positive_integer(frame_step, "STFT"), _frame_length(signal.shape[1], window, frame_length)
        values = real_numbers(signal, "STFT") if self.onesided else complex_numbers(signal)
        frames = np.lib.stride_tricks.sliding_window_view(values, length, axis=1)[:, ::step]
        frames = frames if window is None else frames * np.asarray(window, frames.real.dtype)
        return pairs((np.fft.rfft if self.onesided else np.fft.fft)(frames, axis=-1), signal.dtype)


def _frame_length(samples: int, window: Any, frame_length: Any) -> int:
    """As given, else as long as the window, else as the signal. Raises `ShapeError` where these do not fit each other."""
    length = samples if window is None else len(window)
    length = length if frame_length is None else positive_integer(frame_length, "STFT")
    if not 1 <= length <= samples or (window is not None and np.shape(window) != (length,)):
        raise ShapeError(f"frames of {length} of {samples} samples", where="STFT", why="a window must be as long as a frame")
    return length


define("STFT", STFT, since=17)
