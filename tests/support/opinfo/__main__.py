"""Try the samples of a range of seeds; of each that fails, print the smallest program that fails in the same way."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Collection, Iterable
from pathlib import Path

from tests.support.opinfo.exporting import exported, load_exporters, operator_name, operators
from tests.support.opinfo.sample import Sample, Skipped
from tests.support.opinfo.stored import content, file_name
from tests.support.random.onnx.judging import explained, outcome
from tests.support.random.onnx.program import Program
from tests.support.random.onnx.shrinking import shrunk
from tests.support.sweeps import EQUAL, SKIPPED, Crashed, Outcome, in_child, judged_in_child, seeds_parser, swept, tried_program

MOST_STORED = 100
MOST_STORED_BYTES = 8192
"""Of one sample."""


def tried(seed: int, known: Collection[str] = (), *, is_quick: bool = False) -> tuple[Outcome, str]:
    """The outcome of a seed's sample, and if it failed, the text of the smallest program that fails in the same way."""
    found = _sample(seed, is_quick=is_quick)
    if isinstance(found, Outcome):
        return found, ""
    return tried_program(found[1], outcome, shrunk, known, explained)


def _sample(seed: int, *, is_quick: bool = False) -> tuple[Sample, Program] | Outcome:
    """The sample of a seed, made in a process of its own; an outcome where there is none."""
    operators()
    if not is_quick:
        load_exporters()
    try:
        found = in_child(lambda: _sample_or_reason(seed, is_quick=is_quick))
    except Crashed as problem:
        return Outcome(SKIPPED, f"torch, its exporters or onnxruntime: {problem}")
    return Outcome(SKIPPED, found) if isinstance(found, str) else found


def _sample_or_reason(seed: int, *, is_quick: bool) -> tuple[Sample, Program] | str:
    try:
        sample = exported(seed, is_quick=is_quick)
        return sample, sample.program()
    except Skipped as problem:
        return str(problem)


def _is_right(program: Program) -> bool:
    return judged_in_child(lambda: outcome(program)).kind == EQUAL


def store(numbers: Iterable[int], folder: Path) -> None:
    """Write small samples whose results are right, one of every operator, until there are enough."""
    folder.mkdir(exist_ok=True)
    stored: set[str] = set()
    for seed in numbers:
        found = _sample(seed)
        if isinstance(found, Outcome):
            continue
        sample, program = found
        operator, _, _ = sample.name.partition(" of ")
        is_new = operator not in stored and len(content(sample)) <= MOST_STORED_BYTES
        if is_new and _is_right(program):
            (folder / file_name(sample)).write_bytes(content(sample))
            stored.add(operator)
        if len(stored) == MOST_STORED:
            break
    print(f"{len(stored)} samples in {folder}")


def main() -> None:
    parser = seeds_parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="only what the exporter takes that takes milliseconds")
    parser.add_argument("--store", type=Path, metavar="FOLDER", help=f"write {MOST_STORED} samples that are right here, and stop")
    parser.add_argument("--only", default="", metavar="PATTERN", help="a regular expression that names of operators contain")
    given = parser.parse_args()
    logging.disable(logging.INFO)
    warnings.simplefilter("ignore")
    seeds = [seed for seed in range(given.first, given.last) if re.search(given.only, operator_name(seed))]
    if given.store:
        store(seeds, given.store)
        return
    print(swept(seeds, lambda seed, known: tried(seed, known, is_quick=given.quick)))


if __name__ == "__main__":
    main()
