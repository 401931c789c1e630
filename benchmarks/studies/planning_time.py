"""How long planning takes, rewrites included, and what it does: seconds and counts of each case; also beside another revision.

    python -m benchmarks.studies.planning_time [--against REVISION] [--rounds N] [--only TEXT,TEXT] [--target NAME]

Cases: deep and wide MLPs, pairs of convolutions (Chimera's table V), attention, and models whose files are exported first.
Seconds are the least of several rounds, the revisions in turns; nothing is remembered from planning to planning.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from statistics import geometric_mean
from string import ascii_letters
from tempfile import TemporaryDirectory

from benchmarks.studies.parts.planning_side import CASES
from benchmarks.studies.parts.revisions import ROOT, Side, started, worktree
from tests.plan.cases import contraction, elementwise
from tests.support.operators import graph_of
from tilewright.graph.types import Extent, Graph, Operator

SIDE = Path(__file__).parent / "parts" / "planning_side.py"
MODELS = ("bert", "resnet50", "mobilenet_v2", "densenet_121")


def main() -> None:
    """Print a line per case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default="", metavar="REVISION", help="plan with the code of this revision, too, in turns")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose names have one of these texts")
    parser.add_argument("--target", default="cascadelake-6240", help="a named machine; default: %(default)s")
    given = parser.parse_args()
    with ExitStack() as open_now:
        directory = Path(open_now.enter_context(TemporaryDirectory()))
        roots = [open_now.enter_context(worktree(given.against, directory / "revision"))] if given.against else []
        sides = [started(SIDE, root, directory / "cache") for root in (*roots, ROOT)]
        every = (*CASES, *(f"model: {model}" for model in MODELS))
        names = [name for name in every if _is_wanted(name, given.only)]
        if not names:
            parser.error(f"no case has one of these texts: {given.only}; cases: {', '.join(every)}")
        ratios = [_report(sides, name, directory, given.rounds, given.target) for name in names]
    if given.against:
        print(f"{len(ratios)} cases, geometric mean {geometric_mean(ratios):.3f}")


def _is_wanted(name: str, only: str) -> bool:
    return any(text in name for text in only.split(","))


def _report(sides: Sequence[Side], name: str, directory: Path, rounds: int, target: str) -> float:
    """Plan a case on all sides in turns, print the figures, and return this checkout's time divided by the revision's."""
    for side in sides:
        side.ask(case=_exported(name, directory))
    answers = [[side.ask(target=target) for side in sides] for _ in range(rounds)]
    least = [min(answer["seconds"] for answer in of_side) for of_side in zip(*answers, strict=True)]
    counts = answers[0][-1]["counts"]
    times = "".join(f"{1e3 * seconds:9.1f} ms" for seconds in least)
    print(f"{name:34}{times}{least[-1] / least[0]:8.3f}  ", ", ".join(f"{n} {kind}" for kind, n in counts.items()), flush=True)
    return float(least[-1] / least[0])


def _exported(name: str, directory: Path) -> str:
    """The name of a case; of a model that of its file, written before."""
    kind, _, model = name.partition(": ")
    if kind != "model":
        return name
    from benchmarks.onnx_models.cases import make
    from benchmarks.onnx_models.exporting import export

    path = directory / f"{model}.onnx"
    export(make(model), path, exporter="torchscript")
    return f"model: {path}"


def mlp(rows: int, widths: tuple[int, ...]) -> Graph:
    """Products with relu between them."""
    letters = "".join(letter for letter in ascii_letters if letter != "m")[: len(widths)]
    extents: dict[str, Extent] = {"m": rows, **dict(zip(letters, widths, strict=True))}
    operators: list[Operator] = []
    read = "X"
    for i, (inner, outer) in enumerate(pairwise(letters)):
        operators.append(contraction(f"Y{i}", f"m{inner},{inner}{outer}->m{outer}", (read, f"W{i}"), extents))
        read = f"Y{i}"
        if i < len(widths) - 2:
            operators.append(elementwise(f"R{i}", f"m{outer}", [(read, f"m{outer}")], extents))
            read = f"R{i}"
    return graph_of(operators)


if __name__ == "__main__":
    main()
