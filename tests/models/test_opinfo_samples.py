"""A few of PyTorch's samples of its operators agree with onnxruntime; the sweep takes hundreds."""

import pytest

for needed in ("torch", "onnxruntime", "expecttest"):
    pytest.importorskip(needed)

from tests.support.sweeps import run_module  # noqa: E402


@pytest.mark.needs("ssse3", "sse4_1")
def test_samples_of_torch_operators():
    told = run_module("tests.support.opinfo", range(40), "--quick")
    assert " 0 wrong, 0 internal error, 0 crashed" in told, told
    assert int(told.split()[0]) >= 15, told
