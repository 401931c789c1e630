"""What rankers and searches find in a measured table: each asks for variants, and what it finds is the best of those.

Searches see decisions as numbers (`variants.decisions`) and the price; rankers that learn see working sets.
Costs are seconds that building and timing the variants took, and processor seconds of the models.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf, log

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from benchmarks.studies.tuned.records import Record
from tilewright.tune.rankers.boosting import Boosting
from tilewright.tune.rankers.ranker import AtRandom, ByPrice, Learner, Ranker, Variant, kept
from tilewright.tune.rankers.tournament import Tournament

MOST_TRIALS = 1000
BATCH = 24
PARENTS = 8
CHILDREN = 12
"""Of each parent: the nearest schedules that were not measured."""
DRAWS = 8
"""Per variant that boosting measures."""
FRESH_SHARE = 0.2
"""Of a batch that no model chooses."""
STAGES = 30
LEARNED_SHARE = 0.7
"""Of the variants of each other problem, that rankers learn from (PolyDL, section 5.2)."""
SHARE = 0.1
"""Of a pool that a ranker keeps (PolyDL, section 5.2)."""

Matrix = np.ndarray[tuple[int, int], np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Found:
    """What a method came to."""

    digest: str
    ratio: float
    """Of the table: the time over that of the planner's choice."""
    measured: int
    seconds: float
    """Of all that it measured, and of its models."""


def found(records: Sequence[Record], asked: Sequence[int], model_s: float) -> Found:
    """The best of those asked for. A variant with a wrong result is never the best."""
    best = min(asked, key=lambda at: ratio_of(records[at]))
    seconds = sum(records[at].build_s + records[at].time_s for at in asked) + model_s
    return Found(records[best].digest, ratio_of(records[best]), len(asked), seconds)


def ratio_of(record: Record) -> float:
    """Infinite for a wrong result."""
    return inf if record.ratio is None else record.ratio


def spearman(left: Sequence[float], right: Sequence[float]) -> float:
    """The correlation of ranks; equal values share the mean of their ranks.

    >>> round(spearman([1, 2, 3, 4], [10, 30, 20, 40]), 3), spearman([1, 2, 3], [3, 2, 1])
    (0.8, -1.0)
    """
    ranks = [_ranks(np.asarray(values, np.float64)) for values in (left, right)]
    centred = [values - values.mean() for values in ranks]
    scale = float(np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum()))
    return float((centred[0] * centred[1]).sum()) / scale if scale else float("nan")


def _ranks(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    _, groups, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - 1) - (counts - 1) / 2)[groups]


def matrix(records: Sequence[Record]) -> Matrix:
    """One row per variant, one column per decision; a loop that is not there counts as one whose tile is beyond all others."""
    names = sorted({name for record in records for name in record.code})
    columns = []
    for name in names:
        values = [record.code.get(name) for record in records]
        present = [value for value in values if value is not None]
        missing = max(present) + 1 if " by " in name else 0.0
        columns.append([missing if value is None else value for value in values])
    return np.array(columns, np.float64).T.reshape(len(records), len(names))


def evolution(records: Sequence[Record], trials: int, seed: int) -> tuple[list[int], float]:
    """Positions in the order in which an evolutionary search asks for them, and seconds of its model; stands in for Ansor."""
    rows = matrix(records)

    def propose(asked: Sequence[int], open_: np.ndarray, source: np.random.Generator) -> np.ndarray:
        parents = sorted(asked, key=lambda at: ratio_of(records[at]))[:PARENTS]
        near = [open_[np.argsort(np.abs(rows[open_] - rows[at]).sum(axis=1), kind="stable")[:CHILDREN]] for at in parents]
        return np.unique(np.concatenate([*near, source.permutation(open_)[:BATCH]]))

    return _search(records, rows, propose, trials, seed)


def boosted(records: Sequence[Record], trials: int, seed: int) -> tuple[list[int], float]:
    """The same of fresh draws that gradient boosting ranks after every batch; stands in for AutoTVM."""
    return _search(
        records, matrix(records), lambda asked, open_, source: source.permutation(open_)[: DRAWS * BATCH], trials, seed
    )


def _search(
    records: Sequence[Record],
    rows: Matrix,
    propose: Callable[[Sequence[int], np.ndarray, np.random.Generator], np.ndarray],
    trials: int,
    seed: int,
) -> tuple[list[int], float]:
    begin, source, asked = time.process_time(), np.random.default_rng(seed), list[int]()
    prices = np.array([log(record.predicted_s) if record.predicted_s else 10.0 for record in records])
    rows = np.column_stack([rows, prices])
    while len(asked) < min(trials, len(records)):
        wanted = min(BATCH, trials - len(asked), len(records) - len(asked))
        open_ = np.setdiff1d(np.arange(len(records)), asked)
        if not asked:
            asked += source.permutation(open_)[:wanted].tolist()
            continue
        fresh = propose(asked, open_, source)
        by_model = fresh[np.argsort(_expected(records, rows, asked, fresh), kind="stable")][: wanted - int(FRESH_SHARE * wanted)]
        others = source.permutation(np.setdiff1d(open_, by_model))
        asked += [*by_model.tolist(), *others.tolist()][:wanted]
    return asked, time.process_time() - begin


def _expected(records: Sequence[Record], rows: Matrix, asked: Sequence[int], fresh: np.ndarray) -> np.ndarray:
    """The logarithm of the ratio that a model of all that was measured expects."""
    right = [at for at in asked if records[at].ratio is not None]
    model = HistGradientBoostingRegressor(max_iter=STAGES, random_state=0)
    model.fit(rows[right], np.log([ratio_of(records[at]) for at in right]))
    expected: np.ndarray = model.predict(rows[fresh])
    return expected


def variants(problem: str, records: Sequence[Record], features: dict[str, tuple[tuple[float, ...], float]]) -> list[Variant]:
    """Those with features and a right result, as rankers see them, in the order of the table."""
    return [
        Variant(problem, features[one.digest][0], one.predicted_s if one.predicted_s else inf, one.ratio)
        for one in records
        if one.digest in features and one.ratio is not None
    ]


def rankers(seed: int) -> dict[str, Callable[[], Ranker]]:
    """By name."""
    return {
        "price": ByPrice,
        "network": lambda: Tournament(seed),
        "boosting": lambda: Boosting(seed),
        "random": lambda: AtRandom(seed),
    }


def learned_from(others: dict[str, list[Variant]], problem: str, seed: int) -> list[Variant]:
    """A drawn share of the variants of every other problem: nothing of the one that is ranked.

    >>> one = Variant("a", (), 1.0, 1.0)
    >>> learned_from({"a": [one], "b": [Variant("b", (), 1.0, 1.0)]}, "a", seed=0)
    [Variant(problem='b', features=(), predicted_s=1.0, measured_s=1.0)]
    """
    source = np.random.default_rng(seed)
    return [variant for name, of_problem in others.items() if name != problem for variant in _learned(of_problem, source)]


def _learned(of_problem: list[Variant], source: np.random.Generator) -> list[Variant]:
    drawn = source.permutation(len(of_problem))[: ceil(LEARNED_SHARE * len(of_problem))]
    return [of_problem[at] for at in sorted(drawn)]


def orders(every: dict[str, list[Variant]], problem: str, seed: int) -> dict[str, tuple[list[int], float]]:
    """Of every ranker that learned from all other problems: the order of this one's variants, and seconds of its model."""
    training, own = learned_from(every, problem, seed), every[problem]
    result = {}
    for name, make in rankers(seed).items():
        begin, ranker = time.process_time(), make()
        if isinstance(ranker, Learner):
            ranker.train(training)
        result[name] = (ranker.order(own), time.process_time() - begin)
    return result


def unlearned(records: Sequence[Record], seed: int) -> dict[str, tuple[list[int], float]]:
    """The same of the rankers that learn nothing, which need no working sets."""
    pool = [Variant("", (), one.predicted_s or inf) for one in records]
    return {"price": (ByPrice().order(pool), 0.0), "random": (AtRandom(seed).order(pool), 0.0)}


def tenth(order: Sequence[int]) -> list[int]:
    """What a ranker keeps."""
    return kept(order, SHARE)
