"""The study of quantised models, on a small network: every form is quantised, measured and near the float32 model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")

from benchmarks.studies import quantised_models


def test_a_small_network(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "figures.json"
    options = ["--directory", str(tmp_path), "--json", str(kept), "--rounds", "2", "--peers", "onnxruntime", "--layers", "2"]
    quantised_models.main(["--models", "vgg16", "--forms", "qdq", "--small", *options])
    lines = json.loads(kept.read_text())["lines"]
    assert {(line["form"], line["contender"]) for line in lines} >= {("qdq", "tilewright")}
    assert all(line["deviation"] < 1 for line in lines if line["contender"].startswith("tilewright"))
    assert "| vgg16 | qdq | tilewright |" in capsys.readouterr().out


def test_unknown_models_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        quantised_models.parse(["--models", "resnet19"])
    assert "choose from" in capsys.readouterr().err
