"""Try the programs of a range of seeds; of each that fails, print the smallest that fails in the same way."""

from __future__ import annotations

from tests.support.random.jit.judging import outcome
from tests.support.random.jit.shrinking import shrunk
from tests.support.random.jit.styles import MOST_LINES, program
from tests.support.sweeps import seeds_parser, swept, tried_program


def main() -> None:
    parser = seeds_parser(__doc__)
    parser.add_argument("--lines", type=int, default=MOST_LINES, help="of the longest programs")
    given = parser.parse_args()
    seeds = range(given.first, given.last)
    print(swept(seeds, lambda seed, known: tried_program(program(seed, given.lines), outcome, shrunk, known)))


if __name__ == "__main__":
    main()
