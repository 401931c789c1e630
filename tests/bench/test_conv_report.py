"""`tilewright bench conv`: measured, taken over from a file, and summed over models."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.support.hand_results import case, timing
from tilewright.cli.main import main
from tilewright_bench.tables import conv_table

ARGUMENTS = ["bench", "conv", "--cases", "1x1_8-9_7,3x3_4-5_8", "--peers", "im2col+openblas", "--repeats", "3"]


@pytest.fixture(autouse=True)
def _no_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright_bench.command.restart_if_unfair", lambda threads: None)


def test_slices_are_put_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(tmp_path / f"{part}.json") for part in (1, 2)]
    for part, file in enumerate(files, 1):
        assert main([*ARGUMENTS, "--slice", f"{part}/2", "--json", file]) == 0
    capsys.readouterr()
    assert main([*ARGUMENTS, "--known", files[0], "--known", files[1], "--json", "-"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert [result["case"] for result in document["results"]] == ["1x1_8-9_7", "3x3_4-5_8"]
    assert len(document["taken_over"]) == 2
    assert "conv [1/" not in captured.err
    first = json.loads(Path(files[0]).read_text())
    assert document["results"][0] == first["results"][0]


def test_a_file_without_results_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.json"
    path.write_text("{}")
    assert main([*ARGUMENTS, "--known", str(path)]) == 1
    assert "has no results of convolutions" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cases", "3x3"], "names no convolution"),
        (["--model", "resnet_51"], "resnet_51: did you mean resnet_50"),
        (["--slice", "3/2"], "a slice is 1/4"),
    ],
)
def test_unusable_options_are_refused(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "conv", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_sums_count_layers_and_variants_of_one_kernel_have_one_time() -> None:
    results = {
        "a": case("a", "t", timing("tilewright", 1e-3, 1e-3), timing("im2col+openblas", 2e-3, 1e-3)),
        "b": case(
            "b",
            "t",
            timing("tilewright", 2e-3, 2e-3),
            timing("tilewright fast", 1e-3, 2e-3),
            timing("im2col+openblas", 2e-3, 2e-3),
        ),
    }
    lines = conv_table.model_table(results, {"m": Counter({"a": 3, "b": 1}), "not whole": Counter({"c": 1})})
    assert lines[-1].split() == ["m", "4", "5.00", "4.00", "5.00", "5.00", "8.00", "8.00", "1.600", "2.000", "1.600", "1.600"]
    text = "\n".join(conv_table.summary(list(results.values()), {"a": 3, "b": 1}))
    assert "tilewright: geometric mean 1.682, worst 1.000, faster in 75% of 4" in text
    assert "tilewright fast: geometric mean 2.000, worst 2.000, faster in 100% of 4" in text
