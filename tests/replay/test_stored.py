"""The file of digests: what git merges."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.replay import stored

LINES = {f"rows/{name}": f"rows/{name} machine {name} {name}" for name in "abcd"}


def merged(directory: Path, *versions: dict[str, str]) -> tuple[int, str]:
    """The number of conflicts and the text of a merge: first the common ancestor, then both sides."""
    paths = [directory / str(number) for number in range(len(versions))]
    for path, lines in zip(paths, versions, strict=True):
        path.write_text(stored.text(lines))
    base, ours, theirs = paths
    done = subprocess.run(["git", "merge-file", "-p", ours, base, theirs], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.mark.parametrize(("mine", "yours"), [("b", "c"), ("c", "b"), ("a", "d")])
def test_git_merges_changes_of_two_graphs(tmp_path: Path, mine: str, yours: str) -> None:
    changes = [{f"rows/{name}": f"rows/{name} machine new new"} for name in (mine, yours)]
    conflicts, text = merged(tmp_path, LINES, *(LINES | change for change in changes))
    assert conflicts == 0
    assert text == stored.text(LINES | changes[0] | changes[1])


def test_git_does_not_merge_two_changes_of_a_graph(tmp_path: Path) -> None:
    conflicts, _ = merged(tmp_path, LINES, *(LINES | {"rows/b": f"rows/b machine {side} {side}"} for side in ("mine", "yours")))
    assert conflicts == 1


def test_the_order_of_graphs_is_of_their_names() -> None:
    assert stored.text(dict(reversed(LINES.items()))) == stored.text(LINES)
    assert list(stored.read()) == sorted(stored.read())
