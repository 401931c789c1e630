"""What `tilewright bench gpu` does: a run on the card that is here, or a skip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from tilewright_bench.gpu.budget import Budget
from tilewright_bench.gpu.cases import all_cases
from tilewright_bench.gpu.device import Cuda, missing
from tilewright_bench.gpu.results import GpuReport, Skipped
from tilewright_bench.gpu.run import Settings, measured
from tilewright_bench.gpu.tables import report_lines


@dataclass(frozen=True, slots=True)
class Measured:
    """A run, to be published."""

    report: GpuReport

    def as_document(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return self.report.as_document()

    def as_text(self) -> str:
        """Tables."""
        return "\n".join(report_lines(self.report))

    def wrong(self) -> tuple[str, ...]:
        """What is wrong, by name."""
        return self.report.wrong()


def gpu_report(names: Sequence[str] | None, settings: Settings) -> Measured | Skipped:
    """All cases, or those of these names; progress on stderr."""
    budget = Budget(settings.seconds)  # PyTorch's import and the first use of the card count, too
    if reason := missing():
        return Skipped(reason)
    cases = [case for case in all_cases() if names is None or case.name in names]
    return Measured(measured(Cuda(), cases, settings, budget, lambda text: click.echo(f"gpu: {text}", err=True)))
