"""A report on models: the tables of every benchmark, and what was predicted beside what was measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright_bench.benchmarks import MODELS
from tilewright_bench.cases.model import ModelCase
from tilewright_bench.run import Benchmark, Settings, measured
from tilewright_bench.tables import predictions
from tilewright_bench.tables.predictions import Prediction
from tilewright_bench.tables.report import Report


@dataclass(frozen=True, slots=True)
class ModelReport(Report):
    """One run of the benchmark of models."""

    predictions: tuple[Prediction, ...] = ()

    def as_document(self) -> dict[str, Any]:
        """That of every benchmark, and the predictions."""
        return {**Report.as_document(self), "predictions": [dataclasses.asdict(prediction) for prediction in self.predictions]}

    def as_text(self) -> str:
        """The same for people."""
        return "\n".join([Report.as_text(self), "", *predictions.table(self.predictions)])


def model_report(cases: Sequence[ModelCase], settings: Settings, benchmark: Benchmark[Any] = MODELS) -> ModelReport:
    """Measure models, and profile each on one thread; progress on stderr."""
    report = measured(benchmark, cases, settings)
    return ModelReport(report.provenance, report.results, tuple(predictions.predicted(case) for case in cases))
