from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from tilewright.cli.machine import machine
from tilewright.machine import Machine
from tilewright.runtime import calibration


def run(*arguments: str) -> str:
    result = CliRunner().invoke(machine, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    assert result.stderr == ""
    return result.stdout


def test_table_of_a_target() -> None:
    lines = run("--target", "cascadelake-6240").splitlines()
    assert lines[0] == "cascadelake-6240"
    assert all(len(line) <= 120 for line in lines)
    assert any("L3" in line and "24.75 MiB" in line and " 39.0 " in line and "datasheet" in line for line in lines)
    assert any("float32" in line and "166.4 GFLOP/s" in line for line in lines)


def test_json_of_a_target() -> None:
    record = json.loads(run("--target", "power10", "--json"))
    assert record["architecture"] == "ppc64le"
    assert record["levels"][0]["line_bytes"] == 128
    assert record["peak_source"] == "datasheet"


def test_an_unknown_target_names_near_ones() -> None:
    result = CliRunner().invoke(machine, ["--target", "zen44"])
    assert result.exit_code == 2
    assert "did you mean zen4" in result.stderr


def test_recalibrating_a_target_is_wrong_usage() -> None:
    result = CliRunner().invoke(machine, ["--target", "zen4", "--recalibrate"])
    assert result.exit_code == 2
    assert "cannot be combined with --target" in result.stderr


def test_this_machine_comes_from_the_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration, "ensure", lambda *, recalibrate=False: Machine.named("zen5"))
    assert run().startswith("zen5, with all instructions of ")
    assert json.loads(run("--json"))["name"] == "zen5"
    result = CliRunner().invoke(machine, ["--recalibrate"])
    assert "could not be measured" in str(result.exception)
