"""Encoded images, and bytes that are none."""

import numpy as np
import pytest

from tests.support.onnx_operators import operator
from tests.support.onnx_references import cases_of, check


@pytest.mark.parametrize("case", cases_of("ImageDecoder"), ids=lambda case: case.name)
def test_images_are_decoded(case):
    pytest.importorskip("PIL")
    check(case)


def test_bytes_that_are_no_image_decode_to_nothing():
    pytest.importorskip("PIL")
    assert operator("ImageDecoder", 20).reference(np.arange(9, dtype=np.uint8)).shape == (0, 0, 3)
