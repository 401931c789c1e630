"""Try the programs of a range of seeds; of each that fails, print the smallest that fails in the same way."""

from __future__ import annotations

from tests.support.random.extremes.growing import MOST_STEPS, program
from tests.support.random.extremes.judging import outcome
from tests.support.random.extremes.shrinking import shrunk
from tests.support.sweeps import seeds_parser, swept, tried_program


def main() -> None:
    parser = seeds_parser(__doc__)
    parser.add_argument("--steps", type=int, default=MOST_STEPS, help="of the deepest programs, and operands of the widest")
    given = parser.parse_args()
    seeds = range(given.first, given.last)
    print(swept(seeds, lambda seed, known: tried_program(program(seed, given.steps), outcome, shrunk, known)))


if __name__ == "__main__":
    main()
