"""Try the convolutions of a range of seeds; of each that fails, print the smallest that fails in the same way."""

from __future__ import annotations

import logging
from dataclasses import replace

from tests.support.random.convolutions.drawing import STYLES, program
from tests.support.random.convolutions.judging import outcome, shrunk
from tests.support.random.convolutions.program import Convolution
from tests.support.sweeps import seeds_parser, swept, tried_program


def main() -> None:
    parser = seeds_parser(__doc__)
    parser.add_argument("--algorithm", help="that is taken where it applies")
    parser.add_argument("--styles", type=lambda text: text.split(","), default=STYLES, help=f"of {', '.join(STYLES)}")
    given = parser.parse_args()
    logging.disable(logging.INFO)
    seeds = range(given.first, given.last)

    def of_seed(seed: int) -> Convolution:
        found = program(seed, given.styles)
        return found if given.algorithm is None else replace(found, algorithm=given.algorithm)

    print(swept(seeds, lambda seed, known: tried_program(of_seed(seed), outcome, shrunk, known)))


if __name__ == "__main__":
    main()
