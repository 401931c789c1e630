"""The decoder with packed weights is what onnxruntime makes of it."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from benchmarks.onnx_models.packed_decoder import DecoderShape, feeds, packed_decoder
from tilewright.onnx import InferenceSession


@pytest.mark.parametrize("level", [0, 4])
def test_results(level: int) -> None:
    shape = DecoderShape(layers=2, hidden=64, inner=96, heads=4, past=5, level=level, tokens=2)
    data, operands = packed_decoder(shape).SerializeToString(), feeds(shape)
    (expected,) = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, operands)
    (found,) = InferenceSession(data).run(None, operands)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 if level == 0 else 5e-2)


def test_bytes_of_weights_are_those_of_the_model() -> None:
    shape = DecoderShape(layers=1, hidden=64, inner=96, heads=4)
    weights = [one for one in packed_decoder(shape).graph.initializer if one.raw_data]
    packed = [len(one.raw_data) for one in weights if len(one.dims) == 3 or (len(one.dims) == 2 and one.dims[1] in (2, 3))]
    assert sum(packed) == shape.weight_bytes
