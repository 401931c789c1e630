"""Signals: operands that are refused."""

import numpy as np
import pytest

from tests.support.onnx_operators import operator
from tilewright.errors import TilewrightError


def test_huge_windows_and_frames_longer_than_the_signal_are_refused():
    with pytest.raises(TilewrightError):
        operator("HannWindow", 17).reference(np.array(10**12))
    with pytest.raises(TilewrightError):
        operator("STFT", 17).reference(np.zeros((1, 4, 1)), np.array(1), np.zeros(5))


def test_real_signals_have_no_dimension_of_parts_or_one_of_one():
    """torch's exporters write (batch, samples), which onnxruntime takes; ONNX names the other form alone."""
    signal, step, window = np.arange(24.0).reshape(2, 12), np.array(3), np.hanning(5)
    for onesided in (0, 1):
        transform = operator("STFT", 17, onesided=onesided)
        found = transform.reference(signal, step, window)
        frames = np.stack([signal[:, begin : begin + 5] for begin in (0, 3, 6)], axis=1) * window
        expected = (np.fft.rfft if onesided else np.fft.fft)(frames)
        np.testing.assert_allclose(found[..., 0] + 1j * found[..., 1], expected, atol=1e-12)
        np.testing.assert_array_equal(found, transform.reference(signal[..., None], step, window))
    with pytest.raises(TilewrightError, match="a signal of shape"):
        operator("STFT", 17).reference(np.zeros(4), np.array(1))
