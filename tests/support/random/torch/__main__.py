"""Random programs of PyTorch, as Python text, under torch.compile with the backend "tilewright", against eager mode.

`values` are tensors of all types, values and layouts, `program` a module with its calls and the changes between these, `growing`
how it gets another line, `pointwise`, `views`, `writes`, `rows`, `layers` and `positions` which lines there are, `rounding` how
far other roundings move results, `judging` compares, `shrinking` finds the smallest program that fails.
`python -m tests.support.random.torch 0 100` tries a hundred, and prints of each that fails the smallest that fails so, too.
"""

from __future__ import annotations

import logging
import warnings

import torch

from tests.support.random.torch.judging import outcome
from tests.support.random.torch.shrinking import shrunk
from tests.support.random.torch.styles import MOST_LINES, program
from tests.support.sweeps import in_child, seeds_parser, swept, tried_program


def warm_up() -> None:
    """Import what compiles, once for all children."""
    torch.set_num_threads(1)
    torch.compile(lambda x: x.sin() + 1, backend="aot_eager")(torch.ones(3))


def main() -> None:
    parser = seeds_parser(__doc__)
    parser.add_argument("--lines", type=int, default=MOST_LINES, help="of the longest programs")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    warm_up()
    seeds = range(given.first, given.last)
    print(swept(seeds, lambda seed, known: tried_program(in_child(lambda: program(seed, given.lines)), outcome, shrunk, known)))


if __name__ == "__main__":
    main()
