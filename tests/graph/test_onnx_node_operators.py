"""Convolution, pooling, norms and resizing mean what the ONNX node tests expect: in NumPy, and as canonical operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_nodes import arrays, by_meaning, definition_of, feeds, lowered, node_cases
from tilewright.errors import TilewrightError
from tilewright.graph.interpreter import evaluate
from tilewright.graph.verifier import verify

COMPILED = (
    "AveragePool",
    "BatchNormalization",
    "CenterCropPad",
    "Conv",
    "ConvTranspose",
    "DepthToSpace",
    "GlobalAveragePool",
    "GlobalLpPool",
    "GlobalMaxPool",
    "GroupNormalization",
    "InstanceNormalization",
    "LRN",
    "LpNormalization",
    "LpPool",
    "MaxPool",
    "MeanVarianceNormalization",
    "Resize",
    "SpaceToDepth",
    "Upsample",
)
NUMPY = (
    "AffineGrid",
    "Col2Im",
    "ConvInteger",
    "DeformConv",
    "GridSample",
    "MaxRoiPool",
    "MaxUnpool",
    "QLinearConv",
    "RoiAlign",
)
REFUSED = ("tf_crop",)
"""Parts of the names of cases that may have their NumPy meaning only."""


@pytest.mark.parametrize("case", node_cases(*COMPILED, *NUMPY), ids=lambda case: case.name)
def test_meanings(case: Any):
    for inputs, outputs in case.data_sets:
        results = by_meaning(case.model, arrays(case.model, inputs))
        assert len(results) == len(outputs)
        for result, expected in zip(results, outputs, strict=True):
            assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(result, expected, rtol=case.rtol, atol=case.atol)


@pytest.mark.parametrize("case", node_cases(*COMPILED), ids=lambda case: case.name)
def test_lowerings(case: Any):
    operands = arrays(case.model, case.data_sets[0][0])
    constants = range(1, len(operands))
    try:
        graph = lowered(case.model, operands, constants)
    except TilewrightError:
        if not any(part in case.name for part in REFUSED):
            raise
        return
    verify(graph)
    results = evaluate(graph, feeds(graph, operands, constants))
    for name, expected in zip(graph.outputs, case.data_sets[0][1], strict=True):
        np.testing.assert_allclose(results[name], expected, rtol=case.rtol, atol=case.atol)


def test_what_has_its_meaning_only_says_so():
    assert all(definition_of(case.model).lower is None for case in node_cases(*NUMPY))
