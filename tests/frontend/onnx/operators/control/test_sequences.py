"""Sequences of tensors."""

import numpy as np
import pytest

from tests.support.onnx_operators import operator
from tilewright.errors import ShapeError, TilewrightError


def test_sequences_that_do_not_fit_together():
    with pytest.raises(ShapeError, match="do not fit"):
        operator("ConcatFromSequence", 11, axis=0).reference([np.zeros((2, 3)), np.zeros((2, 4))])
    joined = operator("ConcatFromSequence", 11, axis=-1, new_axis=1).reference([np.zeros((2, 3)), np.ones((2, 3))])
    assert joined.shape == (2, 3, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: operator("SequenceAt", 11).reference([np.zeros(2)], np.array(1)),
        lambda: operator("SequenceLength", 11).reference(np.zeros(2)),
        lambda: operator("SplitToSequence", 11).reference(np.zeros(4), np.array(0)),
        lambda: operator("SplitToSequence", 11).reference(np.zeros(4), np.array([1, 2])),
    ],
    ids=["a position behind the end", "a tensor as a sequence", "parts of no elements", "parts that do not add up"],
)
def test_bad_operands_are_refused(call):
    with pytest.raises(TilewrightError):
        call()
