"""A report on convolutions: tables of shapes, sums over models, and results taken over from earlier runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tilewright.errors import TilewrightError
from tilewright_bench.benchmarks import CONVOLUTIONS
from tilewright_bench.cases import conv_models
from tilewright_bench.cases.conv import ConvCase
from tilewright_bench.cases.required import Required
from tilewright_bench.measurement.harness import CaseResult, Timing
from tilewright_bench.run import Benchmark, Settings, measured
from tilewright_bench.tables import conv_table
from tilewright_bench.tables.report import Report


@dataclass(frozen=True, slots=True)
class ConvReport(Report):
    """One run of the benchmark of convolutions, or several of them."""

    taken_over: tuple[str, ...] = ()
    """Of every result that is not of this run: file, machine and commit, each once."""

    def as_document(self) -> dict[str, Any]:
        """That of every benchmark, and where results are from."""
        return {**Report.as_document(self), "taken_over": list(self.taken_over)}

    def as_text(self) -> str:
        """The same for people: a table for each kind of case, then what they come to."""
        models = {name: Counter({shape.name: n for shape, n in conv_models.layers(name).items()}) for name in conv_models.MODELS}
        counts = sum(models.values(), Counter[str]())
        lines = [*self.provenance.lines(), *(f"results of an earlier run: {text}" for text in self.taken_over)]
        for title in dict.fromkeys(result.table for result in self.results):
            results = [result for result in self.results if result.table == title]
            lines += ["", *conv_table.case_table(title, results, counts), *conv_table.summary(results, counts)]
        lines += ["", *conv_table.model_table({result.case: result for result in self.results}, models)]
        return "\n".join([*lines, "", *conv_table.worst(self.results), *self.failures()])


def conv_report(
    cases: Sequence[ConvCase], settings: Settings, known: Sequence[Path] = (), benchmark: Benchmark[ConvCase] = CONVOLUTIONS
) -> ConvReport:
    """Measure the cases that no known file has results of; progress on stderr.

    Raises `TilewrightError` for a file that is no result of this benchmark.
    """
    earlier = [_document(path) for path in known]
    found = {result.case: result for _, document in earlier for result in map(_result, document["results"])}
    report = measured(benchmark, [case for case in cases if case.name not in found], settings)
    results = {**found, **{result.case: result for result in report.results}}
    sources = dict.fromkeys(text for path, document in earlier for text in _sources(path, document))
    return ConvReport(report.provenance, tuple(results[case.name] for case in cases), tuple(sources))


def _sources(path: Path, document: dict[str, Any]) -> Iterable[str]:
    provenance = document["provenance"]
    yield f"{path.name}, {provenance['machine']}, commit {provenance['commit'] or 'unknown'}, {provenance['compiler']}"
    yield from document.get("taken_over", ())


def _document(path: Path) -> tuple[Path, dict[str, Any]]:
    try:
        document = json.loads(path.read_text())
        _ = [_result(result) for result in document["results"]], document["provenance"]["machine"]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        hint = "name files that tilewright bench conv --json FILE wrote"
        raise TilewrightError(f"{path} has no results of convolutions", where="--known", why=str(problem), hint=hint) from problem
    return path, document


def _result(document: dict[str, Any]) -> CaseResult:
    timings = (Timing(**{**timing, "error": _error(timing["error"])}) for timing in document["timings"])
    required = document["required"] and Required(**document["required"])
    return replace(CaseResult(**document), timings=tuple(timings), required=required)


def _error(value: float | None) -> float:
    return float("inf") if value is None else value
