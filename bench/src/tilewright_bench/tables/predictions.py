"""Predicted and measured times of the chains of a model: quality of the prediction, and distance from the floor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from tilewright.report import units
from tilewright.report.layout import columns
from tilewright_bench.cases.model import ModelCase

CALLS = 5


@dataclass(frozen=True, slots=True)
class Prediction:
    """Of one model on one thread, in seconds: the sums over its chains."""

    case: str
    chains: int
    measured_s: float
    """The median over several calls with clocks."""
    predicted_s: float
    """Of the chains that are compiled."""
    floor_s: float
    numpy_s: float
    """Of `measured_s`, what ran as NumPy."""


def predicted(case: ModelCase) -> Prediction:
    """Profile the model on one thread."""
    import tilewright.onnx as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(case.path, options)
    session.run(None, case.feeds)
    calls = sorted((session.profile(case.feeds) for _ in range(CALLS)), key=lambda call: call.seconds)
    chains = calls[len(calls) // 2].chains
    return Prediction(
        case.name,
        len(chains),
        median(call.seconds for call in calls),
        sum(chain.predicted_seconds for chain in chains),
        sum(chain.floor_seconds for chain in chains),
        sum(chain.seconds for chain in chains if chain.is_numpy),
    )


def table(predictions: Sequence[Prediction]) -> list[str]:
    """Lines for a person."""
    rows = [["model", "chains", "measured", "predicted", "predicted/measured", "floor", "floor/measured", "as NumPy"]]
    rows += [_row(prediction) for prediction in predictions]
    return ["predicted and measured, sums over the chains on one thread:", *columns(rows, right=range(1, len(rows[0])))]


def _row(prediction: Prediction) -> list[str]:
    measured, predicted, floor, in_numpy = (
        units.seconds(value) for value in (prediction.measured_s, prediction.predicted_s, prediction.floor_s, prediction.numpy_s)
    )
    share = units.percent(prediction.floor_s / prediction.measured_s)
    return [
        prediction.case,
        str(prediction.chains),
        measured,
        predicted,
        f"{prediction.predicted_s / prediction.measured_s:.2f}",
        floor,
        share,
        in_numpy,
    ]
