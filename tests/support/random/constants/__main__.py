"""Try the programs of a range of seeds; of each that fails, print the smallest that fails in the same way."""

from __future__ import annotations

import logging

from tests.support.random.constants.judging import explained, outcome
from tests.support.random.constants.styles import MOST_READERS, program
from tests.support.random.onnx.shrinking import shrunk
from tests.support.sweeps import seeds_parser, swept, tried_program


def main() -> None:
    parser = seeds_parser(__doc__)
    parser.add_argument("--readers", type=int, default=MOST_READERS, help="of constants, in the largest programs")
    given = parser.parse_args()
    logging.disable(logging.INFO)
    seeds = range(given.first, given.last)
    print(swept(seeds, lambda seed, known: tried_program(program(seed, given.readers), outcome, shrunk, known, explained)))


if __name__ == "__main__":
    main()
