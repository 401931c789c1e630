"""Zero points that belong to no element of an operand, or change along the sum."""

from __future__ import annotations

import pytest

from tilewright.errors import ShapeError
from tilewright.graph.builders.convolutions.convolution import integer_convolution
from tilewright.graph.builders.convolutions.windows import Window
from tilewright.graph.builders.einsum import integer_matmul
from tilewright.graph.types import Tensor


@pytest.mark.parametrize("shape", [(4,), (2, 3), (5, 2, 1)])
def test_of_matrices(shape: tuple[int, ...]) -> None:
    a, b, zero = Tensor("a", (2, 3), "uint8"), Tensor("b", (3, 4), "int8"), Tensor("zero", shape, "uint8")
    with pytest.raises(ShapeError, match="a zero point of shape"):
        integer_matmul(a, b, zero, name="product", result="c")


@pytest.mark.parametrize(("of_image", "of_filters"), [((8,), ()), ((), (3,)), ((), (8,))])
def test_of_convolutions(of_image: tuple[int, ...], of_filters: tuple[int, ...]) -> None:
    window = Window((3,), extents=(5,), strides=(1,), dilations=(1,), begins=(0,), ends=(0,), outputs=(3,))
    x, w = Tensor("x", (8, 8, 5), "uint8"), Tensor("w", (4, 8, 3), "int8")
    zeros = Tensor("x_zero", of_image, "uint8"), Tensor("w_zero", of_filters, "int8")
    with pytest.raises(ShapeError, match="a zero point of shape"):
        integer_convolution(x, w, window, 1, *zeros, name="conv", result="y")
