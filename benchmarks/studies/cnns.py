"""Published convolutional networks, whole: times beside libraries, predictions and floors, planning, and memory of processes.

    python -m benchmarks.studies.cnns --models resnet18,vgg16 --json part.json [--known part.json] [--threads N] [--parts times]
    python -m benchmarks.studies.cnns --models "" --known part.json --publish [--name cnns]

The networks are those of `benchmarks/onnx_models/published.py`, traced by torch (opset 17), held against float64, and those of
`tilewright_bench.networks`, whose names begin with built_, held against onnxruntime; batch 1, random weights. A run can be short:
what `--known` files have is kept and not measured again, and `--json` is written after every model. *Times*: our sessions and the
libraries take turns in one process, results checked against float64; medians over the rounds. *Memory*: processes of their own
and of one thread, without measured peers. Peaks are high-water marks of resident memory after making a session and running it
once, less that of a process that only imports. Cold sessions find a calibration and nothing else. Linux only.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import tilewright.onnx as ort
from benchmarks.onnx_models.cases import make
from benchmarks.onnx_models.exporting import export
from benchmarks.onnx_models.published import NETWORKS
from benchmarks.studies import models
from benchmarks.studies.models import ExportedCase
from benchmarks.studies.parts import session
from benchmarks.studies.parts.cnn_tables import tables
from benchmarks.studies.parts.command_line import earlier, names_of
from benchmarks.studies.parts.publishing import RESULTS, slug
from benchmarks.studies.sessions import fresh
from benchmarks.studies.start_up import bare
from tilewright import settings
from tilewright_bench.benchmarks import MODELS as OF_FILES
from tilewright_bench.cases.case import DoubleArray
from tilewright_bench.cases.model import ModelCase, joined
from tilewright_bench.environment import restart_if_unfair
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender, Peer
from tilewright_bench.networks import named as built
from tilewright_bench.run import Benchmark, Settings
from tilewright_bench.run import measured as benchmarked
from tilewright_bench.tables.predictions import predicted

Document = dict[str, Any]
FAST = f"{TILEWRIGHT} fast"
BUILT = {f"built_{name}": network for name, network in built.NETWORKS.items()}
NAMES = (*NETWORKS, *BUILT)


class BuiltCase(ModelCase):
    """A network of `tilewright_bench.networks`, which its file is named after."""

    @cached_property
    def reference(self) -> list[DoubleArray]:
        """The outputs, by onnxruntime."""
        import onnxruntime

        session = onnxruntime.InferenceSession(str(self.path), providers=["CPUExecutionProvider"])
        return [np.asarray(output, np.float64) for output in session.run(None, self.feeds)]


def prepare(case: ModelCase, threads: int) -> Iterator[Contender]:
    """Our sessions, of the default precision and of `fast`."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    yield _contender(TILEWRIGHT, case, ort.InferenceSession(case.path, options))
    yield _contender(FAST, case, ort.InferenceSession(case.path, options, precision="fast"))


def _contender(name: str, case: ModelCase, session: Any) -> Contender:
    last: list[Any] = []

    def call() -> None:
        last[:] = session.run(None, case.feeds)

    return Contender(name, call, lambda: joined(last))


def _only(name: str) -> Callable[[ExportedCase, int], Iterator[Contender]]:
    """One of torch's two contenders."""
    return lambda case, threads: (each for each in models.prepare(case, threads) if each.name == name)


TORCH = {
    name: Peer(name, ("torch",), _only(name), note)
    for name, note in (("torch", "eager, no gradients"), ("torch.compile", "Inductor with frozen weights, no gradients"))
}
OWN = Peer(TILEWRIGHT, (), prepare, "session.run(None, feeds), by default and with precision fast", may_fail=False)
BENCHMARK: Benchmark[Any] = Benchmark("cnns", OWN, {**OF_FILES.peers, **TORCH})
FILES_ONLY: Benchmark[Any] = Benchmark("cnns", OWN, OF_FILES.peers)
"""Of networks that torch has no module of."""


def _without_torch(peers: tuple[str, ...] | None) -> tuple[str, ...] | None:
    return None if peers is None else tuple(name for name in peers if name not in TORCH)


def case_of(name: str, directory: Path, small: bool) -> ModelCase:
    """The network's file, made where the directory has none."""
    directory.mkdir(parents=True, exist_ok=True)
    if name in BUILT:
        path = directory / f"{name}.onnx"
        if not path.exists():
            path.write_bytes(BUILT[name].model(small=small))
        return BuiltCase(path)
    case = ExportedCase(directory / f"{name}.onnx", small=small)
    if not case.path.exists():
        export(make(name, small=small), case.path, exporter="torchscript")
    return case


def times(case: ModelCase, options: argparse.Namespace) -> Document:
    """Of everyone, with predictions and floors. Raises `TilewrightError` for a peer that is not installed."""
    benchmark, peers = (
        (BENCHMARK, options.peers) if isinstance(case, ExportedCase) else (FILES_ONLY, _without_torch(options.peers))
    )
    report = benchmarked(benchmark, [case], Settings(peers, options.threads, options.rounds))
    (result,) = report.results
    prediction = dataclasses.asdict(predicted(case)) if options.threads == 1 else None
    return {"prediction": prediction, "head": report.provenance.lines(), **dataclasses.asdict(result)}


def memory(case: ModelCase, options: argparse.Namespace) -> Document:
    """Seconds of planning and of a cold session, and bytes: each in a process of its own."""
    cache = Path(tempfile.mkdtemp(prefix="tilewright-cnns-"))
    try:
        shutil.copytree(settings.current().cache_dir / "calibration", cache / "calibration")
        cold = fresh(session.creation, case, cache)
        own, peer = (fresh(part, case, cache)["peak"] for part in (session.own_memory, session.peer_memory))
        fresh(session.fast_memory, case, cache)
        fast = fresh(session.fast_memory, case, cache)["peak"]
        bare(cache)
        planned = fresh(session.planning, case, cache)
        own_imports, peer_imports = (fresh(part, case, cache)["peak"] for part in (session.own_imports, session.peer_imports))
        arena = fresh(session.arena, case, cache)
    finally:
        shutil.rmtree(cache)
    return {
        "cold_s": cold["creation"],
        "cold_bytes": cold["peak"] - own_imports,
        "planning_s": planned["import"] + planned["planning"],
        "own_bytes": own - own_imports,
        "fast_bytes": fast - own_imports,
        "onnxruntime_bytes": peer - peer_imports,
        "file_bytes": case.path.stat().st_size,
        **arena,
    }


PARTS: Mapping[str, Callable[[ModelCase, argparse.Namespace], Document]] = {"times": times, "memory": memory}


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.cnns", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", type=names_of(dict.fromkeys(NAMES)), default=NAMES, help=f"of {', '.join(NAMES)}")
    parser.add_argument("--peers", type=names_of(BENCHMARK.peers), default=None, help="by default those installed")
    parser.add_argument("--parts", type=names_of(PARTS), default=tuple(PARTS), help="times, memory, or both")
    parser.add_argument("--directory", type=Path, default=Path(tempfile.gettempdir(), "tilewright-cnns"), help="of the files")
    parser.add_argument("--json", type=Path, help="where what is known is written")
    parser.add_argument("--known", type=Path, nargs="*", default=[], help="earlier JSON files of the same number of threads")
    for name, default in (("threads", 1), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--small", action="store_true", help="small forms, for tests")
    parser.add_argument("--publish", action="store_true", help="write the tables into benchmarks/results")
    parser.add_argument("--name", default="cnns", help="what the files of results are called")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    """Measure what is not known, and print, save or publish all of it."""
    options = parse(arguments)
    restart_if_unfair(options.threads)
    found = earlier(options.known)
    for name in options.models:
        case, of_model = case_of(name, options.directory, options.small), found.setdefault(name, {})
        for part in options.parts:
            if part not in of_model:
                of_model[part] = json.loads(json.dumps(PARTS[part](case, options)))
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n")
    lines = tables({name: found[name] for name in NAMES if name in found}, options.threads)
    print("\n".join(lines))
    if options.publish:
        publish(found, lines, options)


def publish(found: Mapping[str, Document], lines: Sequence[str], options: argparse.Namespace, directory: Path = RESULTS) -> None:
    """Write `<date>-<name>-<machine>.md` and `.json`."""
    machine = next(parts["times"]["head"][0].partition(",")[0] for parts in found.values() if "times" in parts)
    named = options.name if options.threads == 1 else f"{options.name}-{options.threads}-threads"
    stem = f"{datetime.date.today().isoformat()}-{named}-{slug(machine)}"
    (directory / f"{stem}.md").write_text("\n".join(["# Whole CNNs", "", "```text", *lines, "```"]) + "\n")
    (directory / f"{stem}.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
