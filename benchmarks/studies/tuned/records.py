"""What was measured of a problem: a file of JSON lines that only grows, so that a run goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Record:
    """One variant of a problem."""

    digest: str
    source: str
    schedule: str
    predicted_s: float | None
    """None where the model refuses the schedule."""
    terms: dict[str, float]
    """Seconds of the price of the chain that differs, by name."""
    code: dict[str, float]
    """Its decisions as numbers: `variants.decisions`."""
    ratio: float | None
    """The time of a call over that of the planner's choice at the same moment; None for a wrong result."""
    is_timed: bool
    """Whether the ratio is one of turns; else of a first call, at least three times the choice's."""
    build_s: float
    time_s: float


@dataclass(frozen=True, slots=True)
class Header:
    """What all ratios of a file are over, and what was asked for."""

    problem: str
    choice_s: float
    peak_flops_per_s: float
    planning_s: float
    """Of planning, lowering and compiling the planner's choice: all that it takes without tuning."""
    commit: str


class File:
    """The records of a problem, with its header and features in files beside it."""

    def __init__(self, directory: Path, problem: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / f"{problem}.jsonl"

    def append(self, records: Iterable[Record]) -> None:
        """Whole lines in one write: a killed run leaves whole lines, but for the last one perhaps."""
        with self.path.open("a") as file:
            file.write("".join(json.dumps(asdict(record)) + "\n" for record in records))

    def records(self) -> list[Record]:
        """All that were measured, each variant once; a line that was cut short is left out."""
        found = {one.digest: one for one in map(_record, _lines(self.path)) if one is not None}
        return list(found.values())

    def write(self, what: str, content: object) -> None:
        """Something that replaces what was written under this name before."""
        path = self._beside(what)
        new = path.with_suffix(".new")
        new.write_text(json.dumps(content) + "\n")
        new.replace(path)

    def read(self, what: str) -> object:
        """What was written; None if nothing was."""
        path = self._beside(what)
        found: object = json.loads(path.read_text()) if path.exists() else None
        return found

    def header(self) -> Header | None:
        """None before anything was measured."""
        found = self.read("header")
        return Header(**found) if isinstance(found, dict) else None

    def _beside(self, what: str) -> Path:
        return self.path.with_suffix(f".{what}.json")


def _lines(path: Path) -> Sequence[str]:
    return path.read_text().splitlines() if path.exists() else ()


def _record(line: str) -> Record | None:
    try:
        return Record(**json.loads(line))
    except ValueError:
        return None
