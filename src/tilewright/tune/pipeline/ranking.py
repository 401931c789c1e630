"""Rankers by name; those that learn do so from what was measured on the machine for other problems than those that are tuned.

Trained rankers are saved in files, which name the machine, the features and the versions that they hold for, and refuse others.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from tilewright import __version__
from tilewright.api.config import version_of
from tilewright.errors import TilewrightError, needs_packages
from tilewright.machine.machine import Machine
from tilewright.runtime.tuning.database import TuningDatabase, machine_key
from tilewright.runtime.tuning.measurements import Measurement
from tilewright.tune.pipeline.names import LEARNING, PRICE
from tilewright.tune.rankers.ranker import AtRandom, ByPrice, Learner, Ranker, Variant

FORMAT = 2
FEATURES = "working sets by level, memory last (1)"
"""What the numbers of a variant mean."""
PACKAGES = ("tilewright", "scikit-learn")


def save(path: Path, ranker: Learner, machine: str) -> None:
    """Write a trained ranker; the file is replaced as a whole."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(json.dumps({**_header(ranker, machine), "state": ranker.state()}) + "\n")
    beside.replace(path)


def restore(path: Path, ranker: Learner, machine: str) -> None:
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


def _header(ranker: Learner, machine: str) -> dict[str, object]:
    versions = {package: version_of(package) for package in PACKAGES}
    return {"format": FORMAT, "ranker": ranker.name, "machine": machine, "features": FEATURES, "versions": versions}


LEAST_MEASUREMENTS = 50
"""To learn from."""


def trained(
    name: str, database: TuningDatabase, machine: Machine, problems: Collection[str], seed: int, file: Path | None = None
) -> Ranker:
    """A ranker of `RANKERS` for problems, of whose rows it sees none: a run that is interrupted is ranked again as it was.

    A ranker that learns is read from `file` where that exists, and saved there where it does not. Raises `TilewrightError` for a
    file of another ranker, machine or release, where there is too little to learn from, and without the package to learn by.
    """
    if name not in LEARNING:
        return ByPrice() if name == PRICE else AtRandom(seed)
    ranker = _untrained(name, seed)
    if file is not None and file.exists():
        restore(file, ranker, machine_key(machine))
        return ranker
    ranker.train(_measured(name, database, machine, problems))
    if file is not None:
        save(file, ranker, machine_key(machine))
    return ranker


def _measured(name: str, database: TuningDatabase, machine: Machine, problems: Collection[str]) -> list[Variant]:
    """What a ranker learns from: what this release measured of other problems on this kind of machine."""
    rows = database.measurements(machine_key(machine))
    usable = (row for row in rows if row.problem not in problems and row.release.split(" ")[0] == __version__)
    variants = [_variant(row, len(machine.levels)) for row in usable]
    found = [variant for variant in variants if variant is not None]
    if len(found) < LEAST_MEASUREMENTS:
        raise TilewrightError(
            f"the {name} ranker has too little to learn from",
            why=f"release {__version__} measured {len(found)} plans of other chains on {machine_key(machine)}; "
            f"at least {LEAST_MEASUREMENTS} are wanted",
            hint="tune others with --ranker price first, or --import measurements of this machine",
        )
    return found


def _untrained(name: str, seed: int) -> Learner:
    with needs_packages(f"the {name} ranker", "tune"):
        if name == "network":
            from tilewright.tune.rankers.tournament import Tournament

            return Tournament(seed)
        from tilewright.tune.rankers.boosting import Boosting

        return Boosting(seed)


def _variant(row: Measurement, levels: int) -> Variant | None:
    """A measurement as rankers see it, with a working set for each level; None for wrong results, and without these features."""
    features = json.loads(row.features or "[]")
    if row.seconds is None or row.predicted_s is None or len(features) != levels:
        return None
    return Variant(row.problem, tuple(map(float, features)), row.predicted_s, row.seconds)
