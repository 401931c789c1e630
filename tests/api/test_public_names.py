"""The surface of the package: complete, and quick to import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from tests.golden import regenerate as golden
from tests.support import public_names
from tilewright import __version__
from tilewright.frontend.tracing import functions


def test_every_public_name_exists() -> None:
    assert [name for name in tw.__all__ if not hasattr(tw, name)] == []
    assert set(functions.FUNCTION_NAMES) - set(tw.__all__) == {"index"}
    assert __version__.count(".") == 2
    assert set(tw.__all__) <= set(dir(tw))


def test_no_name_comes_or_goes_unnoticed() -> None:
    """`python -m tests.golden.regenerate` writes the list; the changelog says what replaces a name that goes."""
    assert public_names.lines() == (Path(golden.__file__).parent / "public_names.txt").read_text().splitlines()


def test_importing_loads_what_a_call_needs_and_no_planner() -> None:
    """A timed test would be flaky; what is imported decides the time."""
    code = "import sys, tilewright; print(*sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(answer.stdout.split())
    assert "tilewright.api.jit" in loaded
    assert (
        not {"tilewright.compiler", "tilewright.plan", "tilewright.backends", "tilewright.graph.interpreter", "torch", "filelock"}
        & loaded
    )


def test_jit_loads_no_foreign_library() -> None:
    code = "import sys, tilewright; tilewright.jit; print({'torch', 'onnx', 'scipy', 'rich', 'click'} & set(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "set()"


def test_a_missing_function_suggests_another() -> None:
    with pytest.raises(tw.UnsupportedOperation, match="did you mean softmax"):
        tw.soft_max  # noqa: B018


def test_show_config(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.api import config
    from tilewright.runtime.compilation import toolchain

    monkeypatch.setattr(tw.Machine, "detect", lambda: tw.Machine.named("zen4"))
    monkeypatch.setattr(toolchain, "find", _no_compiler)
    tw.show_config()
    labels = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert labels == ["tilewright", "python", "numpy", "torch", "machine", "compiler", "cache", "threads"]
    assert ("compiler", "unavailable: no compiler") in config.config_lines()


def _no_compiler() -> Any:
    raise tw.ToolchainError("no compiler")
