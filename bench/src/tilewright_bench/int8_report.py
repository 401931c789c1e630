"""A report on products of integers: which tables there are, each a set of cases of one benchmark or two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.errors import TilewrightError
from tilewright_bench import benchmarks
from tilewright_bench.cases.dynamic_int8 import DynamicCase
from tilewright_bench.cases.int8 import int8_cases
from tilewright_bench.cases.int8_shapes import DECODER_SHAPES, FEW_ROWS, SHAPES, TABLE_NAMES
from tilewright_bench.cases.int16 import Int16Case
from tilewright_bench.cases.nbits import BYTES, FLOATS, NbitsCase
from tilewright_bench.measurement.provenance import Provenance
from tilewright_bench.run import Benchmark, Settings, measured
from tilewright_bench.tables import int8_table
from tilewright_bench.tables.report import Report

Cases = tuple[Benchmark[Any], list[Any]]
_FEW = [shape for shape in SHAPES if shape.m <= FEW_ROWS]
_MANY = [shape for shape in SHAPES if shape.m >= FEW_ROWS]


def _prepacked(bits: Sequence[int]) -> Iterator[Cases]:
    yield benchmarks.INT8, int8_cases(SHAPES, bits)


def _unpacked(bits: Sequence[int]) -> Iterator[Cases]:
    yield benchmarks.INT8_UNPACKED, int8_cases(_FEW, bits, prepacked=False)


def _dynamic(bits: Sequence[int]) -> Iterator[Cases]:
    yield benchmarks.INT8_DYNAMIC, [DynamicCase(shape) for shape in SHAPES]


def _words(bits: Sequence[int]) -> Iterator[Cases]:
    yield benchmarks.INT16, [Int16Case(shape) for shape in _MANY]


def _nbits(bits: Sequence[int]) -> Iterator[Cases]:
    yield benchmarks.NBITS_AS_FLOATS, [NbitsCase(shape, FLOATS) for shape in DECODER_SHAPES]
    yield benchmarks.NBITS_AS_BYTES, [NbitsCase(shape, BYTES) for shape in DECODER_SHAPES]


TABLES: dict[str, Callable[[Sequence[int]], Iterator[Cases]]] = dict(
    zip(TABLE_NAMES, (_prepacked, _unpacked, _dynamic, _words, _nbits), strict=True)
)
"""By name, from the bits of weights where there is a choice."""


def chosen(tables: Sequence[str], names: Sequence[str], bits: Sequence[int]) -> list[Cases]:
    """The cases of these names in these tables, as far as they have them. Raises `TilewrightError` where none is left."""
    every = [cases for table in tables for cases in TABLES[table](bits)]
    kept = [(benchmark, [case for case in cases if case.name in names]) for benchmark, cases in every]
    if not any(cases for _, cases in kept):
        raise TilewrightError(f"no case of {', '.join(names)} is in the tables {', '.join(tables)}", where="--cases")
    return [(benchmark, cases) for benchmark, cases in kept if cases]


@dataclass(frozen=True, slots=True)
class Int8Report(Report):
    """One run of the benchmark of products of integers."""

    def as_text(self) -> str:
        """A table for every title."""
        titles = dict.fromkeys(result.table for result in self.results)
        lines = [*self.provenance.lines(), *int8_table.LEGEND]
        for title in titles:
            results = [result for result in self.results if result.table == title]
            lines = [*lines, "", *int8_table.case_table(title, results, self.provenance.threads)]
        return "\n".join([*lines, *self.failures()])


def int8_report(chosen_cases: Sequence[Cases], settings: Settings) -> Int8Report:
    """Measure products; progress on stderr. Raises `TilewrightError` for a peer that is not installed."""
    reports = [measured(benchmark, cases, _for(benchmark.peers, settings)) for benchmark, cases in chosen_cases]
    pairs = list(zip(chosen_cases, reports, strict=True))
    results = [result for report in reports for result in report.results]
    return Int8Report(_merged({benchmark.name: report.provenance for (benchmark, _), report in pairs}), tuple(results))


def _for(peers: Mapping[str, Any], settings: Settings) -> Settings:
    """The same with those of the chosen peers that take part."""
    kept = None if settings.peers is None else tuple(name for name in settings.peers if name in peers)
    return replace(settings, peers=kept)


def _merged(provenances: Mapping[str, Provenance]) -> Provenance:
    """Of benchmarks, by their names, that differ in who took part."""
    versions = dict.fromkeys(version for each in provenances.values() for version in each.versions)
    notes = [(f"{peer} ({name})", note) for name, each in provenances.items() for peer, note in each.notes]
    return replace(next(iter(provenances.values())), versions=tuple(versions), notes=tuple(notes))
