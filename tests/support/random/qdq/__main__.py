"""Try the programs of quantised layers of a range of seeds; of each that fails, print what leads to one wrong result."""

from __future__ import annotations

import logging

from tests.support.random.qdq.judging import outcome, shrunk
from tests.support.random.qdq.styles import MOST_LAYERS, program
from tests.support.sweeps import seeds_parser, swept, tried_program


def main() -> None:
    parser = seeds_parser(__doc__)
    parser.add_argument("--layers", type=int, default=MOST_LAYERS, help="of the largest programs")
    given = parser.parse_args()
    logging.disable(logging.INFO)
    seeds = range(given.first, given.last)
    print(swept(seeds, lambda seed, known: tried_program(program(seed, given.layers), outcome, shrunk, known)))


if __name__ == "__main__":
    main()
