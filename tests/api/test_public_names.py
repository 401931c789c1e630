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


def loaded_by(code: str) -> set[str]:
    """The modules of a process that ran this. A timed test would be flaky; what is imported decides the time."""
    code = f"import sys\n{code}\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.mark.parametrize("package", ["tilewright", "tilewright.onnx"])
def test_names_are_imported_when_they_are_used(package: str) -> None:
    loaded = loaded_by(f"import {package}")
    assert {name for name in loaded if name.startswith("tilewright")} == {
        "tilewright",
        "tilewright.errors",
        "tilewright.version",
        package,
    }
    assert "numpy" not in loaded


CALL = """
import numpy as np
import tilewright as tw
tw.jit(lambda x, w: tw.softmax(x @ w), target="x86-64-v2")(np.ones((3, 4), np.float32), np.ones((4, 5), np.float32))
"""


@pytest.mark.unverified
def test_a_call_of_a_kernel_in_the_cache_loads_nothing_that_plans_or_compiles() -> None:
    exec(CALL)
    loaded = loaded_by(CALL)
    assert not {"torch", "onnx", "scipy", "rich", "click", "filelock", "platformdirs", "numpy.ma", "tilewright.compiler"} & loaded
    unwanted = ("block", "kernels", "leaves", "plan", "lower", "render", "graph.interpreter", "runtime.compilation.build")
    assert not {name for name in loaded if name.startswith(tuple(f"tilewright.{part}" for part in unwanted))}


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
