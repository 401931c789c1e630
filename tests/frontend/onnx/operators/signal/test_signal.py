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
