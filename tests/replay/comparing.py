"""Two revisions side by side: each plans the graphs in a process of its own, from its own tree."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.replay import c_text
from tests.replay.object_code import object_digest
from tests.replay.record import Record, load

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent.relative_to(ROOT)


@dataclass(frozen=True)
class Change:
    """One graph on one machine before and after; None where it does not exist."""

    graph: str
    machine: str
    before: Record | None
    after: Record | None
    has_other_code: bool = False
    """Whether compilers make other instructions of it."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """What is different."""
        if self.before is None or self.after is None:
            return ("new",) if self.before is None else ("gone",)
        return tuple(
            kind
            for kind, is_other in (
                ("plan", self.before.plan_digest != self.after.plan_digest),
                ("text", self.before.text_digest != self.after.text_digest),
                ("code", self.has_other_code),
            )
            if is_other
        )

    def differences(self) -> Iterator[str]:
        """The lines that differ, of the plan and of the C text."""
        before, after = self.before, self.after
        if before is None or after is None:
            return
        if "plan" in self.kinds:
            yield from _difference("plan", before.plan, after.plan)
        if "text" in self.kinds:
            yield from _difference("C text", *("".join(map(c_text.readable, one.sources)) for one in (before, after)))


def compare(revision: str, machines: Sequence[str], only: str = "", *, with_code: bool = False) -> Iterator[list[Change]]:
    """What is different from a revision, for one machine after the other; graphs without a change are in it, too.

    Raises `RuntimeError` where there is no such revision, or where it cannot be replayed.
    """
    with TemporaryDirectory(prefix="tilewright-replay-") as directory, _checked_out(revision, Path(directory)) as tree:
        for machine in machines:
            sides = Path(directory) / "before", Path(directory) / "after"
            _collect_both({sides[0]: tree, sides[1]: ROOT}, machine, only)
            yield [_change(name, machine, *sides, with_code) for name in _names(*sides)]
            for side in sides:
                shutil.rmtree(side, ignore_errors=True)


def _names(*sides: Path) -> list[str]:
    return sorted({str(path.relative_to(side).with_suffix("")) for side in sides for path in side.rglob("*.json")})


def _change(graph: str, machine: str, before: Path, after: Path, with_code: bool) -> Change:
    one, other = (load(path) if path.exists() else None for path in (side / f"{graph}.json" for side in (before, after)))
    is_other_text = with_code and one is not None and other is not None and one.sources != other.sources
    return Change(graph, machine, one, other, is_other_text and object_digest(one) != object_digest(other))


@contextmanager
def _checked_out(revision: str, directory: Path) -> Iterator[Path]:
    """A work tree of the revision; one from before there was a replay gets this one."""
    tree = directory / "tree"
    _git("worktree", "add", "--detach", "--quiet", str(tree), revision)
    try:
        if not (tree / HERE).exists():
            shutil.copytree(ROOT / HERE, tree / HERE)
        yield tree
    finally:
        _git("worktree", "remove", "--force", str(tree))


def _git(*words: str) -> None:
    run = subprocess.run(["git", "-C", str(ROOT), *words], stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        raise RuntimeError(run.stderr.strip())


def _collect_both(trees: dict[Path, Path], machine: str, only: str) -> None:
    """Both sides at once, each in a process of its own."""
    running = [(tree, _collecting(tree, directory, machine, only)) for directory, tree in trees.items()]
    for tree, process in running:
        output, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{tree} cannot be replayed:\n{output[-4000:]}")


def _collecting(tree: Path, directory: Path, machine: str, only: str) -> subprocess.Popen[str]:
    """By the options that the replay of every revision has."""
    command = [sys.executable, "-m", "tests.replay", "--collect", str(directory), "--machines", machine, "--only", only]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree / "src"), str(tree)]), "TILEWRIGHT_CALIBRATE": "0"}
    return subprocess.Popen(command, cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _difference(what: str, before: str, after: str) -> Iterator[str]:
    lines = before.splitlines(), after.splitlines()
    return difflib.unified_diff(*lines, f"{what} before", f"{what} after", lineterm="", n=2)
