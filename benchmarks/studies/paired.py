"""Measure this checkout beside another revision, case by case in turns: Table IV, attention, networks, models.

    python -m benchmarks.studies.paired REVISION [--rounds N] [--threads N] [--only chain,attention,mlp,conv-chain,model,cnn]

The revision is checked out into a temporary worktree. A process of each takes turns on the same case; the ratio of a case is the
median over rounds of this checkout's time divided by the revision's. Cases that the revision does not have are left out. They
share an empty cache, and so one calibration.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from tempfile import TemporaryDirectory

from benchmarks.studies.parts.revisions import ROOT, Side, started, worktree
from tilewright.tune.timing import pair
from tilewright_bench.named import case_names

SIDE = Path(__file__).parent / "parts" / "paired_side.py"
MODELS = {
    "bert_128": ("model", "bert"),
    "vit": ("model", "vit"),
    "resnet50": ("cnn", "resnet50"),
    "mobilenet_v2": ("cnn", "mobilenet_v2"),
}
"""By the name of a file: the kind of its cases, and the model in it."""
SLOWER = 1.03
"""A case is named where its ratio is above this."""


def main() -> None:
    """Measure and print a line per case, and the geometric mean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="chain,attention,mlp,conv-chain,model,cnn")
    given = parser.parse_args()
    with TemporaryDirectory() as directory, worktree(given.revision, Path(directory) / "revision") as before:
        kinds = given.only.split(",")
        sides = [started(SIDE, root, Path(directory) / "cache") for root in (before, ROOT)]
        names = [name for name in case_names() if name.partition(":")[0] in kinds]
        every = {name: name.partition(":")[0] for name in names} | _exported(Path(directory), kinds)
        cases = {name: kind for name, kind in every.items() if all(side.ask(knows=name) for side in sides)}
        ratios = {name: _ratio(sides, name, given.rounds, given.threads) for name in cases}
    _print_summary({kind: {name: ratios[name] for name in cases if cases[name] == kind} for kind in kinds})


def _ratio(sides: Sequence[Side], name: str, rounds: int, threads: int) -> float:
    """This checkout's time of a case divided by the revision's."""
    for side in sides:
        side.ask(prepare=name, threads=threads)
    before, after = (partial(side.ask, measure=True) for side in sides)
    pairs = [pair(before, after, number) for number in range(rounds)]
    ratio = median(new / old for old, new in pairs)
    print(f"{name:44} {median(old for old, _ in pairs) * 1e3:10.3f} ms {ratio:8.3f}", flush=True)
    return ratio


def _print_summary(ratios: Mapping[str, Mapping[str, float]]) -> None:
    """The geometric mean of every kind of cases and of all, and the cases that became slower."""
    everything = {name: ratio for of_kind in ratios.values() for name, ratio in of_kind.items()}
    for kind, of_kind in (*ratios.items(), ("all", everything)):
        mean = f", geometric mean {geometric_mean(of_kind.values()):.4f}" if of_kind else ""
        print(f"{kind}: {len(of_kind)} cases{mean}")
    slower = {name: round(ratio, 3) for name, ratio in everything.items() if ratio > SLOWER}
    print(f"slower by more than 3%: {slower or 'none'}")


def _exported(directory: Path, kinds: Sequence[str]) -> dict[str, str]:
    """The names of the model cases of some kinds, whose files both processes read, each with its kind."""
    from benchmarks.onnx_models.cases import make
    from benchmarks.onnx_models.exporting import export

    chosen = {name: (kind, model) for name, (kind, model) in MODELS.items() if kind in kinds}
    for name, (_, model) in chosen.items():
        export(make(model, small=False), directory / f"{name}.onnx", exporter="torchscript")
    return {f"model:{directory / name}.onnx": kind for name, (kind, _) in chosen.items()}


if __name__ == "__main__":
    main()
