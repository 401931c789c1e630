"""Hooks of mkdocs: pages of the repository that lie outside of docs/ join the site, and links lead to them there.

A link to any other file outside of docs/ (a script, a source file) becomes its path, since the site does not contain it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).parents[1]
OUTSIDE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/results/README.md")
LINK = re.compile(r"\[(?P<text>[^\]\n]*(?:\n[^\]\n]*)?)\]\((?P<target>[^)\s]+)\)")


def on_config(config: Any) -> Any:
    """Lists all decisions in the navigation."""
    paths = sorted((ROOT / "docs/decisions").glob("*.md"), key=lambda path: (path.name != "README.md", path.name))
    decisions = [f"decisions/{path.name}" for path in paths]
    config.nav = [{"Decisions": decisions} if "Decisions" in item else item for item in config.nav]
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """Adds the pages outside of docs/."""
    from mkdocs.structure.files import File  # not at the head: pytest collects this file, also without mkdocs

    for path in OUTSIDE:
        files.append(File.generated(config, f"repository/{path}", abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Turns links out of docs/ into links of the site, or into paths."""
    own = page.file.src_uri
    in_repository = PurePosixPath(own.removeprefix("repository/") if own.startswith("repository/") else f"docs/{own}")

    def replaced(link: re.Match[str]) -> str:
        target, _, anchor = link["target"].partition("#")
        if not target or "://" in target:
            return link[0]
        path = os.path.normpath(in_repository.parent / target)
        if path.startswith("docs/") or path in OUTSIDE:
            there = path.removeprefix("docs/") if path.startswith("docs/") else f"repository/{path}"
            return f"[{link['text']}]({os.path.relpath(there, os.path.dirname(own) or '.')}{'#' + anchor if anchor else ''})"
        return f"{link['text']} (`{path}`)"

    return LINK.sub(replaced, markdown)
