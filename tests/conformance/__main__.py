"""`python -m tests.conformance [PATTERN] [--everyday] [--quiet] [--table]`: run cases and say what became of each."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.conformance.cases import Case, cases
from tests.conformance.outcome import COMPILED, WRONG, Outcome, outcome
from tests.conformance.report import PAGE, README, page, table, with_table


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("pattern", nargs="?", default="", help="a regular expression that names contain")
    parser.add_argument("--everyday", action="store_true", help="only the cases that are run at every change")
    parser.add_argument("--jobs", type=int, default=1, help="processes that run cases")
    parser.add_argument("--quiet", action="store_true", help="only what is not compiled, and the table")
    parser.add_argument("--table", action="store_true", help=f"run all cases, write {PAGE.name} and the table of {README.name}")
    return parser.parse_args()


def _timed(number: int) -> tuple[Outcome, float]:
    start = time.perf_counter()
    return outcome(cases()[number]), time.perf_counter() - start


def _run(chosen: argparse.Namespace) -> dict[Case, Outcome]:
    wanted = [
        number
        for number, case in enumerate(cases())
        if chosen.table or (re.search(chosen.pattern, case.name) and (case.is_everyday() or not chosen.everyday))
    ]
    outcomes: dict[Case, Outcome] = {}
    with ProcessPoolExecutor(chosen.jobs, get_context("fork")) as pool:
        for number, (found, seconds) in zip(wanted, pool.map(_timed, wanted), strict=True):
            case = cases()[number]
            outcomes[case] = found
            if not (chosen.quiet and found.result == COMPILED):
                told = found.reason[:300] or ", ".join(found.numpy_operators)
                print(f"{found.result:14}{seconds:7.2f} s  {case.name}  {told}", flush=True)
    return outcomes


def main() -> int:
    """Print an outcome per case, then the table; 1 if any is wrong."""
    chosen = _arguments()
    os.environ.setdefault("TILEWRIGHT_CACHE_DIR", tempfile.mkdtemp(prefix="conformance-"))
    os.environ.setdefault("TILEWRIGHT_CALIBRATE", "0")
    outcomes = _run(chosen)
    print(table(outcomes))
    if chosen.table:
        PAGE.write_text(page(outcomes))
        README.write_text(with_table(README.read_text(), outcomes))
    return int(any(one.result == WRONG for one in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
