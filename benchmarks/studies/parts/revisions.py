"""Processes of this checkout and of other revisions, that follow orders in turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Side:
    """A revision's process: orders and answers are a line of JSON each."""

    process: subprocess.Popen[str]
    orders: IO[str]
    answers: IO[str]

    def ask(self, **order: Any) -> Any:
        """The answer to an order; raises `RuntimeError` if the process has ended."""
        self.orders.write(json.dumps(order) + "\n")
        self.orders.flush()
        line = self.answers.readline()
        if not line:
            raise RuntimeError("a measuring process has ended")
        return json.loads(line)


@contextmanager
def worktree(revision: str, directory: Path) -> Iterator[Path]:
    """A directory where a revision is checked out, inside the context."""
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--detach", str(directory), revision], check=True, capture_output=True)
    try:
        yield directory
    finally:
        subprocess.run([*git, "remove", "--force", str(directory)], check=True, capture_output=True)


def started(script: Path, root: Path, cache: Path) -> Side:
    """A process that runs a script of this checkout with the code of the checkout in `root`."""
    path = os.pathsep.join(str(root / folder) for folder in ("src", "bench/src", "."))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TILEWRIGHT_")}
    environment |= {"PYTHONPATH": path, "TILEWRIGHT_CACHE_DIR": str(cache)}
    process = subprocess.Popen(
        [sys.executable, "-P", str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=root
    )
    assert process.stdin is not None
    assert process.stdout is not None
    return Side(process, process.stdin, process.stdout)
