"""RoiAlign against onnxruntime: how often a bin is sampled, and regions without a size."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from tests.support.onnx_operators import operator

onnxruntime.set_default_logger_severity(4)


def by_onnxruntime(x: np.ndarray, regions: np.ndarray, images: np.ndarray, **attributes: Any) -> np.ndarray:
    kinds = {"x": TensorProto.FLOAT, "regions": TensorProto.FLOAT, "images": TensorProto.INT64}
    feeds = dict(zip(kinds, (x, regions, images), strict=True))
    inputs = [helper.make_tensor_value_info(name, kind, feeds[name].shape) for name, kind in kinds.items()]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("RoiAlign", list(kinds), ["y"], **attributes)], "regions", inputs, [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=10)
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)[0]


@pytest.mark.parametrize(("mode", "half"), list(product(("avg", "max"), ("half_pixel", "output_half_pixel"))))
def test_bins_are_sampled_as_often_as_in_onnxruntime(mode: str, half: str) -> None:
    """Regions in tenths, many as wide as whole numbers of bins: a rounding decides whether a bin has a sample more."""
    rng = np.random.default_rng(0)
    for scale in (1.0, 0.25, 0.1):
        corners = np.sort(np.round(rng.uniform(0, 9 / scale, (200, 2, 2)), 1), axis=1)
        regions = corners.reshape(200, 4).astype(np.float32)
        regions[:5, 2] = regions[:5, 0]
        operands = rng.standard_normal((2, 2, 9, 11), np.float32), regions, rng.integers(0, 2, 200)
        options = {"mode": mode, "coordinate_transformation_mode": half, "output_height": 3, "output_width": 2}
        expected = by_onnxruntime(*operands, spatial_scale=scale, **options)
        found = operator("RoiAlign", 16, spatial_scale=float(np.float32(scale)), **options).reference(*operands)
        np.testing.assert_allclose(found, expected, atol=2e-5)
