"""Trained rankers in files, which name the machine, the features and the versions that they hold for, and refuse others."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tilewright.errors import TilewrightError
from tilewright.tune.rankers.ranker import Ranker

FORMAT = 1
FEATURES = "working sets by level, memory last (1)"
"""What the numbers of a variant mean."""
PACKAGES = ("tilewright", "torch", "scikit-learn")


def save(path: Path, ranker: Ranker, machine: str) -> None:
    """Write a trained ranker; the file is replaced as a whole."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(json.dumps({**_header(ranker, machine), "state": ranker.state()}) + "\n")
    beside.replace(path)


def restore(path: Path, ranker: Ranker, machine: str) -> None:
    """Read what a ranker of this kind learned. Raises `TilewrightError` where the file was written for something else."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError) as problem:
        raise TilewrightError(
            "this is no saved ranker", where=str(path), why=str(problem), hint="train it again and save it"
        ) from None
    for name, wanted in _header(ranker, machine).items():
        if content.get(name) != wanted:
            raise TilewrightError(
                f"the saved ranker has another {name}",
                where=str(path),
                why=f"it has {content.get(name)!r}; wanted is {wanted!r}",
                hint="measurements rank variants of the same machine and features only: train it again here",
            )
    ranker.restore(content["state"])


def _header(ranker: Ranker, machine: str) -> dict[str, object]:
    return {"format": FORMAT, "ranker": ranker.name, "machine": machine, "features": FEATURES, "versions": _versions()}


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "none"
    return found
