"""Trials of the how-to pages: each patch adds something new by following a page of docs/how-to, and must keep working.

A patch is applied to a copy of the repository; the tests that it adds run there, and the import contracts are checked. A page
that promises one new file in one place is wrong as soon as its trial needs more: `SECOND_FILES` has the exceptions that pages
state.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

ROOT = Path(__file__).parents[2]
PATCHES = sorted(Path(__file__).parent.glob("*.patch"))
COPIED = ("src", "bench", "tests", "docs", "pyproject.toml")
SECOND_FILES = {
    "add-a-rewrite": "src/tilewright/compiler.py",
    "add-an-operator": "src/tilewright/frontend/onnx/operators/contrib/__init__.py",
}
"""Patch name -> the second file that its page announces: the list that names the new thing, the `__init__.py` of a new folder."""
GENERATED = ignore_patterns("__pycache__", "*.egg-info", "results", "trials")


def touched_files(patch: Path) -> list[str]:
    """The files of a patch, in its order."""
    return [line[6:] for line in patch.read_text().splitlines() if line.startswith("+++ b/")]


@pytest.fixture
def copy_of_repository(tmp_path: Path) -> Path:
    for name in COPIED:
        source, target = ROOT / name, tmp_path / name
        if source.is_dir():
            copytree(source, target, ignore=GENERATED)
        else:
            target.write_bytes(source.read_bytes())
    return tmp_path


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_patch_applies_and_its_tests_pass(patch: Path, copy_of_repository: Path) -> None:
    subprocess.run(["git", "apply", str(patch)], cwd=copy_of_repository, check=True)
    added_tests = [name for name in touched_files(patch) if Path(name).name.startswith("test_")]
    assert added_tests, f"{patch.name} adds no test"
    path = os.pathsep.join(str(copy_of_repository / name) for name in ("src", "bench/src", "."))
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *added_tests]
    run = subprocess.run(command, cwd=copy_of_repository, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_patch_keeps_the_import_contracts(patch: Path, copy_of_repository: Path) -> None:
    pytest.importorskip("importlinter")
    subprocess.run(["git", "apply", str(patch)], cwd=copy_of_repository, check=True)
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    path = os.pathsep.join(str(copy_of_repository / name) for name in ("src", "bench/src"))
    run = subprocess.run(command, cwd=copy_of_repository, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_patch_touches_one_file_beside_its_test(patch: Path) -> None:
    files = {name for name in touched_files(patch) if not name.startswith("tests/")}
    assert len(files - {SECOND_FILES.get(patch.stem)}) == 1
