"""Transposed convolutions whose windows are as long as their steps, with taps apart."""

from __future__ import annotations

import numpy as np

import tilewright as tw


def test_taps_apart_are_not_taken_for_neighbours() -> None:
    x, w = np.array([[[1.0, 2.0, 3.0]]], np.float32), np.array([[[1.0, 10.0]]], np.float32)
    spread = tw.jit(lambda x: tw.conv_transpose1d(x, w, stride=2, dilation=2, padding=((0, 1),)))
    assert spread(x).tolist() == spread(x, interpret=True).tolist() == [[[1, 0, 12, 0, 23, 0]]]
