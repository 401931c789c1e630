"""Try the programs of a range of seeds; of each that fails, print the smallest that fails in the same way."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Collection
from pathlib import Path

import onnx

from tests.support.random_onnx.judging import explained, outcome
from tests.support.random_onnx.program import Program
from tests.support.random_onnx.shrinking import shrunk
from tests.support.random_onnx.styles import MOST_NODES, program
from tests.support.sweeps import Outcome, judged_in_child, swept


def tried(seed: int, most_nodes: int = MOST_NODES, known: Collection[str] = ()) -> tuple[Outcome, str]:
    """The outcome of a seed's program, and if it failed, the text of the smallest program that fails in the same way."""
    whole = program(seed, most_nodes)
    found = _apart(whole)
    if not found.is_failure:
        return found, ""
    smallest = shrunk(whole, found.cause, _apart) if found.cause not in known else whole
    return explained(smallest, _apart(smallest))


def _apart(one: Program) -> Outcome:
    return judged_in_child(lambda: outcome(one))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int, help="exclusive")
    parser.add_argument("--nodes", type=int, default=MOST_NODES, help="of the largest graphs")
    parser.add_argument("--save", type=Path, help="write the model of the first seed here, and stop")
    given = parser.parse_args()
    logging.disable(logging.INFO)
    if given.save:
        onnx.save(program(given.first, given.nodes).model(), given.save)
        return
    seeds = range(given.first, given.last)
    print(swept(seeds, lambda seed, known: tried(seed, given.nodes, known)))


if __name__ == "__main__":
    main()
