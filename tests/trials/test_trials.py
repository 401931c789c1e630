"""Trials of the how-to pages: each patch adds something new by following a page of docs/how-to, and must keep working.

All patches are applied to one copy of the repository. The tests that they add run there, and its import contracts are checked.
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
GENERATED = ignore_patterns("__pycache__", "*.egg-info", "results", "trials")
SECOND_FILES = {"add-a-rewrite": "src/tilewright/compiler.py"}
"""Patch name -> the list in which its page says that the new thing must be named."""


def touched_files(patch: Path) -> list[str]:
    """The files of a patch, in its order."""
    return [line[6:] for line in patch.read_text().splitlines() if line.startswith("+++ b/")]


@pytest.fixture
def patched(tmp_path: Path) -> Path:
    """A copy of the repository with all patches."""
    for name in COPIED:
        source, target = ROOT / name, tmp_path / name
        if source.is_dir():
            copytree(source, target, ignore=GENERATED)
        else:
            target.write_bytes(source.read_bytes())
    for patch in PATCHES:
        subprocess.run(["git", "apply", str(patch)], cwd=tmp_path, check=True)
    return tmp_path


def check(repository: Path, *command: str) -> None:
    path = os.pathsep.join(str(repository / name) for name in ("src", "bench/src", "."))
    environment = os.environ | {"PYTHONPATH": path}
    run = subprocess.run([sys.executable, *command], cwd=repository, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_tests_of_the_patches_pass_and_imports_keep_their_contracts(patched: Path) -> None:
    added = [name for patch in PATCHES for name in touched_files(patch) if Path(name).name.startswith("test_")]
    assert len(added) == len(PATCHES)
    check(patched, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *added)
    pytest.importorskip("importlinter")
    check(patched, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_patch_touches_one_file_beside_its_test(patch: Path) -> None:
    files = {name for name in touched_files(patch) if not name.startswith("tests/")}
    assert len(files - {SECOND_FILES.get(patch.stem)}) == 1
