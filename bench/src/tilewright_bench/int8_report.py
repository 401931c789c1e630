"""A report on products of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright_bench.benchmarks import INT8
from tilewright_bench.cases.int8 import Int8Case
from tilewright_bench.run import Benchmark, Settings, measured
from tilewright_bench.tables import int8_table
from tilewright_bench.tables.report import Report


@dataclass(frozen=True, slots=True)
class Int8Report(Report):
    """One run of the benchmark of products of bytes."""

    def as_text(self) -> str:
        """A table for every range of weights."""
        titles = dict.fromkeys(result.table for result in self.results)
        lines = self.provenance.lines()
        for title in titles:
            results = [result for result in self.results if result.table == title]
            lines = [*lines, "", *int8_table.case_table(title, results, self.provenance.threads)]
        return "\n".join([*lines, *self.failures()])


def int8_report(cases: Sequence[Int8Case], settings: Settings, benchmark: Benchmark[Int8Case] = INT8) -> Int8Report:
    """Measure products; progress on stderr. Raises `TilewrightError` for a peer that is not installed."""
    report = measured(benchmark, cases, settings)
    return Int8Report(report.provenance, report.results)
