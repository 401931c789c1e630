"""Steps of optimizers and derivatives: operands that are refused."""

import pytest

from tests.support.onnx_operators import operator
from tilewright.errors import TilewrightError

DOMAIN = "ai.onnx.preview.training"


def test_groups_that_are_not_whole_and_derivatives_without_a_graph_are_refused():
    with pytest.raises(TilewrightError):
        operator("Adam", 1, DOMAIN).reference(1.0, 0, 1.0)
    with pytest.raises(TilewrightError):
        operator("Gradient", 1, DOMAIN, xs=("x",), y="y").reference()
