"""Measurements of plans, and files of them: JSON lines, an object for each; and the commit of this package that they name."""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Sequence
from dataclasses import MISSING, asdict, fields
from functools import cache
from pathlib import Path

from tilewright.errors import CacheError, TilewrightError
from tilewright.records import record

PACKAGE = Path(__file__).parents[2]
CHANGED = "+changed"
PATIENCE_S = 10.0
NUMBERS = ("seconds", "predicted_s")
"""Columns that are no text."""


@record
class Measurement:
    """One plan, measured."""

    machine: str
    """See `machine_key`."""
    problem: str
    """See `plan.tuned.problem_key`."""
    plan: str
    """A digest of the plan's decisions."""
    source: str
    """Where the plan comes from: "choice", "uniform", "evolution"."""
    seconds: float | None
    """Of a call; None where the result was wrong."""
    predicted_s: float
    features: str
    """Working sets, as JSON."""
    compiler: str
    release: str
    """Version of this package, with a digest of its files: a commit says less where files were changed."""
    run: str
    """Of which run of tuning it is: a run writes each plan once."""
    commit: str = ""
    """Of the package that compiled the plan, or its release (`commit`); empty in rows of older releases."""


TEXTS = tuple(column.name for column in fields(Measurement) if column.name not in NUMBERS)


def write(path: Path, found: Sequence[Measurement]) -> None:
    """Write measurements. Raises `TilewrightError` where the file cannot be written."""
    try:
        path.write_text("".join(json.dumps(asdict(one)) + "\n" for one in found))
    except OSError as problem:
        raise TilewrightError(
            "measurements cannot be written",
            where=str(path),
            why=os.strerror(problem.errno) if problem.errno else str(problem),
            hint="name a file in a directory that exists and that you may write to",
        ) from problem


def read(path: Path) -> list[Measurement]:
    """What `write` wrote. Raises `CacheError` for what is no such file."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as problem:
        why = f"it is no text: {problem}" if isinstance(problem, ValueError) else str(problem)
        raise _no_measurement(str(path), why) from None
    return [_measurement(line, f"{path}:{number}") for number, line in enumerate(lines, 1)]


def _measurement(line: str, place: str) -> Measurement:
    """A line of a file. Raises `CacheError` where it is none."""
    try:
        row = json.loads(line)
    except ValueError as problem:
        raise _no_measurement(place, f"it is no JSON: {problem}") from None
    if why := _unlike_a_measurement(row):
        raise _no_measurement(place, why)
    return Measurement(**row)


def _no_measurement(place: str, why: str) -> CacheError:
    hint = "read a file of JSON lines that `tilewright tune --export` wrote"
    return CacheError("this is no measurement", where=place, why=why, hint=hint)


def _unlike_a_measurement(row: object) -> str:
    """Why a row is none, "" where it is one."""
    if not isinstance(row, dict):
        return "it is no object with names and values"
    columns = {one.name: one.default for one in fields(Measurement)}
    lacking = [name for name, default in columns.items() if default is MISSING and name not in row]
    if lacking:
        return f"it lacks {', '.join(lacking)}"
    if unknown := sorted(row.keys() - columns.keys()):
        return f"measurements have no {', '.join(unknown)}"
    if others := [name for name in TEXTS if not _is_text(row.get(name, ""))]:
        return f"{', '.join(others)} must be text"
    if not _is_time(row["seconds"]) or not _is_time(row["predicted_s"], may_be_infinite=True):
        return f"{' and '.join(NUMBERS)} must be seconds above 0, or null"
    return "" if _are_features(row["features"]) else "features must be a list of numbers, as text"


def _is_text(value: object) -> bool:
    """Whether SQLite can store it as text."""
    try:
        return isinstance(value, str) and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False


def _is_time(value: object, *, may_be_infinite: bool = False) -> bool:
    """Whether it is a number of seconds or None. The price of a schedule that the planner refuses is infinite."""
    seconds = _number(value)
    return value is None or (seconds > 0 and (may_be_infinite or seconds < math.inf))


def _are_features(text: str) -> bool:
    """Whether it is a list of sizes in JSON; empty text stands for none."""
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return False
    return isinstance(found, list) and all(0 <= _number(size) < math.inf for size in found)


def _number(value: object) -> float:
    """As a float; NaN where it is none, or too large for one."""
    try:
        return float(value) if isinstance(value, float | int) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return math.nan


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
