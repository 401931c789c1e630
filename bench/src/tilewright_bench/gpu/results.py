"""What a run found: data, ready for JSON and for tables."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tilewright_bench.gpu.contract import LoweringResult
from tilewright_bench.gpu.fit import Fit
from tilewright_bench.gpu.kernels import FUSE, KernelRow

BOUND = 1e-3
"""Of errors of float16 over what float64 gives, both by the Frobenius norm (devices.md, section 3)."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A contender of a case."""

    contender: str
    seconds: float
    """The median over rounds."""
    to_own: float
    """The median over rounds of its seconds over ours of the same round: above 1 we are faster."""
    rounds: int


@dataclass(frozen=True, slots=True)
class Checked:
    """The error of a contender's result."""

    contender: str
    error: float

    @property
    def is_right(self) -> bool:
        """NaN is wrong."""
        return self.error <= BOUND


@dataclass(frozen=True, slots=True)
class CaseResult:
    """Everything of one case."""

    case: str
    group: str
    checked: tuple[Checked, ...]
    kernels: tuple[KernelRow, ...]
    timed: tuple[Timed, ...] = ()
    compulsory_bytes: int = 0
    """Of our kernels: inputs and results, each once."""
    problems: tuple[str, ...] = ()
    """What kept a contender from running."""
    dram_bytes: tuple[tuple[str, int], ...] = ()
    """By contender, as counted on the card; empty where nothing counted."""

    def has_run(self, contender: str) -> bool:
        """Whether there is a result of it."""
        return any(one.contender == contender for one in self.checked)

    def time_of(self, contender: str) -> Timed | None:
        """None where it was not measured."""
        return next((one for one in self.timed if one.contender == contender), None)


@dataclass(frozen=True, slots=True)
class Card:
    """Where a run was, and what planned for it."""

    card: str
    driver: str
    capability: tuple[int, int]
    target: str
    target_note: str
    versions: tuple[tuple[str, str], ...]
    commit: str

    @property
    def triton(self) -> str:
        """Its version."""
        return dict(self.versions)["triton"]


@dataclass(frozen=True, slots=True)
class GpuReport:
    """A run."""

    card: Card
    cases: tuple[CaseResult, ...]
    lowerings: tuple[LoweringResult, ...]
    fit: Fit | None
    left_out: tuple[str, ...]
    """In words."""
    seconds: float
    """Of the whole run."""
    compares_shared: bool
    """Whether Triton is the version whose rules of shared memory the plan knows."""

    def as_document(self) -> dict[str, Any]:
        """Everything, ready for JSON; seconds are measured but those that are called predicted."""
        return {"skipped": False, **asdict(self)}

    def wrong(self) -> tuple[str, ...]:
        """Our contenders whose results are wrong, lowerings that break their contract, cases that did not run."""
        cases = [f"{case.case} ({one.contender})" for case in self.cases for one in case.checked if not one.is_right]
        broken = [f"{case.case} ({name}, not run)" for case in self.cases for name in FUSE if not case.has_run(name)]
        return (*cases, *broken, *(one.lowering for one in self.lowerings if one.problems))


@dataclass(frozen=True, slots=True)
class Skipped:
    """No run."""

    reason: str

    def as_document(self) -> dict[str, Any]:
        """What a reader of JSON finds in place of figures."""
        return {"skipped": True, "reason": self.reason}

    def as_text(self) -> str:
        """One line."""
        return f"skipped: {self.reason}"

    def wrong(self) -> tuple[str, ...]:
        """A skip is no failure."""
        return ()
