"""The two distributions of the repository fit together."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import tilewright

ROOT = Path(__file__).parents[2]


def project(file: str) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / file).read_text())["project"]
    return table


def test_both_have_the_same_version_and_require_each_other_in_it() -> None:
    package, benchmark = project("pyproject.toml"), project("bench/pyproject.toml")
    assert benchmark["version"] == tilewright.__version__
    assert f"tilewright=={tilewright.__version__}" in benchmark["dependencies"]
    assert package["optional-dependencies"]["bench"] == [f"tilewright-bench[peers]=={tilewright.__version__}"]


def test_torch_is_pinned_to_one_version_everywhere() -> None:
    extras = [*project("pyproject.toml")["optional-dependencies"].values()]
    extras += project("bench/pyproject.toml")["optional-dependencies"].values()
    assert {requirement for extra in extras for requirement in extra if requirement.startswith("torch")} == {"torch==2.13.0"}


def test_both_need_the_same_python() -> None:
    assert project("pyproject.toml")["requires-python"] == project("bench/pyproject.toml")["requires-python"]
