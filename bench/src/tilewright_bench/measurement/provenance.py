"""Provenance of a measurement: machine, versions, commit, and the work done ahead for each contender."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tilewright
from tilewright.machine.machine import Machine
from tilewright.runtime.compilation.toolchain import Toolchain
from tilewright_bench.measurement.contender import CaseT, Peer, installed


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a reader needs in order to trust or repeat a table."""

    machine: str
    cores: int
    threads: int
    compiler: str
    versions: tuple[tuple[str, str], ...]
    commit: str
    """Empty outside a checkout; with "+changes" where files differ from it."""
    notes: tuple[tuple[str, str], ...]
    """By peer: what is done ahead of the measurement, in which settings it runs, and what it does with constants."""
    processes: int = 1
    """How many fresh processes the figures are medians over."""

    def lines(self) -> list[str]:
        """For the head of a table."""
        versions = ", ".join(f"{name} {number}" for name, number in self.versions)
        threads = f"{self.threads} {'thread' if self.threads == 1 else 'threads'}"
        return [
            f"{self.machine}, {self.cores} {'core' if self.cores == 1 else 'cores'}; {threads}; {self.compiler}",
            f"{versions}{f'; commit {self.commit}' if self.commit else ''}",
            *self._method(),
            *(f"{name}: {note}" for name, note in self.notes),
        ]

    def _method(self) -> list[str]:
        over = f"medians over {self.processes} fresh processes of " if self.processes > 1 else ""
        return [
            f"figures are {over}medians over rounds in which everyone has a turn; a ratio is that of the turns of one round",
            "operands and results begin at multiples of 64 bytes, where a contender does not make its own",
            "peer/ours: time of the fastest peer with right results over that of Tilewright, above 1 where Tilewright is faster",
            "nothing prepacked: all operands may change between calls; prepacked: all but the first are constants, known ahead",
        ]


def provenance(machine: Machine, toolchain: Toolchain, peers: Sequence[Peer[CaseT]], threads: int) -> Provenance:
    """Of this process."""
    packages = dict.fromkeys(package for peer in peers for package in peer.packages)
    versions = [("tilewright", tilewright.__version__), ("Python", platform.python_version())]
    versions += [(package, installed(package) or "") for package in packages]
    return Provenance(
        machine.name,
        machine.cores,
        threads,
        toolchain.version,
        tuple(versions),
        commit(Path(tilewright.__file__).parent),
        tuple((peer.name, _note(peer)) for peer in peers),
    )


def _note(peer: Peer[CaseT]) -> str:
    return f"{peer.note}; prepacked: {peer.prepacked_note}" if peer.prepacked_note else peer.note


def commit(directory: Path) -> str:
    """The commit that is checked out around a directory, empty if there is none.

    A package that merely lies below some repository (a virtual environment in one) is not tracked by it and counts as none.
    """
    if not _git(directory, "ls-files", "--error-unmatch", "."):
        return ""
    head = _git(directory, "rev-parse", "--short=12", "HEAD")
    return f"{head}+changes" if _git(directory, "status", "--porcelain", "--untracked-files=no") else head


def _git(directory: Path, *arguments: str) -> str:
    try:
        answer = subprocess.run(["git", *arguments], cwd=directory, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""
