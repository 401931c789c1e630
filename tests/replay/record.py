"""What replay knows of a graph on a machine: its plan as text, the C made of it, and digests of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.replay import c_text
from tests.replay.plan_text import numbered, plain, plan_text
from tests.replay.planning import Planned
from tilewright import compiler

DIGEST_DIGITS = 16


@dataclass(frozen=True)
class Record:
    """Of one graph on one machine. `sources` are C files; compilers are told the architecture and the features."""

    plan: str
    """For readers."""
    plan_digest: str
    sources: tuple[str, ...]
    architecture: str
    features: tuple[str, ...]

    @property
    def text_digest(self) -> str:
        """Of all C text, apart from names and comments."""
        return digest(*map(c_text.canonical, self.sources))

    def line(self, graph: str, machine: str) -> str:
        """What the file of digests has of it."""
        return f"{graph} {machine} {self.plan_digest} {self.text_digest}"

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self)))


def load(path: Path) -> Record:
    """The record in a file."""
    found = json.loads(path.read_text())
    return Record(**{name: tuple(value) if isinstance(value, list) else value for name, value in found.items()})


def record(planned: Planned, machine: str) -> Record:
    """Plan a graph and generate its code."""
    plans = planned(machine)
    artifacts = [compiler.generate(one) for one in plans]
    first = artifacts[0] if artifacts else None
    return Record(
        plan="\n".join(plan_text(one, plain) for one in plans),
        plan_digest=digest(*(plan_text(one, numbered()) for one in plans)),
        sources=tuple(text for one in artifacts for text in _texts(one)),
        architecture=first.architecture if first else "",
        features=tuple(sorted(first.features)) if first else (),
    )


def digest(*texts: str) -> str:
    """Of several texts in order."""
    found = hashlib.sha256()
    for text in texts:
        found.update(text.encode() + b"\0")
    return found.hexdigest()[:DIGEST_DIGITS]


def _texts(artifact: Any) -> Sequence[str]:
    kernels = sorted(one.content for one in getattr(artifact, "kernels", ()))  # earlier revisions have none
    return [artifact.text, *(one.content for one in artifact.linked), *kernels]
