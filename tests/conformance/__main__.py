"""`python -m tests.conformance [PATTERN] [--all] [--table]`: run cases whose names match, and say what became of each."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time

from tests.conformance.cases import KINDS, Case, cases
from tests.conformance.outcome import COMPILED, NUMPY, UNSUPPORTED, WRONG, Outcome, outcome

COLUMNS = (COMPILED, NUMPY, UNSUPPORTED, WRONG)


def table(outcomes: dict[Case, Outcome]) -> str:
    """Markdown: a line per kind of case, a column per outcome."""
    lines = [f"| | cases | {' | '.join(COLUMNS)} |", f"|---|{'---:|' * (len(COLUMNS) + 1)}"]
    for kind in KINDS:
        results = [one.result for case, one in outcomes.items() if case.kind == kind]
        if results:
            counts = " | ".join(str(results.count(column)) for column in COLUMNS)
            lines.append(f"| {kind} | {len(results)} | {counts} |")
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("pattern", nargs="?", default="", help="a regular expression that names contain")
    parser.add_argument("--everyday", action="store_true", help="only the cases that are run at every change")
    parser.add_argument("--quiet", action="store_true", help="only what is not compiled, and the table")
    return parser.parse_args()


def main() -> int:
    """Print an outcome per case, then the table; 1 if any is wrong."""
    chosen = _arguments()
    os.environ.setdefault("TILEWRIGHT_CACHE_DIR", tempfile.mkdtemp(prefix="conformance-"))
    os.environ.setdefault("TILEWRIGHT_CALIBRATE", "0")
    outcomes: dict[Case, Outcome] = {}
    for case in cases():
        if re.search(chosen.pattern, case.name) and (case.is_everyday() or not chosen.everyday):
            start = time.perf_counter()
            outcomes[case] = found = outcome(case)
            if not (chosen.quiet and found.result == COMPILED):
                print(f"{found.result:14}{time.perf_counter() - start:7.2f} s  {case.name}  {found.reason[:300]}", flush=True)
    print(table(outcomes))
    return int(any(one.result == WRONG for one in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
