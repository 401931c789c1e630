"""Element types and sizes that no result has."""

import pytest

from tilewright.errors import DTypeError, ShapeError
from tilewright.frontend.onnx.element_types import element_type
from tilewright.frontend.onnx.sizes import check_size


def test_negative_extents_and_unknown_types_are_refused():
    with pytest.raises(ShapeError, match="a result of shape"):
        check_size((2, -1), "f")
    with pytest.raises(DTypeError, match="99"):
        element_type(99)
