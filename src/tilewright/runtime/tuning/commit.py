"""Which commit of this package runs: rows of the tuning database name it."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2]
CHANGED = "+changed"
PATIENCE_S = 10.0


@cache
def commit(package: Path = PACKAGE) -> str:
    """The commit that is checked out where the package lies, with `CHANGED` where its files differ; empty without a checkout.

    >>> commit(Path("/nowhere/src/tilewright"))
    ''
    """
    root = package.parents[1]
    if package.parent.name != "src" or not (root / ".git").exists():
        return ""
    head = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain", "--", "src/tilewright")
    return "" if not head or changes is None else head + (CHANGED if changes else "")


def _git(root: Path, *words: str) -> str | None:
    """What git says; None where it says nothing good."""
    try:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
