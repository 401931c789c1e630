from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tilewright_bench.measurement.provenance import commit


def test_a_directory_outside_a_checkout_has_no_commit(tmp_path: Path) -> None:
    assert commit(tmp_path) == ""


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_checkout_is_named_by_its_commit_and_whether_it_was_changed(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        return subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    file = tmp_path / "file"
    file.write_text("one")
    git("add", "file")
    git("commit", "-q", "-m", "one")
    head = git("rev-parse", "--short=12", "HEAD").strip()
    assert commit(tmp_path) == head
    file.write_text("two")
    assert commit(tmp_path) == f"{head}+changes"
