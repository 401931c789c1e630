"""What searches with measurements gain over the planner's choice, and how long they take: Chimera, section VI-E.

    python -m benchmarks.papers.autotuners [--cases G10,G7] [--count 100] [--seed 0] [--out FILE.json] [--missing]

The stand-ins for Ansor (an evolutionary search) and AutoTVM (draws that gradient boosting ranks), the first plans by price, and
draws at random measure `--count` plans each, of the same space; then the five fastest of each take turns with the planner's
choice. `gain` is the time of the choice over that of the best plan found: 1.00 where the choice was best. In the paper Ansor
takes 21.9 times as long to optimise, and its code 1.39 times as long to run. The file is written after every case; `--missing`
leaves out those that it has.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.studies.schedules import results as schedule_results
from benchmarks.studies.schedules.results import Document
from tilewright.report.layout import columns
from tilewright.runtime.tuning import plans as tuned_plans
from tilewright.runtime.tuning.database import TuningDatabase
from tilewright.tune.pipeline.trials import Trials
from tilewright.tune.pipeline.tuning import Request, best_plans
from tilewright.tune.rankers.ranker import AtRandom, ByPrice
from tilewright.tune.schedules.cases import Case
from tilewright.tune.schedules.chain_case import chain_case
from tilewright.tune.shapes import TABLE_IV
from tilewright_bench.tables.means import geometric_mean

FINALISTS = 5
SEARCHES = ("by price", "random", "boosting", "evolution")


def requests(count: int, seed: int) -> dict[str, Request]:
    """What every search is asked for."""
    return {
        "by price": Request(count, seed, 1),
        "random": Request(count, seed, 1),
        "boosting": Request(count, seed, 1, search="boosting"),
        "evolution": Request(count, seed, 1, search="evolution"),
    }


def measure_case(case: Case, count: int, seed: int) -> Document:
    """Gains and seconds of every search, for the first chain of a case."""
    with tuned_plans.ignored(), TemporaryDirectory(prefix="tilewright-autotuners-") as directory:
        Path(directory).chmod(0o700)
        begin = time.perf_counter()
        model = case.model_plan()
        planning_s, found = time.perf_counter() - begin, {}
        chain = chain_case(model, 0)
        for name, request in requests(count, seed).items():
            begin = time.perf_counter()
            trials = Trials(chain, seed, TuningDatabase(Path(directory) / f"{name}.sqlite"))
            ranker = AtRandom(seed) if name == "random" else ByPrice()
            own, best, measured = best_plans(trials, request, lambda done, total: None, ranker)
            search_s = time.perf_counter() - begin
            pairs = trials.pairs(own.plan, [one.plan for one in best[:FINALISTS]], request.threads)
            ratio = 1.0 if pairs.verdict is None else min(pairs.verdict.ratio, 1.0)
            found[name] = {"gain": 1 / ratio, "seconds": search_s, "measured": measured}
    return {"case": case.name, "planning_s": planning_s, "choice_s": pairs.reference_s, "searches": found}


def table(cases: Sequence[Document]) -> list[str]:
    """Gains and seconds by case, and their geometric means."""
    rows = [["case", "choice ms", "planning s", *(f"{name} {what}" for name in SEARCHES for what in ("gain", "s"))]]
    for case in cases:
        searches = [case["searches"][name] for name in SEARCHES]
        figures = [text for one in searches for text in (f"{one['gain']:.2f}", f"{one['seconds']:.0f}")]
        rows.append([case["case"], f"{case['choice_s'] * 1e3:.3f}", f"{case['planning_s']:.2f}", *figures])
    means = [
        geometric_mean([case["searches"][name][what] for case in cases]) for name in SEARCHES for what in ("gain", "seconds")
    ]
    planning_s = geometric_mean([case["planning_s"] for case in cases])
    texts = [f"{mean:.0f}" if number % 2 else f"{mean:.2f}" for number, mean in enumerate(means)]
    rows.append(["geometric mean", "", f"{planning_s:.2f}", *texts])
    return columns(rows, right=range(1, len(rows[0])))


def report(content: Document) -> list[str]:
    """The table with its heading."""
    return ["gains over the planner's choice, and seconds of every search", "", *table(content["cases"])]


def main(arguments: list[str]) -> None:
    """Measure, save after every case, print."""
    heading = "Searches with measurements beside the planner's choice"
    cases = ",".join(shape.name for shape in TABLE_IV)
    schedule_results.study("papers.autotuners", __doc__ or "", arguments, measure_case, heading, report, cases)


if __name__ == "__main__":
    main(sys.argv[1:])
