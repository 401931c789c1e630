"""Convolutions of ResNet-50 in bytes, layer by layer: our time beside onnxruntime, openvino and the floor, and who is exact.

    python -m benchmarks.studies.quantised_convolutions [--bits 7] [--cpu] [--layers 2] [--rounds 15] [--cases 3x3_64-64_56]

Each distinct layer is a model of one QLinearConv: uint8 image with a zero point, int8 filters of the whole range with a scale
each, int32 bias, uint8 result. openvino has no such operator and gets the layer as DequantizeLinear, Conv, QuantizeLinear.

- *off by* is the largest difference from the exact result, in steps, for everyone. Nobody is left out for it: CPUs without VNNI
  add two products up in 16 bits, where libraries saturate. With `--bits 7` weights have 7 bits, and nobody can.
- *floor* is the longer of the operations at the peak of products of bytes and the bytes (image, filters, result, each once) at
  the bandwidth of the smallest level that holds them, both measured around the rounds of a layer.
- Everyone takes turns in one process. Times are medians of rounds and ratios medians of ratios within rounds; with `--cpu` times
  are the least CPU times of a call, which other programs on a core disturb less, and ratios of these.
- `--layers` adds where the time of the layers with the least ratios goes: the least times of their chains (`session.profile`).
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

import tilewright.onnx as ort
from benchmarks.studies.parts.quantised_conv_cases import OPERATOR, QDQ, QuantisedConv
from benchmarks.studies.quantised_models import fed
from tilewright.api.onnx.reports import ChainTime
from tilewright.report.layout import columns
from tilewright.runtime import calibration, measurement
from tilewright.runtime.compilation import toolchain
from tilewright.tune.timing import TURN_S
from tilewright_bench.benchmarks import MODELS
from tilewright_bench.cases import conv_models
from tilewright_bench.cases.conv_shapes import named_shapes
from tilewright_bench.environment import restart_if_unfair
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender
from tilewright_bench.measurement.provenance import provenance
from tilewright_bench.measurement.rounds import MeasuredRates, interleaved
from tilewright_bench.tables.means import geometric_mean

NETWORK = "resnet_50"
FORMS = {"onnxruntime": OPERATOR, "openvino": QDQ}
"""The peers, and how each reads a layer."""
PROFILES = 12
Seconds = dict[str, float]


@dataclass(frozen=True, slots=True)
class Line:
    """One layer; times are seconds of a call by contender."""

    layer: str
    count: int
    """How often the network has it."""
    seconds: Seconds
    to_own: Seconds
    """Times over ours; above 1 we are faster."""
    off_by: dict[str, int]
    """The largest difference from the exact result, in steps."""
    predicted: float
    floor: float
    binds: str
    """What the floor is of: operations, or the memory level that is read."""

    @property
    def ratio(self) -> float | None:
        """The best peer's time over ours."""
        return min((ratio for name, ratio in self.to_own.items() if name != TILEWRIGHT), default=None)


def contenders(case: QuantisedConv, directory: Path, options: argparse.Namespace) -> Iterator[Contender]:
    """Ours, and the peers that read the layer."""
    feeds = {"x": case.values["x"]}
    yield from MODELS.tilewright.prepare(fed(case.write(OPERATOR, directory), feeds), options.threads)
    for name in options.peers:
        try:
            yield from MODELS.peers[name].prepare(fed(case.write(FORMS[name], directory), feeds), options.threads)
        except Exception as problem:
            print(f"  {name} refuses {case.shape.name}: {str(problem).splitlines()[0][:120]}", flush=True)


def off_by(contender: Contender, exact: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> int:
    """The largest difference from the exact result, in steps, after a call."""
    contender.call()
    return int(np.abs(contender.result() - exact.ravel()).max())


def measured(case: QuantisedConv, count: int, rates: MeasuredRates, options: argparse.Namespace) -> Line:
    """Check everyone, take turns, and put the floor and the prediction beside."""
    with tempfile.TemporaryDirectory() as directory:
        everyone = list(contenders(case, Path(directory), options))
        chains = profiled(case, Path(directory), 1)
    differences = {one.name: off_by(one, case.reference) for one in everyone}
    level = rates.level_of(case.moved_bytes)
    before = rates.peak_flops_per_s(), rates.bandwidth_bytes_per_s(level)
    seconds, to_own = least_cpu(everyone, options.rounds) if options.cpu else medians(everyone, options.rounds)
    peak = max(before[0], rates.peak_flops_per_s()) * options.threads
    bandwidth = max(before[1], rates.bandwidth_bytes_per_s(level)) * options.threads
    floors = {"operations": case.shape.flops / peak, level: case.moved_bytes / bandwidth}
    binds = max(floors, key=lambda name: floors[name])
    predicted = sum(chain.predicted_seconds for chain in chains)
    return Line(case.shape.name, count, seconds, to_own, differences, predicted, floors[binds], binds)


def medians(everyone: Sequence[Contender], count: int) -> tuple[Seconds, Seconds]:
    """Median times over so many rounds, and medians of ratios to ours within them."""
    turns: dict[str, Callable[[], float]] = {one.name: one.seconds for one in everyone}
    rounds = [{name: turn.seconds for name, turn in each.items()} for each in interleaved(turns, count, lambda: 1.0)]
    seconds = {name: median(each[name] for each in rounds) for name in turns}
    return seconds, {name: median(each[name] / each[TILEWRIGHT] for each in rounds) for name in turns}


def least_cpu(everyone: Sequence[Contender], count: int) -> tuple[Seconds, Seconds]:
    """Least CPU times of a call over so many rounds, all threads of the process together, and their ratios to ours."""
    turns = {one.name: partial(_least_cpu_of_turn, one) for one in everyone}
    rounds = interleaved(turns, count, lambda: 1.0)
    seconds = {name: min(each[name].seconds for each in rounds) for name in turns}
    return seconds, {name: least / seconds[TILEWRIGHT] for name, least in seconds.items()}


def _least_cpu_of_turn(contender: Contender) -> float:
    """Of the calls of a turn, the first of which warms the caches."""
    contender.call()
    calls = [_cpu_seconds(contender)]
    while sum(calls) < TURN_S:
        calls.append(_cpu_seconds(contender))
    return min(calls)


def _cpu_seconds(contender: Contender) -> float:
    """Of a call; of the mean of so many that the clock moves on."""
    begun, calls, spent = time.process_time(), 0, 0.0
    while spent <= 0.0:
        contender.call()
        calls, spent = calls + 1, time.process_time() - begun
    return spent / calls


def profiled(case: QuantisedConv, directory: Path, count: int) -> list[ChainTime]:
    """The chains of our plan on one thread, each with its least time over so many calls."""
    options, feeds = ort.SessionOptions(), {"x": case.values["x"]}
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(case.write(OPERATOR, directory), options)
    calls = [session.profile(feeds).chains for _ in range(count)]
    return [min(times, key=lambda one: one.seconds) for times in zip(*calls, strict=True)]


def chain_lines(case: QuantisedConv) -> str:
    """A layer's chains: measured, predicted, floor."""
    with tempfile.TemporaryDirectory() as directory:
        chains = profiled(case, Path(directory), PROFILES)
    rows = [["", "ms", "predicted", "floor"]]
    for one in chains:
        rows.append([one.name, *(_milliseconds(figure) for figure in (one.seconds, one.predicted_seconds, one.floor_seconds))])
    return "\n".join([f"{case.shape.name}:", *(f"  {line}" for line in columns(rows, right=range(1, 4)))])


def table(lines: Sequence[Line]) -> str:
    """A row for every layer, then the geometric mean and the least of the ratios, and sums over the network."""
    others = [name for name in dict.fromkeys(name for line in lines for name in line.seconds) if name != TILEWRIGHT]
    head = ["layer", "count", "floor", "of", "predicted", "ours", *others, "peer/ours"]
    head += [f"off by: {name}" for name in ("ours", *others)]
    rows = [head, ["---", *["---:"] * (len(head) - 1)], *(_cells(line, others) for line in lines)]
    return "\n".join([*(f"| {' | '.join(cells)} |" for cells in rows), "", *_summary(lines, others)])


def _cells(line: Line, others: Sequence[str]) -> list[str]:
    names = (TILEWRIGHT, *others)
    return [
        line.layer,
        str(line.count),
        _milliseconds(line.floor),
        line.binds,
        _milliseconds(line.predicted),
        *(_milliseconds(line.seconds[name]) if name in line.seconds else "refuses" for name in names),
        "-" if line.ratio is None else f"{line.ratio:.2f}",
        *(str(line.off_by.get(name, "-")) for name in names),
    ]


def _summary(lines: Sequence[Line], others: Sequence[str]) -> Iterator[str]:
    ratios = {line.layer: line.ratio for line in lines if line.ratio is not None}
    if ratios:
        least = min(ratios, key=lambda layer: ratios[layer])
        mean = geometric_mean(list(ratios.values()))
        below = sum(ratio < 0.95 for ratio in ratios.values())
        yield f"peer/ours: geometric mean {mean:.3f}, least {ratios[least]:.3f} ({least}), {below} of {len(ratios)} below 0.95"
    for name in (name for name in others if all(name in line.to_own for line in lines)):
        yield f"{name}/ours: geometric mean {geometric_mean([line.to_own[name] for line in lines]):.3f}"
    everyone = [name for name in (TILEWRIGHT, *others) if all(name in line.seconds for line in lines)]
    sums = [f"{name} {_milliseconds(sum(line.count * line.seconds[name] for line in lines))}" for name in everyone]
    sums += [f"predicted {_milliseconds(sum(line.count * line.predicted for line in lines))}"]
    sums += [f"floor {_milliseconds(sum(line.count * line.floor for line in lines))}"]
    yield f"all {sum(line.count for line in lines)} layers, ms: {', '.join(sums)}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3f}"


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    description = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.quantised_convolutions", description=description)
    parser.add_argument("--cases", type=lambda text: text.split(","), help="shapes by name, instead of the network's")
    parser.add_argument("--bits", type=int, choices=(7, 8), default=8, help="of the weights")
    parser.add_argument("--peers", nargs="*", choices=tuple(FORMS), default=tuple(FORMS))
    parser.add_argument("--cpu", action="store_true", help="least CPU times of a call in place of medians")
    parser.add_argument("--layers", type=int, default=0, help="the chains of how many layers to print, those of the least ratio")
    parser.add_argument("--json", type=Path, help="where the figures are written")
    for name, default in (("threads", 1), ("rounds", 15)):
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args(arguments)


def chosen(options: argparse.Namespace) -> dict[QuantisedConv, int]:
    """The cases, and how often the network has each."""
    counts = conv_models.layers(NETWORK)
    shapes = tuple(counts) if options.cases is None else named_shapes(options.cases)
    return {QuantisedConv(shape, options.bits): counts.get(shape, 1) for shape in shapes}


def main(arguments: Sequence[str]) -> None:
    """Measure, and print tables."""
    options, machine, compiler = parse(arguments), calibration.ensure(), toolchain.find()
    measurer = measurement.compiled(machine)
    element = "int8" if "int8" in measurer.element_types() else "float32"
    rates = MeasuredRates(measurer, machine, measurer.peak_loop(element))
    lines = dict[str, Line]()
    for case, count in chosen(options).items():
        lines[case.shape.name] = measured(copy(case), count, rates, options)
        print(f"{case.shape.name} {lines[case.shape.name].ratio or 0:.2f}", file=sys.stderr, flush=True)
    head = provenance(machine, compiler, [MODELS.peers[name] for name in options.peers], options.threads).lines()[:2]
    print("\n".join([*head, f"weights of {options.bits} bits; times in ms", "", table([*lines.values()])]))
    for line in sorted(lines.values(), key=lambda one: one.ratio or 0)[: options.layers]:
        print(chain_lines(QuantisedConv(named_shapes([line.layer])[0], options.bits)))
    if options.json:
        options.json.write_text(json.dumps({"head": head, "lines": [asdict(one) for one in lines.values()]}, indent=2) + "\n")


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    restart_if_unfair(parse(sys.argv[1:]).threads)
    main(sys.argv[1:])
