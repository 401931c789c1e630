"""Try the programs of a range of seeds, many at once; of each that fails, print the smallest that fails in the same way."""

from __future__ import annotations

import logging

from tests.support.random.exact import casts, positions
from tests.support.random.exact.judging import Judge, by_reference, compiled, interpreted, told
from tests.support.sweeps import seeds_parser

PROGRAMS = {"casts": casts.program, "positions": positions.program}
AT_ONCE = 25
"""Programs in one graph."""


def main() -> None:
    parser = seeds_parser(__doc__)
    parser.add_argument("--kind", choices=[*PROGRAMS], default="casts")
    parser.add_argument("--target", help="compile for it; without one, the rewritten graphs are interpreted")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="programs in one graph")
    given = parser.parse_args()
    logging.disable(logging.INFO)
    judges: list[Judge] = [compiled(given.target)] if given.target else [by_reference, interpreted]
    failed = 0
    for first in range(given.first, given.last, given.at_once):
        programs = [PROGRAMS[given.kind](seed) for seed in range(first, min(first + given.at_once, given.last))]
        for judge in judges:
            text, count = told(programs, judge)
            failed += count
            if text:
                print(text, flush=True)
    print(f"{given.last - given.first} programs, {failed} failures")


if __name__ == "__main__":
    main()
