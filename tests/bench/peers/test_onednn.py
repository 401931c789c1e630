from __future__ import annotations

import pytest

from tilewright.cli.main import main
from tilewright.errors import TilewrightError
from tilewright_bench.benchmarks import GEMMS
from tilewright_bench.cases.case import aligned


def test_shapes_that_onednn_refuses_are_an_error() -> None:
    if GEMMS.peers["onednn"].missing():
        pytest.skip("oneDNN is not installed")
    from tilewright_bench.peers.onednn import library as onednn_library

    a, b, c = (aligned(shape) for shape in ((2, 3), (4, 5), (2, 5)))
    with pytest.raises(TilewrightError, match="dnnl_matmul_primitive_desc_create of oneDNN failed"):
        onednn_library.matmul(onednn_library.load(), a, b, c, prepacked=False)


def test_onednn_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("tilewright_bench.command.restart_if_unfair", lambda threads: None)
    monkeypatch.setattr("tilewright_bench.measurement.contender.installed", lambda package: None)
    assert main(["bench", "gemm", "--peers", "onednn"]) == 1
    assert "pip install onednn-cpu-gomp" in capsys.readouterr().err
