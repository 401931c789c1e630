"""Every method on every table: what it finds, what that costs, and how its order agrees with the times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.studies.tuned import features as features_of
from benchmarks.studies.tuned.methods import (
    MOST_TRIALS,
    Found,
    boosted,
    evolution,
    found,
    orders,
    ratio_of,
    spearman,
    tenth,
    unlearned,
    variants,
)
from benchmarks.studies.tuned.records import File, Record
from tilewright.tune.rankers.ranker import Variant

FASTEST = 16
"""Of a table, that go to the finals whether or not a method found them."""
HUNDRED = 100
LEAST_POOL = 20
"""Variants with working sets, for rankers that learn."""
Judged = dict[str, Any]
"""What JSON can hold: digests, ratios, counts and seconds by method; correlations by ranker."""


def judge_all(files: Mapping[str, File], seed: int = 0) -> dict[str, Judged]:
    """Of every problem that has records. Rankers that learn leave the problem out that they rank."""
    records = {name: file.records() for name, file in files.items()}
    records = {name: of_problem for name, of_problem in records.items() if of_problem}
    known = {name: features_of.read(files[name].path.with_suffix(".features.jsonl")) for name in records}
    every = {name: variants(name, records[name], known[name]) for name in records}
    every = {name: pool for name, pool in every.items() if len(pool) >= LEAST_POOL}
    return {name: judge(name, records[name], every, known[name], seed) for name in records}


def judge(
    name: str,
    records: Sequence[Record],
    every: dict[str, list[Variant]],
    features: dict[str, tuple[tuple[float, ...], float]],
    seed: int,
) -> Judged:
    """One problem: rankers keep a tenth of its pool, the variants with working sets; searches ask its whole table.

    Where there are no working sets, the pool is the whole table, and rankers that learn are left out.
    """
    is_known = name in every
    pool = [at for at, one in enumerate(records) if one.ratio is not None and (one.digest in features or not is_known)]
    features_s = sum(features[records[at].digest][1] for at in pool) if is_known else 0.0
    methods, correlations = dict[str, Found](), dict[str, float]()
    ordered = orders(every, name, seed) if is_known else unlearned([records[at] for at in pool], seed)
    for ranker, (order, model_s) in ordered.items():
        seen_s = features_s if ranker in ("network", "boosting") else 0.0
        methods[ranker] = found(records, [pool[at] for at in tenth(order)], model_s + seen_s)
        places = {at: place for place, at in enumerate(order)}
        correlations[ranker] = spearman([places[at] for at in range(len(pool))], [ratio_of(records[at]) for at in pool])
    priced = [at for at, one in enumerate(records) if one.predicted_s is not None and one.ratio is not None]
    by_price = sorted(priced, key=lambda at: records[at].predicted_s or 0.0)
    correlations["price, whole table"] = spearman(
        [records[at].predicted_s or 0.0 for at in priced], [ratio_of(records[at]) for at in priced]
    )
    methods["price 100"] = found(records, by_price[:HUNDRED], 0.0)
    methods |= _searches(records, seed)
    fastest = sorted(range(len(records)), key=lambda at: ratio_of(records[at]))[:FASTEST]
    return {
        "pool": len(pool),
        "table": len(records),
        "wrong": sum(one.ratio is None for one in records),
        "methods": {method: asdict(one) for method, one in methods.items()},
        "exhaustive_s": sum(one.build_s + one.time_s for one in records),
        "spearman": correlations,
        "least": min(map(ratio_of, records)),
        "fastest": [records[at].digest for at in fastest],
    }


def _searches(records: Sequence[Record], seed: int) -> dict[str, Found]:
    """With up to `MOST_TRIALS` trials, half of the table at most: the whole of it would be no search."""
    trials = min(MOST_TRIALS, len(records) // 2)
    result = {}
    for name, search in (("evolution", evolution), ("boosting search", boosted)):
        asked, model_s = search(records, trials, seed)
        result[name] = found(records, asked, model_s)
    return result


def digests(judged: Judged) -> list[str]:
    """Who goes to the finals."""
    chosen = [one["digest"] for one in judged["methods"].values()]
    return list(dict.fromkeys([*chosen, *judged["fastest"]]))


def files(directory: Path, names: Sequence[str]) -> dict[str, File]:
    """Of all problems."""
    return {name: File(directory, name) for name in names}
