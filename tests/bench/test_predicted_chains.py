from __future__ import annotations

import json

import pytest

from tilewright.cli.main import main
from tilewright_bench.predicted_chains import predicted


@pytest.mark.parametrize(("target", "dtype"), [("a100", "float16"), ("zen4", "float32")])
def test_predictions_are_of_the_plans_of_the_machine(target: str, dtype: str) -> None:
    report = predicted(("G10",), "both", target)
    assert report.dtype == dtype
    assert [chain.softmax for chain in report.chains] == [False, True]
    for chain in report.chains:
        assert chain.kernels == 1
        assert 0 < chain.seconds < chain.apart_s
        assert chain.fewer_bytes > 0.5
    assert "predicted" in report.as_text()


def test_the_command_says_that_times_are_predicted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "chains", "--target", "h100", "--cases", "G10", "--plain", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["predicted"] is True
    assert document["chains"][0]["case"] == "G10"
