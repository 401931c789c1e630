"""Models quantised by onnxruntime's tool: our time beside onnxruntime, openvino and our own float32, and how far results are off.

    python -m benchmarks.studies.quantised_models --models resnet18,mobilenet_v2 --forms qdq,qoperator [--layers 9] [--cpu]

Models are those of `benchmarks.onnx_models` with random weights, traced (opset 17), quantised with the operands that they were
exported with: *qdq* and *qoperator* statically (weights int8 by channel, activations uint8), *dynamic* (weights int8). With
`--reduce-range` weights have 7 bits, which onnxruntime advises for CPUs without VNNI, where its products saturate.
Everyone takes turns in one process; figures are medians of rounds, ratios medians of ratios within rounds. With `--cpu` they are
the least CPU times of a call, which other programs on a core disturb less, and ratios of these. The deviation is the
largest difference from the float32 model over the deviation of its outputs: what quantisation costs, and saturation.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import onnxruntime

import tilewright.onnx as ort
from benchmarks.onnx_models.cases import LARGER, MODELS, PUBLISHED, make
from benchmarks.onnx_models.exporting import export
from benchmarks.studies.models import ALIASES
from benchmarks.studies.parts.command_line import names_of
from tilewright.runtime import calibration
from tilewright.runtime.compilation import toolchain
from tilewright_bench.benchmarks import MODELS as OF_FILES
from tilewright_bench.cases.model import ModelCase, joined
from tilewright_bench.environment import restart_if_unfair
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender
from tilewright_bench.measurement.provenance import provenance
from tilewright_bench.measurement.rounds import interleaved

FORMS = ("qdq", "qoperator", "dynamic")
DIRECTORY = Path(tempfile.gettempdir(), "tilewright-quantised")
OWN_FLOAT = f"{TILEWRIGHT} float32"
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One contender on one quantised model."""

    model: str
    form: str
    contender: str
    seconds: float
    to_own: float
    """Its time over ours in the same round; above 1 we are faster."""
    deviation: float


class Operands:
    """The operands of the export, once, as onnxruntime's calibration reads them."""

    def __init__(self, feeds: Mapping[str, Array]) -> None:
        self._left: list[Mapping[str, Array]] = [feeds]

    def get_next(self) -> Mapping[str, Array] | None:
        """The operands, then None."""
        return self._left.pop() if self._left else None


def quantised(source: Path, form: str, feeds: Mapping[str, Array], *, reduce_range: bool) -> Path:
    """The quantised model's file beside the source's; made where it is missing."""
    from onnxruntime import quantization

    target = source.with_name(f"{source.stem}-{form}{'-7-bits' if reduce_range else ''}.onnx")
    if target.exists():
        return target
    prepared = source.with_name(f"{source.stem}-prepared.onnx")
    if not prepared.exists():
        quantization.shape_inference.quant_pre_process(source, prepared, skip_symbolic_shape=True)
    if form == "dynamic":
        quantization.quantize_dynamic(prepared, target, weight_type=quantization.QuantType.QInt8, reduce_range=reduce_range)
        return target
    kinds = {"qdq": quantization.QuantFormat.QDQ, "qoperator": quantization.QuantFormat.QOperator}
    quantization.quantize_static(
        prepared,
        target,
        Operands(feeds),
        quant_format=kinds[form],
        per_channel=True,
        reduce_range=reduce_range,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
    )
    return target


def own(name: str, path: Path, feeds: Mapping[str, Array], threads: int) -> Contender:
    """A session of ours, as users call it."""
    options, last = ort.SessionOptions(), list[Any]()
    options.intra_op_num_threads = threads
    session = ort.InferenceSession(path, options)

    def call() -> None:
        last[:] = session.run(None, feeds)

    return Contender(name, call, lambda: joined(last))


class Fed(ModelCase):
    """A file with the operands of its export."""

    feeds: dict[str, Array] = {}  # noqa: RUF012


def fed(path: Path, feeds: dict[str, Array]) -> Fed:
    """The file as a case of a benchmark, with these operands."""
    case = Fed(path)
    object.__setattr__(case, "feeds", feeds)
    return case


def contenders(source: Path, path: Path, feeds: dict[str, Array], options: argparse.Namespace) -> Iterator[Contender]:
    """Ours on the quantised model and on float32, and the peers on the quantised one."""
    yield own(TILEWRIGHT, path, feeds, options.threads)
    yield own(OWN_FLOAT, source, feeds, options.threads)
    for name in options.peers:
        try:
            yield from OF_FILES.peers[name].prepare(fed(path, feeds), options.threads)
        except Exception as problem:
            print(f"  {name} refuses {path.name}: {str(problem).splitlines()[0][:120]}", flush=True)


def measured(name: str, form: str, source: Path, feeds: dict[str, Array], options: argparse.Namespace) -> list[Line]:
    """A line for every contender."""
    path = quantised(source, form, feeds, reduce_range=options.reduce_range)
    exact = joined([np.asarray(one) for one in onnxruntime.InferenceSession(source).run(None, feeds)])
    everyone = list(contenders(source, path, feeds, options))
    deviations: dict[str, float] = {}
    for one in everyone:
        one.call()
        deviations[one.name] = float(np.abs(one.result() - exact).max() / exact.std())
    times = least_cpu_times(everyone, options.rounds) if options.cpu else medians(everyone, options.rounds)
    return [Line(name, form, one.name, *times[one.name], deviations[one.name]) for one in everyone]


def medians(everyone: Sequence[Contender], count: int) -> dict[str, tuple[float, float]]:
    """The median time of every contender, and of its ratio to ours, over so many rounds."""
    turns: dict[str, Callable[[], float]] = {one.name: one.seconds for one in everyone}
    rounds = interleaved(turns, count, lambda: 1.0)
    return {
        one.name: (
            median(each[one.name].seconds for each in rounds),
            median(each[one.name].seconds / each[TILEWRIGHT].seconds for each in rounds),
        )
        for one in everyone
    }


def least_cpu_times(everyone: Sequence[Contender], count: int) -> dict[str, tuple[float, float]]:
    """The least CPU time of a call of every contender, all threads of the process together, and its ratio to ours."""
    least = {one.name: min(turn) for one, turn in zip(everyone, _cpu_turns(everyone, count), strict=True)}
    return {name: (seconds, seconds / least[TILEWRIGHT]) for name, seconds in least.items()}


def _cpu_turns(everyone: Sequence[Contender], count: int) -> Iterator[tuple[float, ...]]:
    """The CPU times of every contender, of which each was called so many times, one after the other."""
    return zip(*([_cpu_seconds(one) for one in everyone] for _ in range(count)), strict=True)


def _cpu_seconds(contender: Contender) -> float:
    begun = time.process_time()
    contender.call()
    return time.process_time() - begun


def layers(path: Path, feeds: dict[str, Array], count: int) -> str:
    """The chains of a quantised model that take the most time, with what planning predicts of them."""
    chains = sorted(ort.InferenceSession(path).profile(feeds).chains, key=lambda one: -one.seconds)[:count]
    return "\n".join(f"  {one.seconds * 1e3:8.3f} ms  {one.predicted_seconds * 1e3:8.3f} predicted  {one.name}" for one in chains)


def table(lines: Sequence[Line]) -> str:
    """The figures of a model and a form in a row each."""
    rows = ["| model | form | | ms | its time over ours | deviation |", "|---|---|---|---:|---:|---:|"]
    for line in lines:
        figures = f"{line.seconds * 1e3:.3f} | {line.to_own:.2f} | {line.deviation:.2g}"
        rows.append(f"| {line.model} | {line.form} | {line.contender} | {figures} |")
    return "\n".join(rows)


def _source(name: str, directory: Path, *, small: bool) -> tuple[Path, dict[str, Array]]:
    """The float32 model's file, exported where it is missing, and its operands."""
    directory.mkdir(parents=True, exist_ok=True)
    case, path = make(ALIASES.get(name, name), small=small), directory / f"{name}.onnx"
    if not path.exists():
        export(case, path, exporter="torchscript")
    return path, case.feeds()


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    known = (*ALIASES, *{**MODELS, **LARGER, **PUBLISHED})
    description = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.quantised_models", description=description)
    parser.add_argument("--models", type=names_of(known), default=("bert_128", "resnet50", "mobilenet_v2"))
    parser.add_argument("--forms", type=names_of(FORMS), default=FORMS)
    parser.add_argument("--peers", type=names_of(tuple(OF_FILES.peers)), default=("onnxruntime", "openvino"))
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="of the files")
    parser.add_argument("--json", type=Path, help="where the figures are written")
    parser.add_argument("--layers", type=int, default=0, help="how many chains of each model to print")
    parser.add_argument("--reduce-range", action="store_true", help="weights of 7 bits")
    parser.add_argument("--cpu", action="store_true", help="least CPU times of a call in place of medians")
    parser.add_argument("--small", action="store_true", help="small forms, for tests")
    for name, default in (("threads", 1), ("rounds", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a table."""
    options = parse(arguments)
    found: list[Line] = []
    for name in options.models:
        source, feeds = _source(name, options.directory, small=options.small)
        for form in options.forms:
            lines = measured(name, form, source, feeds, options)
            found += lines
            print(table(lines), flush=True)
            if options.layers:
                path = quantised(source, form, feeds, reduce_range=options.reduce_range)
                print(layers(path, feeds, options.layers), flush=True)
    if options.json:
        head = provenance(calibration.ensure(), toolchain.find(), (), options.threads).lines()
        options.json.write_text(json.dumps({"head": head, "lines": [asdict(line) for line in found]}, indent=2) + "\n")


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    restart_if_unfair(parse(sys.argv[1:]).threads)
    main(sys.argv[1:])
