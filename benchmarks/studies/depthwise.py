"""Measure depthwise convolutions with bias and relu beside libraries, and beside hand-made C of one shape each.

    python -m benchmarks.studies.depthwise [--slice 1/4] [--yardsticks DIRECTORY] [--repeats 21] [--processes 1] [--json FILE]
    python -m benchmarks.studies.depthwise --join FILE [FILE ...]

Thirty shapes, drawn by a fixed seed from the layers of models (`parts/depthwise_layers.txt`), beside onnxruntime and openvino;
with a directory that has `depthwise.c`, the prototypes' shapes beside them instead. One image in NCHW, constant filters, one
thread. The floor is the longer of the operations at the peak and the bytes (image, filters, result, each once) at the bandwidth
of the smallest level that holds them, both measured in the run. Ratios are the medians over the rounds of the best other's time
over ours. `--json` keeps the rows of a slice, `--join` prints the table of several.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.studies.parts.depthwise_cases import LIBRARIES, TABLE, DepthwiseCase, depthwise, drawn, own
from benchmarks.studies.parts.yardstick_calls import call_of
from benchmarks.studies.yardsticks import compiled
from tilewright_bench.cases.case import aligned
from tilewright_bench.environment import restart_if_unfair
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender, Peer
from tilewright_bench.measurement.harness import CaseResult
from tilewright_bench.run import Benchmark, Settings, measured
from tilewright_bench.tables.means import geometric_mean

YARDSTICKS = {
    depthwise(3, 144, 56): (),
    depthwise(3, 96, 112, 2): (),
    depthwise(3, 960, 7): (),
    depthwise(5, 240, 28): ("R=7", "V=2"),
    depthwise(5, 240, 28, 2): ("R=14",),
    depthwise(7, 96, 56): ("R=4", "V=2"),
    depthwise(3, 64, 112): (),
}
"""What each shape's prototype is compiled with, beyond the shape: rows and vectors of a tile."""
Row = dict[str, Any]


def prototype(directory: Path, case: DepthwiseCase, threads: int) -> Iterator[Contender]:
    """The hand-made C of that case: `void depthwise(long channels, x, w, b, y)`."""
    shape, out = case.shape, aligned(case.result_shape)
    sizes = (f"H={shape.image[0]}", f"W={shape.image[1]}", f"K={shape.kernel[0]}", f"S={shape.stride[0]}")
    library = compiled(directory / "depthwise.c", (*sizes, *YARDSTICKS[shape]))
    yield Contender(
        "yardstick", call_of(library.depthwise, shape.channels, [case.image, case.filters, case.bias, out]), lambda: out
    )


def benchmark(directory: Path | None) -> Benchmark[DepthwiseCase]:
    """Our kernels with the prototypes, or with libraries."""
    peers = {name: Peer(name, (name,), prepare, "conv, bias and relu in one model") for name, prepare in LIBRARIES.items()}
    if directory is not None:
        peers = {"yardstick": Peer("yardstick", (), functools.partial(prototype, directory), "gcc, hand-made C of one shape")}
    return Benchmark("depthwise", Peer(TILEWRIGHT, (), own, "filters and biases are closed over", may_fail=False), peers)


def row(result: CaseResult) -> Row:
    """The figures of a shape, in seconds."""
    times = {timing.contender: timing.seconds for timing in result.timings}
    operations, moves = result.flops / result.peak_flops_per_s, result.moved_bytes / result.bandwidth_bytes_per_s
    best = result.best_peer()
    return {
        "case": result.case,
        "flops": result.flops,
        "floor": max(operations, moves),
        "binds": "flops" if operations > moves else result.level,
        "times": times,
        "ratio": best.to_own if best is not None else None,
    }


def table(rows: Sequence[Row]) -> str:
    """A line for each shape, the geometric mean of the ratios, and the worst."""
    others = [name for name in rows[0]["times"] if name != TILEWRIGHT]
    lines = [
        f"{'':24} {'ours, ms':>9} {'GFLOP/s':>8} {'floor, ms':>16} {'share':>6}"
        + "".join(f" {name:>11}" for name in others)
        + "  best other/ours"
    ]
    lines += [_line(found, others) for found in rows]
    ratios = {found["case"]: found["ratio"] for found in rows if found["ratio"]}
    if ratios:
        worst = min(ratios, key=lambda case: ratios[case])
        below = [case for case, ratio in ratios.items() if ratio < 1]
        mean = geometric_mean(list(ratios.values()))
        lines.append(f"{len(ratios)} shapes: geometric mean {mean:.3f}, worst {ratios[worst]:.3f} ({worst})")
        lines.append(f"below 1.0: {', '.join(below) or 'none'}")
    return "\n".join(lines)


def _line(found: Row, others: Sequence[str]) -> str:
    ours = found["times"].get(TILEWRIGHT)
    if ours is None:
        return f"{found['case']:24} wrong result"
    floor = f"{found['floor'] * 1e3:.4f} {found['binds']}"
    shown = "".join(f" {_milliseconds(found['times'].get(name)):>11}" for name in others)
    ratio = f"{found['ratio']:.3f}" if found["ratio"] else "-"
    rate = found["flops"] / ours * 1e-9
    return f"{found['case']:24} {ours * 1e3:9.4f} {rate:8.1f} {floor:>16} {found['floor'] / ours:6.0%}{shown}  {ratio:>15}"


def _milliseconds(seconds: float | None) -> str:
    return f"{seconds * 1e3:.4f}" if seconds is not None else "-"


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.studies.depthwise", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--yardsticks", type=Path, help="the directory of depthwise.c")
    parser.add_argument("--slice", default="1/1", help="the i-th of n parts of the shapes, as 1/4")
    parser.add_argument("--cases", type=lambda text: text.split(","), help="shapes by name, instead of a slice")
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--json", type=Path, help="where to keep the rows")
    parser.add_argument("--join", type=Path, nargs="+", help="print the rows of these files, and measure nothing")
    options = parser.parse_args(arguments)
    if options.yardsticks is not None and not (options.yardsticks / "depthwise.c").is_file():
        parser.error(f"{options.yardsticks} has no depthwise.c")
    return options


def chosen(options: argparse.Namespace) -> list[DepthwiseCase]:
    """The cases of the slice, or of these names."""
    shapes = drawn() if options.yardsticks is None else tuple(YARDSTICKS)
    number, parts = map(int, options.slice.split("/"))
    kept = shapes[number - 1 :: parts] if options.cases is None else [shape for shape in shapes if shape.name in options.cases]
    return [DepthwiseCase(shape, TABLE) for shape in kept]


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    options = parse(arguments)
    if options.join is not None:
        print(table([found for file in options.join for found in json.loads(file.read_text())]))
        return
    restart_if_unfair(1)
    directory = options.yardsticks.resolve() if options.yardsticks is not None else None
    report = measured(benchmark(directory), chosen(options), Settings(rounds=options.repeats, processes=options.processes))
    rows = [row(result) for result in report.results]
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
