from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tilewright.cli import main as command_line
from tilewright.cli import model_feeds
from tilewright.cli.main import main
from tilewright.errors import InternalError, ShapeError
from tilewright.runtime.compilation import toolchain


def fail_with(problem: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run a command that raises."""

    @click.command()
    def failing() -> None:
        raise problem

    monkeypatch.setattr(command_line.LazyGroup, "get_command", lambda *_: failing)
    return main(["failing"])


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in ("bench", "cache", "explain", "knobs", "machine", "--version"))


HELP = """
import sys
from importlib.util import find_spec
import click
from tilewright.cli.main import main, tilewright
def helped(command, *names):
    assert main([*names, "--help"]) == 0
    for name in command.list_commands(None) if isinstance(command, click.Group) else ():
        if name != "bench" or find_spec("tilewright_bench"):
            helped(command.get_command(None, name), *names, name)
helped(tilewright)
print(*sys.modules, file=sys.stderr)
"""


def test_no_help_loads_what_plans_compiles_or_measures() -> None:
    """Which takes 0.2 to 0.9 s; a timed test would be flaky."""
    answer = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    assert answer.stdout.count("Usage: tilewright") >= 12
    assert not {"numpy", "onnx", "torch"} & set(answer.stderr.split())


@pytest.mark.parametrize("arguments", [["nonsense"], ["cache", "burn"], ["explain"], ["bench", "chains", "--cases", "G99"]])
def test_wrong_usage_exits_with_2_and_writes_nothing_to_stdout(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Usage:" in captured.err


def test_a_user_error_is_one_message_without_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fail_with(ShapeError("cannot multiply (2, 3) by (4, 5)", why="3 != 4", hint="transpose one"), monkeypatch) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "error: cannot multiply (2, 3) by (4, 5)\n  why: 3 != 4\n  hint: transpose one\n"


def test_an_unusable_knob_is_a_user_error(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_NUM_THREADS", "none")
    assert main(["cache", "info"]) == 1
    message = capsys.readouterr().err
    assert message.startswith("error: TILEWRIGHT_NUM_THREADS='none' cannot be used\n")
    assert "why: it is no integer\n" in message


def test_knobs_lists_unusable_values_with_the_reason(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_NUM_THREADS", "0")
    monkeypatch.setenv("TILEWRIGHT_CALIBRATE", "perhaps")
    assert main(["knobs"]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "0 (cannot be used: it must be at least 1)" in rows["TILEWRIGHT_NUM_THREADS"]
    assert "perhaps (cannot be used: choose from 1, on, " in rows["TILEWRIGHT_CALIBRATE"]
    assert "TILEWRIGHT_DUMP_DIR" in rows


@pytest.mark.parametrize("problem", [InternalError("a stage failed", dump="graph broken"), ZeroDivisionError("by zero")])
def test_an_internal_error_exits_with_70_and_keeps_the_details_in_a_file(
    problem: Exception, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_DUMP_DIR", str(tmp_path / "dumps"))
    assert fail_with(problem, monkeypatch) == 70
    message = capsys.readouterr().err
    (kept,) = (tmp_path / "dumps").iterdir()
    assert message.startswith("internal error: ")
    assert "Traceback" not in message
    assert str(kept) in message
    content = kept.read_text()
    assert "Traceback" in content
    assert ("graph broken" in content) is isinstance(problem, InternalError)


def test_an_interrupt_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert fail_with(KeyboardInterrupt(), monkeypatch) == 1
    assert capsys.readouterr().err.strip() == "interrupted"


@pytest.mark.parametrize("command", ["explain G2", "machine"])
def test_an_unknown_target_is_wrong_usage(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--target", "cascadelake-6420"]) == 2
    assert "did you mean cascadelake-6240" in capsys.readouterr().err


def test_knobs_for_people(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_NUM_THREADS", "2")
    monkeypatch.delenv("TILEWRIGHT_CC", raising=False)
    monkeypatch.setattr(toolchain, "find", lambda: toolchain.Toolchain(("/fake/cc",), "gcc", "12"))
    assert main(["knobs"]) == 0
    rows = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert "2 (set)" in rows["TILEWRIGHT_NUM_THREADS"]
    assert "/fake/cc (found)" in rows["TILEWRIGHT_CC"]
    assert "-  " in rows["TILEWRIGHT_MAX_ISA"]
    assert "measure this CPU once" in rows["TILEWRIGHT_CALIBRATE"]


def test_knobs_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["knobs", "--json"]) == 0
    rows = {row["variable"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["TILEWRIGHT_CALIBRATE"]["value"] is False
    assert rows["TILEWRIGHT_CALIBRATE"]["is_set"] is True


def test_cache_info_and_clear(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    (tmp_path / "00ff.so").write_bytes(bytes(2048))
    (tmp_path / toolchain.PROBE_FILE).write_text("{}")
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}: 1 files, 2.00 KiB of at most 2.00 GiB\n"
    assert main(["cache", "info", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"directory": str(tmp_path), "files": 1, "bytes": 2048, "limit_bytes": 2 << 30}
    assert main(["cache", "clear"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"1 files deleted from {tmp_path}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["explain", "run", "tune"])
def test_models_without_the_package_that_reads_them_are_a_users_error(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = tmp_path / "model.onnx"
    model.write_bytes(b"")
    monkeypatch.setattr(model_feeds, "find_spec", lambda name: None)
    assert main([command, str(model)]) == 1
    text = capsys.readouterr().err
    assert "need the package onnx" in text
    assert "hint: pip install onnx\n" in text
