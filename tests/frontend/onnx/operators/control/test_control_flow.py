"""Conditions, loops and scans."""

import numpy as np
import pytest

from tests.support.onnx_operators import operator
from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.operators.control.control import stacked


def loop(**attributes):
    return operator("Loop", 11, **attributes)


def scan_of(**attributes):
    return operator("Scan", 11, **attributes)


def test_a_loop_ends_by_its_condition_or_its_count():
    def body(step, condition, total):
        return total < 6, total + step, step * 10

    total, scans = loop(body=body, output_count=2).reference(np.array(9), np.array(True), np.array(0))
    assert (int(total), scans.tolist()) == (10, [0, 10, 20, 30, 40])
    assert int(loop(body=body).reference(np.array(3), None, np.array(0))[0]) == 3
    assert loop(body=body, output_count=2).reference(np.array(0), None, np.array(0))[1].shape == (0,)
    with pytest.raises(UnsupportedOperation, match="never ends"):
        loop(body=body).reference()


def test_a_scan_goes_both_ways_along_any_axis():
    x = np.arange(6).reshape(2, 3)
    scan = scan_of(
        body=lambda total, a, b: (total + a, total, b),
        num_scan_inputs=2,
        scan_input_axes=(1, -1),
        scan_input_directions=(0, 1),
        scan_output_axes=(1, 0),
        scan_output_directions=(0, 1),
        output_count=3,
    )
    state, forward, backward = scan.reference(np.zeros(2, int), x, x)
    assert state.tolist() == x.sum(axis=1).tolist()
    assert forward.tolist() == [[0, 0, 1], [0, 3, 7]]
    assert backward.tolist() == x.T.tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda: loop(body=tuple).reference(None, np.zeros(2, bool)),
        lambda: scan_of(body=tuple, num_scan_inputs=2).reference(np.zeros(2)),
        lambda: stacked([np.zeros(2), np.zeros(3)], "Loop"),
    ],
    ids=["no condition", "a scan of nothing", "shapes that change"],
)
def test_bad_operands_are_refused(call):
    with pytest.raises(ShapeError):
        call()
