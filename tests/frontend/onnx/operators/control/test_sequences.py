"""Sequences of tensors."""

import numpy as np
import pytest

from tilewright.errors import ShapeError, TilewrightError
from tilewright.frontend.onnx.operators.control.control import ConcatFromSequence, SequenceAt, SequenceLength, SplitToSequence


def test_sequences_that_do_not_fit_together():
    with pytest.raises(ShapeError, match="do not fit"):
        ConcatFromSequence(axis=0).reference([np.zeros((2, 3)), np.zeros((2, 4))])
    joined = ConcatFromSequence(axis=-1, new_axis=1).reference([np.zeros((2, 3)), np.ones((2, 3))])
    assert joined.shape == (2, 3, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: SequenceAt().reference([np.zeros(2)], np.array(1)),
        lambda: SequenceLength().reference(np.zeros(2)),
        lambda: SplitToSequence().reference(np.zeros(4), np.array(0)),
        lambda: SplitToSequence().reference(np.zeros(4), np.array([1, 2])),
    ],
    ids=["a position behind the end", "a tensor as a sequence", "parts of no elements", "parts that do not add up"],
)
def test_bad_operands_are_refused(call):
    with pytest.raises(TilewrightError):
        call()
