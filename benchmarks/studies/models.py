"""Measure whole models and write the results beside the earlier ones.

    python -m benchmarks.studies.models [--models bert_128,vit] [--directory DIR] [--peers ...] [--threads N] [--repeats N] ...

The models are those of benchmarks/onnx_models with random weights: exported once, into a temporary directory or into one that
stays, where files that are there already are taken. Besides the peers of `tilewright bench model` there is PyTorch on the module
that was exported, eager and compiled, whose result in float64 is the reference.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from benchmarks.onnx_models.cases import LARGER, MODELS, PUBLISHED, make
from benchmarks.onnx_models.exporting import export
from benchmarks.studies.parts.command_line import names_of
from benchmarks.studies.parts.publishing import RESULTS, publish
from tilewright_bench.benchmarks import MODELS as OF_FILES
from tilewright_bench.cases.case import DoubleArray
from tilewright_bench.cases.model import ModelCase, joined
from tilewright_bench.cases.required import NOTHING, Required
from tilewright_bench.environment import restart_if_unfair
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.model_report import model_report
from tilewright_bench.peers.torch import compilation as torch_compile
from tilewright_bench.run import Benchmark, Settings

ALIASES = {"bert_128": "bert"}
REQUIRED = {name: Required(ratio=1.0) for name in ("bert_128", "bert_512", "vit")}
DEFAULT = (*REQUIRED, "resnet50", "mobilenet_v2", "gpt2")


@dataclass(frozen=True)
class ExportedCase(ModelCase):
    """A model of benchmarks/onnx_models, which its file is named after."""

    small: bool = False

    @cached_property
    def made(self) -> Any:
        """The module with its operands."""
        return make(ALIASES.get(self.name, self.name), small=self.small)

    @cached_property
    def feeds(self) -> dict[str, Any]:
        """The operands that it was exported with."""
        feeds: dict[str, Any] = self.made.feeds()
        return feeds

    @cached_property
    def reference(self) -> list[DoubleArray]:
        """What torch computes in float64."""
        return [np.asarray(one, np.float64) for one in self.made.in_float64()]


def prepare(case: ExportedCase, threads: int) -> Iterator[Contender]:
    """The module as it is, and compiled with frozen weights, which ends with the first call."""
    torch.set_num_threads(threads)
    torch_compile.forget()
    module = case.made.module
    yield _contender("torch", module, case.made.args)
    yield _contender("torch.compile", torch_compile.compiled(lambda: module, freezing=True), case.made.args)


def _contender(name: str, module: Any, operands: tuple[Any, ...]) -> Contender:
    """Without gradients; Inductor freezes weights outside of inference mode only."""
    last: list[Any] = []

    def call() -> None:
        with torch.no_grad():
            results = module(*operands)
        last[:] = results if isinstance(results, tuple) else (results,)

    return Contender(name, call, lambda: joined([one.numpy() for one in last]))


TORCH = Peer("torch", ("torch",), prepare, "no gradients; eager, and compiled by Inductor with frozen weights")
BENCHMARK: Benchmark[Any] = Benchmark("models", OF_FILES.tilewright, {TORCH.name: TORCH, **OF_FILES.peers})


def exported(names: Sequence[str], directory: Path, *, small: bool = False) -> list[ExportedCase]:
    """A case for each name; models that the directory has no file of are exported to it."""
    directory.mkdir(parents=True, exist_ok=True)
    cases = [ExportedCase(directory / f"{name}.onnx", (), REQUIRED.get(name, NOTHING), small) for name in names]
    for case in cases:
        if not case.path.exists():
            print(f"exporting {case.name}", file=sys.stderr, flush=True)
            export(make(ALIASES.get(case.name, case.name), small=small), case.path, exporter="dynamo")
    return cases


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    known = (*REQUIRED, *(name for name in {**MODELS, **LARGER, **PUBLISHED} if name not in REQUIRED))
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.models", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", type=names_of(known), default=DEFAULT, help=f"of {', '.join(known)}")
    parser.add_argument("--peers", type=names_of(tuple(BENCHMARK.peers)), default=None, help="by default those installed")
    parser.add_argument("--directory", type=Path, help="where the files are, or are put")
    for name, default in (("threads", 1), ("repeats", 11), ("processes", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--name", default="models", help="what the files of results are called")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where these are written")
    parser.add_argument("--small", action="store_true", help="small models, for tests")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    """Export, measure, and write the results."""
    options = parse(arguments)
    restart_if_unfair(options.threads)
    with TemporaryDirectory(prefix="tilewright-models-") as temporary:
        cases = exported(options.models, options.directory or Path(temporary), small=options.small)
        settings = Settings(options.peers, options.threads, options.repeats, options.processes)
        publish(options.name, "Whole models", model_report(cases, settings, BENCHMARK), options.results)


if __name__ == "__main__":
    main(sys.argv[1:])
