"""`tilewright run` and `tilewright explain` of packages of kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.cli.main import main

ROWS = tw.Dim("rows", 2, 50)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> str:
    @tw.jit
    def scaled(state, factor):
        return {"y": state["x"] * factor, "given": factor}

    path = tmp_path_factory.mktemp("packages") / "scaled.tw"
    scaled.lower({"x": tw.spec((ROWS, 3))}, tw.spec((3,))).compile().save(path)
    return str(path)


def test_arrays_are_given_by_name_and_dimensions_stay_in_their_ranges(package, tmp_path: Path, capsys) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 3), np.float32))
    np.save(tmp_path / "factor.npy", np.full(3, 2, np.float32))
    given = ("--input", f"factor={tmp_path / 'factor.npy'}")
    assert main(["run", package, *given, "--input", f"state_x={tmp_path / 'x.npy'}", "--output", str(tmp_path)]) == 0
    assert "result['y']: float32 4x3, 2 to 2, mean 2\n" in capsys.readouterr().out
    assert np.load(tmp_path / "result__y__.npy").sum() == 24
    assert main(["run", package, *given]) == 0
    assert "rows = 2" in capsys.readouterr().err


def test_the_plan_is_the_one_that_was_saved(package, capsys) -> None:
    assert main(["explain", package]) == 0
    assert "rows in 2..50" in capsys.readouterr().out
    assert main(["explain", package, "--target", "zen4"]) == 2
    assert "takes no options" in capsys.readouterr().err


def test_other_inputs_and_packages_are_one_error(package, tmp_path: Path, capsys) -> None:
    np.save(tmp_path / "z.npy", np.ones(3, np.float32))
    assert main(["run", package, "--input", f"z={tmp_path / 'z.npy'}"]) == 1
    assert "its inputs are state_x, factor" in capsys.readouterr().err
    function = tw.jit(lambda x: x + 1)
    function.prepare(tw.spec((3,)))
    function.save(tmp_path / "function.tw")
    for command in ("run", "explain"):
        assert main([command, str(tmp_path / "function.tw")]) == 1
        assert "not one kernel or a model" in capsys.readouterr().err
