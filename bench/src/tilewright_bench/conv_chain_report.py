"""A report on chains of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright_bench.benchmarks import CONV_CHAINS
from tilewright_bench.cases.conv_chains import ConvChainCase
from tilewright_bench.run import Benchmark, Settings, measured
from tilewright_bench.tables import conv_chain_table
from tilewright_bench.tables.report import Report


@dataclass(frozen=True, slots=True)
class ConvChainReport(Report):
    """One run of the benchmark of chains of convolutions."""

    def as_text(self) -> str:
        """A table for each kind of chains."""
        lines = self.provenance.lines()
        for title in dict.fromkeys(result.table for result in self.results):
            results = [result for result in self.results if result.table == title]
            lines += ["", *conv_chain_table.case_table(title, results, self.provenance.threads)]
        return "\n".join([*lines, *self.failures()])


def conv_chain_report(
    cases: Sequence[ConvChainCase], settings: Settings, benchmark: Benchmark[ConvChainCase] = CONV_CHAINS
) -> ConvChainReport:
    """Measure chains; progress on stderr. Raises `TilewrightError` for a peer that is not installed."""
    report = measured(benchmark, cases, settings)
    return ConvChainReport(report.provenance, report.results)
