"""The digests in the repository, of one machine: a line a graph, by name.

Between lines are empty ones: git merges changes of neighbouring lines only if something unchanged lies between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

FILE = Path(__file__).with_name("digests.txt")
MACHINE = "cascadelake-6240"
MADE_WITH = ("numpy", "onnx", "torch")
"""Packages that make graphs, or the constants in them."""


def read() -> dict[str, str]:
    """The lines by graph."""
    lines = (line for line in FILE.read_text().splitlines() if line and not line.startswith("#"))
    return {line.split()[0]: line for line in lines}


def write(lines: Mapping[str, str]) -> None:
    """Replace the file."""
    FILE.write_text(text(lines))


def text(lines: Mapping[str, str]) -> str:
    """Of the file, from the lines by graph."""
    heading = f"# graph, machine, digest of the plan, digest of the C text\n# {versions()}"
    return "\n\n".join([heading, *(lines[graph] for graph in sorted(lines))]) + "\n"


def versions() -> str:
    """Of the packages that have a say in it."""
    return ", ".join(f"{name} {version(name)}" for name in MADE_WITH)


def versions_then() -> str:
    """Of the packages with which the file was written."""
    return FILE.read_text().splitlines()[1].removeprefix("# ")


def changed(found: Mapping[str, str], subjects: Iterable[str]) -> list[str]:
    """Graphs of these subjects whose lines are not those in the file, each with what is different."""
    chosen = tuple(f"{subject}/" for subject in subjects)
    before = {graph: line for graph, line in read().items() if graph.startswith(chosen)}
    return [
        f"{graph}: {difference(before.get(graph), found.get(graph))}"
        for graph in dict.fromkeys([*before, *found])
        if before.get(graph) != found.get(graph)
    ]


def difference(before: str | None, after: str | None) -> str:
    """In words, of two lines."""
    if before is None or after is None:
        return "is new" if before is None else "is gone"
    names = ("name", "machine", "plan", "C text")
    pairs = zip(names, before.split(), after.split(), strict=True)
    return " and ".join(name for name, one, other in pairs if one != other) + " changed"
