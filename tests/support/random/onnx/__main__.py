"""Try the programs of a range of seeds; of each that fails, print the smallest that fails in the same way."""

from __future__ import annotations

import logging
from pathlib import Path

import onnx
from tests.support.random.onnx.judging import explained, outcome
from tests.support.random.onnx.shrinking import shrunk
from tests.support.random.onnx.styles import ENDS, MOST_NODES, STYLES, program
from tests.support.sweeps import seeds_parser, swept, tried_program


def main() -> None:
    parser = seeds_parser(__doc__)
    parser.add_argument("--nodes", type=int, default=MOST_NODES, help="of the largest graphs")
    parser.add_argument("--save", type=Path, help="write the model of the first seed here, and stop")
    parser.add_argument("--ends", action="store_true", help="what follows detectors and language models")
    given = parser.parse_args()
    styles = ENDS if given.ends else STYLES
    logging.disable(logging.INFO)
    if given.save:
        onnx.save(program(given.first, given.nodes, styles).model(), given.save)
        return
    seeds = range(given.first, given.last)
    print(swept(seeds, lambda seed, known: tried_program(program(seed, given.nodes, styles), outcome, shrunk, known, explained)))


if __name__ == "__main__":
    main()
