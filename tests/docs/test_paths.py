"""Files that pages name in code spans exist: a page that says what the code does names its module."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "bench", "benchmarks", "tests", "examples", "docs")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
NAMED = re.compile(r"`([\w./]*\w\.(?:py|c|toml|s))(?:::\w+)?`")
OF_READERS = {"model.py", "my_kernels.py", "layer.so.c", "neoverse-v2.toml"}
"""Files that a reader makes, or that the pattern cuts."""
FILES = [path.relative_to(ROOT).parts for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]
ENDS = {"/".join(parts[start:]) for parts in FILES for start in range(len(parts))}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_exist(page: Path) -> None:
    assert sorted(set(NAMED.findall(page.read_text("utf-8"))) - OF_READERS - ENDS) == []
