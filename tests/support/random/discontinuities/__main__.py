"""Try the programs of a range of seeds; of each that fails, print the smallest that fails in the same way."""

from __future__ import annotations

import logging
from typing import Any

from tests.support.random.discontinuities.judging import outcome
from tests.support.random.discontinuities.styles import MOST_NODES, program
from tests.support.random.onnx.shrinking import shrunk
from tests.support.sweeps import seeds_parser, swept, tried_program


def main() -> None:
    parser = seeds_parser(__doc__)
    parser.add_argument("--way", default="session", help="session, jit, rewrites, traced rewrites or algorithms")
    parser.add_argument("--nodes", type=int, default=MOST_NODES, help="of the largest programs")
    given = parser.parse_args()
    logging.disable(logging.INFO)
    seeds = range(given.first, given.last)
    smallest: Any = shrunk
    print(swept(seeds, lambda seed, known: tried_program(program(seed, given.way, given.nodes), outcome, smallest, known)))


if __name__ == "__main__":
    main()
