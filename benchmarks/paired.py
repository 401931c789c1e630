"""Measure this checkout beside another revision, case by case in turns: Table IV, attention, networks, BERT-base and ViT.

    python -m benchmarks.paired REVISION [--rounds N] [--threads N] [--only chain,attention,mlp,model]

The revision is checked out into a temporary worktree. A process of each takes turns on the same case; the ratio of a case is the
median over rounds of this checkout's time divided by the revision's. They share an empty cache, and so one calibration.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import IO, Any

ROOT = Path(__file__).parents[1]
MODELS = {"bert_128": "bert", "vit": "vit"}
SLOWER = 1.03
"""A case is named where its ratio is above this."""


@dataclass(frozen=True, slots=True)
class Side:
    """A revision's process."""

    process: subprocess.Popen[str]
    orders: IO[str]
    answers: IO[str]

    def ask(self, **order: Any) -> Any:
        """The answer to an order; raises `RuntimeError` if the process has ended."""
        self.orders.write(json.dumps(order) + "\n")
        self.orders.flush()
        line = self.answers.readline()
        if not line:
            raise RuntimeError("a measuring process has ended")
        return json.loads(line)


def main() -> None:
    """Measure and print a line per case, and the geometric mean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="chain,attention,mlp,model")
    given = parser.parse_args()
    with TemporaryDirectory() as directory, _worktree(given.revision, Path(directory) / "revision") as before:
        models = _exported(Path(directory)) if "model" in given.only else []
        sides = [_started(root, Path(directory) / "cache") for root in (before, ROOT)]
        names = [name for name in (*_names(), *models) if name.partition(":")[0] in given.only.split(",")]
        ratios = {name: _ratio(sides, name, given.rounds, given.threads) for name in names}
    _print_summary(ratios)


def _ratio(sides: Sequence[Side], name: str, rounds: int, threads: int) -> float:
    """This checkout's time of a case divided by the revision's."""
    for side in sides:
        side.ask(prepare=name, threads=threads)
    pairs: list[tuple[float, float]] = []
    for number in range(rounds):
        order = (0, 1) if number % 2 else (1, 0)
        times = {side: sides[side].ask(measure=True) for side in order}
        pairs.append((times[0], times[1]))
    ratio = median(new / old for old, new in pairs)
    print(f"{name:44} {median(old for old, _ in pairs) * 1e3:10.3f} ms {ratio:8.3f}", flush=True)
    return ratio


def _print_summary(ratios: dict[str, float]) -> None:
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    slower = {name: round(ratio, 3) for name, ratio in ratios.items() if ratio > SLOWER}
    print(f"{len(ratios)} cases, geometric mean {mean:.4f}; slower by more than 3%: {slower or 'none'}")


@contextmanager
def _worktree(revision: str, directory: Path) -> Iterator[Path]:
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--detach", str(directory), revision], check=True, capture_output=True)
    try:
        yield directory
    finally:
        subprocess.run([*git, "remove", "--force", str(directory)], check=True, capture_output=True)


def _started(root: Path, cache: Path) -> Side:
    path = os.pathsep.join([str(root / "src"), str(root)])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TILEWRIGHT_")}
    environment |= {"PYTHONPATH": path, "TILEWRIGHT_CACHE_DIR": str(cache)}
    command = [sys.executable, __file__, "--serve"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=root)
    assert process.stdin is not None
    assert process.stdout is not None
    return Side(process, process.stdin, process.stdout)


def _exported(directory: Path) -> list[str]:
    """The names of the model cases, whose files both processes read."""
    from benchmarks.onnx_models.cases import make
    from benchmarks.onnx_models.exporting import export

    for name, kind in MODELS.items():
        export(make(kind, small=False), directory / f"{name}.onnx", exporter="torchscript")
    return [f"model:{directory / name}.onnx" for name in MODELS]


def _names() -> Iterator[str]:
    """Of all cases that need no file."""
    from tilewright.cli import attention_shapes, mlp_shapes

    yield from (f"chain:G{number}:{kind}" for kind in ("plain", "softmax") for number in range(1, 13))
    yield from (f"attention:{shape.name}" for shape in attention_shapes.SHAPES)
    yield from (f"mlp:{shape.name}" for shape in mlp_shapes.SHAPES)


def _prepared(name: str, threads: int) -> Any:
    """The contender of a case, after its first call."""
    from tilewright.cli.bench import attention, chains, mlp, models
    from tilewright.cli.bench.attention_cases import attention_cases
    from tilewright.cli.bench.contender import OWN
    from tilewright.cli.bench.mlp_cases import mlp_cases
    from tilewright.cli.bench.model_case import ModelCase

    kind, _, rest = name.partition(":")
    own: Any
    case: Any
    if kind == "chain":
        shape, _, variant = rest.partition(":")
        own, (case,) = chains.CHAINS.own, chains.chain_cases([shape], variant, (False,))
    elif kind == "attention":
        own, (case,) = attention.ATTENTION.own, attention_cases([rest])
    elif kind == "mlp":
        own, (case,) = mlp.MLP.own, mlp_cases([rest])
    else:
        own, case = models.MODELS.own, ModelCase(Path(rest))
    contender = next(one for one in own.prepare(case, threads) if one.name == OWN)
    contender.call()
    return contender


def serve() -> None:
    """Follow orders from stdin: prepare a case, measure a turn of it."""
    contender: Any = None
    for line in sys.stdin:
        order = json.loads(line)
        if "prepare" in order:
            contender = _prepared(order["prepare"], order["threads"])
        print(json.dumps(contender.seconds() if "measure" in order else None), flush=True)


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["--serve"] else main()
