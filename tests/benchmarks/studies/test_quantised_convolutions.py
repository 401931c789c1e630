"""The study of quantised convolutions, on small layers: ours are right to a step, and a line has every figure."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")

from benchmarks.studies import quantised_convolutions as study


@pytest.mark.parametrize("bits", [7, 8])
def test_small_layers(bits: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Weights of 7 bits saturate nowhere, so that onnxruntime confirms the exact result; of 8 they may."""
    kept = tmp_path / "figures.json"
    options = ["--peers", "onnxruntime", "--rounds", "2", "--cpu", "--layers", "1", "--json", str(kept)]
    study.main(["--cases", "1x1_8-16_6,3x3_3-8_9_s2", "--bits", str(bits), *options])
    lines = json.loads(kept.read_text())["lines"]
    assert [line["layer"] for line in lines] == ["1x1_8-16_6", "3x3_3-8_9_s2"]
    assert all(line["off_by"]["tilewright"] <= 1 for line in lines)
    assert bits == 8 or all(line["off_by"]["onnxruntime"] <= 1 for line in lines)
    assert all(0 < line["floor"] < line["predicted"] for line in lines)
    assert "peer/ours: geometric mean" in capsys.readouterr().out


def test_the_network_has_its_53_convolutions() -> None:
    counts = study.chosen(study.parse([]))
    assert (len(counts), sum(counts.values())) == (20, 53)
