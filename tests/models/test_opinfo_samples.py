"""PyTorch's samples of a hundred operators agree with onnxruntime; they are stored as models, and the sweep exports more.

The files were written by two commands; the second is of convolutions and pools:

    python -m tests.support.opinfo 0 400 --store tests/models/opinfo_samples
    python -m tests.support.opinfo 0 2600 --quick --only 'functional.(conv|(max|avg)_pool)' --store tests/models/opinfo_samples
"""

from __future__ import annotations

from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tests.support.opinfo.stored import read, stored  # noqa: E402
from tests.support.random.onnx.judging import outcome  # noqa: E402
from tests.support.sweeps import EQUAL  # noqa: E402

NEEDS = {"x86-64-v2": ("ssse3", "sse4_1"), "x86-64-v3": ("avx2", "fma")}
"""What the target of a sample needs to run."""


def test_a_hundred_operators_and_all_windows_are_stored() -> None:
    assert len({read(path).name.partition(" of ")[0] for path in stored()}) == 109


@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem, marks=pytest.mark.needs(*NEEDS[read(p).target])) for p in stored()])
def test_samples_of_torch_operators(path: Path) -> None:
    one = read(path).program()
    found = outcome(one)
    assert found.kind == EQUAL, f"{found}\n{one.text()}"
