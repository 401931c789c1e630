"""Try the programs of a range of seeds; of each that fails, print the smallest that fails in the same way."""

from __future__ import annotations

import argparse
from collections.abc import Collection

from tests.support.random_jit.judging import outcome
from tests.support.random_jit.program import Program
from tests.support.random_jit.shrinking import shrunk
from tests.support.random_jit.styles import MOST_LINES, program
from tests.support.sweeps import Outcome, judged_in_child, swept


def tried(seed: int, most_lines: int = MOST_LINES, known: Collection[str] = ()) -> tuple[Outcome, str]:
    """The outcome of a seed's program, and if it failed, the text of the smallest program that fails in the same way."""
    whole = program(seed, most_lines)
    found = _apart(whole)
    if not found.is_failure:
        return found, ""
    smallest = shrunk(whole, found.cause, _apart) if found.cause not in known else whole
    found = _apart(smallest)
    return found, f"{found.kind}: {found.reason.partition(chr(10))[0]}\n{smallest.text()}"


def _apart(one: Program) -> Outcome:
    return judged_in_child(lambda: outcome(one))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int, help="exclusive")
    parser.add_argument("--lines", type=int, default=MOST_LINES, help="of the longest programs")
    given = parser.parse_args()
    print(swept(range(given.first, given.last), lambda seed, known: tried(seed, given.lines, known)))


if __name__ == "__main__":
    main()
