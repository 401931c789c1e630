"""The study of whole CNNs: what earlier runs found is kept, and tables show what is known."""

import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")

from benchmarks.studies.cnns import parse
from benchmarks.studies.parts.cnn_tables import tables
from benchmarks.studies.parts.command_line import earlier

SIZES = ("cold_bytes", "own_bytes", "fast_bytes", "onnxruntime_bytes", "file_bytes", "arena", "alive")
MEMORY = {"planning_s": 1.5, "cold_s": 4.0, **{name: 2**20 * (number + 1) for number, name in enumerate(SIZES)}}


def test_later_files_are_added_to_earlier_ones(tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(json.dumps({"vgg16": {"memory": MEMORY}}))
    second.write_text(json.dumps({"vgg16": {"times": {}}, "unet": {}}))
    assert earlier([first, second]) == {"vgg16": {"memory": MEMORY, "times": {}}, "unet": {}}


def test_memory_has_a_table_of_its_own():
    lines = tables({"vgg16": {"memory": MEMORY}}, threads=1)
    assert "4.00 s" in next(line for line in lines if line.startswith("vgg16"))
    assert "geometric mean of warm/onnxruntime's: 0.500, most 0.50" in lines


def test_unknown_networks_are_refused(capsys):
    with pytest.raises(SystemExit):
        parse(["--models", "vgg17"])
    assert "vgg17: choose from" in capsys.readouterr().err
