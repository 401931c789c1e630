"""Predicted against simulated movement between L1 and L2: Figure 8 d, e and f of Chimera.

    python -m benchmarks.papers.validate_model [--case d] [--cache 32x8] [--count 100] [--json FILE] [--plot FILE]

The GEMM chain C = A B, E = C D with M = N = K = L = 2048, in three forms (section VI-C):

    d   order mlkn, C kept: the best order of the paper
    e   order mlnk, C recomputed for every block of n, as the paper counts it
    f   order mlkn, C stored: two products one after the other

For each, tilings are drawn log-uniformly from the multiples of the micro kernel's tile (of a cache line along k) whose working
set (`plan.model.working_set`) takes at most `--share` of the cache. The generated loop nests are replayed line by line on one
exact LRU cache; the prediction is `plan.model.movement`, in bytes, as it stands. `--packing` says what is contiguous in L1:

    ahead   B and D are packed whole, in panels, before all loops; A, C and E are used in place
    tiles   every operand's tile is copied where the loops fetch it: each copy then passes through L1 twice

`--row-padding` keeps the rows of arguments that are used in place from meeting in few sets (rows of 2048 floats all do): by
default they lie as the library lays out its own tensors (`lower.storage.spread_lines`).

Without `--exact`, only some blocks of m, the outermost loop, are replayed. All full blocks but the first few do the same with
other rows of A and E, so two runs that differ by one block give the traffic of each further one: what is neglected is the state
that a block inherits, at most the lines of the cache.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracles.cache_simulator import CacheLevel
from tests.oracles.movements import schedule_movements, working_set_elements
from tests.oracles.trace_replay import Placement, simulate
from tests.support.chains import chain, gemm_chain, hand_plan
from tests.support.operators import contraction
from tilewright.graph.types import Chain, Graph
from tilewright.kernels.contract import MicroKernel
from tilewright.kernels.registry import registered
from tilewright.lower.storage import spread_strides
from tilewright.machine import Machine
from tilewright.plan.layout import panels, row_major
from tilewright.plan.permutations import permuted
from tilewright.plan.schedule import Compute, Loop, Node, Pack, Schedule, Storage
from tilewright.plan.types import ModelPlan
from tilewright.plan.whole_model.partition import with_layouts
from tilewright.render.c.program import Program, lower_program

CACHES = {"32x8": CacheLevel(32 << 10, 64, 8), "48x12": CacheLevel(48 << 10, 64, 12), "32x0": CacheLevel(32 << 10, 64)}
"""The L1 of a Xeon Gold 6240, the paper's machine; that of Ice Lake and its successors; one without sets, hence conflicts."""
USUAL_CACHES = ("32x8", "48x12")
FLOAT_BYTES = 4
LINE_FLOATS = 16
SET_PERIOD_BYTES = 4096
"""Of the L1 caches of all usual machines."""
STEADY_BLOCKS = 2
"""Blocks of m after which the cache no longer remembers the start."""
Tiles = Mapping[str, int]
Stage = tuple[Chain, Schedule]


@dataclass(frozen=True, slots=True)
class Setting:
    """All that a point depends on besides its tiles. `row_padding`: floats between the rows of the arguments."""

    case: str
    cache: str
    size: int
    kernel: str
    share: float
    packing: str
    row_padding: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Point:
    """One tiling: bytes between L1 and L2, as the model says and as simulated; `used_bytes` is the model's working set."""

    tiles: dict[str, int]
    used_bytes: int
    predicted_bytes: int
    simulated_bytes: int
    tensor_bytes: int
    """Of the simulated ones, those of inputs and outputs; the others are packed copies and C that did not stay."""
    fetched_outputs_bytes: int
    """What write-allocation adds to the model: every line of an output is fetched before its first write."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well points agree. Errors are relative to what was simulated."""

    points: int
    r_squared: float
    """1 - (sum of squared differences) / (sum of squared deviations of the simulated from their mean): against y = x."""
    median_error: float
    error_95: float
    median_ratio: float
    """Simulated over predicted."""
    regret: float
    """Simulated movement of the tiling predicted best, over the least simulated, minus 1."""


def stages(setting: Setting, tiles: Tiles, rows: int) -> list[Stage]:
    """The chains of a case with their schedules, for `rows` rows of A."""
    extents = dict.fromkeys("nkl", setting.size) | {"m": rows}
    layout = panels(kernel_of(setting).columns)
    first_right, right = Pack("scores", 1, layout), Pack("out", 1, layout)
    is_ahead = setting.packing == "ahead"
    around, of_out = ((first_right, right), ()) if is_ahead else ((), (right,))
    first = (*(() if is_ahead else (Pack("scores", 0, row_major(2)), first_right)), Compute("scores"))
    if setting.case == "d":
        body = (*_nest("k", tiles, first), *_nest("n", tiles, (*of_out, Compute("out"))))
        return [(gemm_chain(extents), Schedule((*around, *_nest("ml", tiles, body))))]
    if setting.case == "e":
        body = (*_nest("k", tiles, first), *of_out, Compute("out"))
        return [(gemm_chain(extents), Schedule((*around, *_nest("mln", tiles, body)), (("C", Storage.RECOMPUTE),)))]
    product = chain("first", [contraction("scores", "A:mk", "B:kl", "C:ml", extents)])
    second = chain("second", [contraction("out", "C:ml", "D:ln", "E:mn", extents)])
    left = () if is_ahead else (Pack("out", 0, row_major(2)),)
    inner = (*left, *_nest("n", tiles, (*of_out, Compute("out"))))
    return [
        (product, Schedule((*around[:1], *_nest("mlk", tiles, first)))),
        (second, Schedule((*around[1:], *_nest("ml", tiles, inner)))),
    ]


def _nest(order: str, tiles: Tiles, body: tuple[Node, ...]) -> tuple[Node, ...]:
    for axis in reversed(order):
        body = (Loop(axis, tiles[axis], body),)
    return body


def kernel_of(setting: Setting) -> MicroKernel:
    """The micro kernel by its name."""
    return next(kernel for kernel in registered() if kernel.name == setting.kernel)


def lowered(setting: Setting, tiles: Tiles, rows: int) -> Program:
    """The program of a case."""
    kernel = kernel_of(setting)
    machine = Machine.named("x86-64-v4" if "avx512f" in kernel.features else "x86-64-v3")
    parts = stages(setting, tiles, rows)
    plans = tuple(hand_plan(one, schedule, machine, kernel) for one, schedule in parts)
    tensors = {tensor.name: tensor for one, _ in parts for tensor in one.tensors}
    operators = tuple(operator for one, _ in parts for operator in one.operators)
    graph = Graph("validation", tuple(tensors.values()), operators, ("A", "B", "D"), ("E",))
    return lower_program(with_layouts(ModelPlan(graph, plans, ())))


def predicted_bytes(setting: Setting, tiles: Tiles) -> int:
    """`plan.model.movement` of all stages."""
    moved = (schedule_movements(*stage) for stage in stages(setting, tiles, setting.size))
    return sum(sum(tensors.values()) for tensors in moved) * FLOAT_BYTES


def paper_prediction_bytes(setting: Setting, tiles: Tiles) -> int:
    """The same from the paper's permutations, for d and e: a check of `stages`."""
    order, storage = {"d": ("mlkn", Storage.KEEP), "e": ("mlnk", Storage.RECOMPUTE)}[setting.case]
    one = gemm_chain(dict.fromkeys("mnkl", setting.size))
    return sum(schedule_movements(one, permuted(one, order, tiles, storage=storage)).values()) * FLOAT_BYTES


def used_bytes(setting: Setting, tiles: Tiles) -> int:
    """The largest working set of any stage."""
    return max(working_set_elements(*stage) for stage in stages(setting, tiles, setting.size)) * FLOAT_BYTES


def simulated_bytes(setting: Setting, tiles: Tiles) -> tuple[int, int]:
    """(all, those of inputs and outputs) that cross between the cache and the level behind it."""
    full, rest = divmod(setting.size, tiles["m"])
    if setting.exact or full <= STEADY_BLOCKS + 1:
        return _replayed(setting, tiles, setting.size)
    fewer, more = (_replayed(setting, tiles, blocks * tiles["m"] + rest) for blocks in (STEADY_BLOCKS, STEADY_BLOCKS + 1))
    further = full - STEADY_BLOCKS
    return fewer[0] + further * (more[0] - fewer[0]), fewer[1] + further * (more[1] - fewer[1])


def _replayed(setting: Setting, tiles: Tiles, rows: int) -> tuple[int, int]:
    program = lowered(setting, tiles, rows)
    placement = Placement(row_padding=setting.row_padding)
    traffic = simulate(program, [CACHES[setting.cache]], placement=placement).levels[0]
    arguments = traffic.buffers[: len(program.signature.inputs) + len(program.signature.outputs)]
    return traffic.bytes_behind, sum(one.bytes_in + one.bytes_back for one in arguments)


def draw(setting: Setting, count: int, seed: int = 0) -> Iterator[dict[str, int]]:
    """Distinct tilings that fit, log-uniform along every axis."""
    generator = np.random.default_rng(seed)
    kernel = kernel_of(setting)
    steps = {"m": kernel.rows, "l": kernel.columns, "k": LINE_FLOATS, "n": kernel.columns}
    capacity = setting.share * CACHES[setting.cache].size_bytes
    seen: set[tuple[int, ...]] = set()
    for _ in range(200_000):
        logs = {axis: generator.uniform(np.log(step), np.log(setting.size)) for axis, step in steps.items()}
        tiles = {axis: min(setting.size, round(np.exp(logs[axis]) / step) * step) for axis, step in steps.items()}
        if tuple(tiles.values()) in seen or used_bytes(setting, tiles) > capacity:
            continue
        seen.add(tuple(tiles.values()))
        yield tiles
        if len(seen) == count:
            return
    print(f"only {len(seen)} tilings fit {setting.cache}", file=sys.stderr)


def measure(setting: Setting, tiles: dict[str, int]) -> Point:
    """One point."""
    if setting.case != "f":
        assert predicted_bytes(setting, tiles) == paper_prediction_bytes(setting, tiles)
    everything, tensors = simulated_bytes(setting, tiles)
    outputs = 2 if setting.case == "f" else 1
    return Point(
        tiles,
        used_bytes(setting, tiles),
        predicted_bytes(setting, tiles),
        everything,
        tensors,
        outputs * setting.size**2 * FLOAT_BYTES,
    )


def agreement(points: Sequence[Point], predicted: Sequence[int]) -> Agreement:
    """The figures of one case."""
    x = np.array(predicted, np.float64)
    y = np.array([point.simulated_bytes for point in points], np.float64)
    errors = np.abs(x - y) / y
    return Agreement(
        points=len(points),
        r_squared=float(1 - np.sum((x - y) ** 2) / np.sum((y - y.mean()) ** 2)),
        median_error=float(np.median(errors)),
        error_95=float(np.percentile(errors, 95)),
        median_ratio=float(np.median(y / x)),
        regret=float(y[np.argmin(x)] / y.min() - 1),
    )


def report(setting: Setting, points: Sequence[Point], seconds: float) -> None:
    """The lines of one case: the model as it stands, and with the fetches of write-allocation."""
    plain = agreement(points, [point.predicted_bytes for point in points])
    allocating = agreement(points, [point.predicted_bytes + point.fetched_outputs_bytes for point in points])
    for name, figures in (("model", plain), ("model + fetched outputs", allocating)):
        print(
            f"{setting.case}  {setting.cache:6} {name:24} {figures.points:4} tilings  R^2 {figures.r_squared:7.4f}"
            f"  error median {figures.median_error:6.2%}  95% {figures.error_95:6.2%}"
            f"  simulated/predicted {figures.median_ratio:.3f}  regret {figures.regret:6.2%}  {seconds:.0f} s",
            flush=True,
        )


def plot(results: Sequence[tuple[Setting, Sequence[Point]]], path: Path) -> None:
    """Simulated over predicted, one panel per case and cache, with y = x, as a PNG."""
    pyplot = _pyplot()
    figure, parts = pyplot.subplots(1, len(results), figsize=(4 * len(results), 4), squeeze=False)
    for panel, (setting, points) in zip(parts[0], results, strict=True):
        x = [point.predicted_bytes / 2**20 for point in points]
        y = [point.simulated_bytes / 2**20 for point in points]
        ends = (min(*x, *y), max(*x, *y))
        panel.loglog(ends, ends, color="grey", linewidth=0.8)
        panel.loglog(x, y, ".", markersize=4)
        best = int(np.argmin(x))
        panel.loglog(x[best], y[best], "o", color="red", markersize=5, label="predicted best")
        for axis in (panel.xaxis, panel.yaxis):
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter("")
        panel.legend()
        panel.set(title=f"{setting.case}, {setting.cache}", xlabel="predicted MiB", ylabel="simulated MiB")
    figure.tight_layout()
    figure.savefig(path, format="png", dpi=150)


def _pyplot() -> Any:
    """Raises `SystemExit` with what to install where matplotlib is missing."""
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("--plot needs matplotlib: pip install 'tilewright[plot]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--case", choices="def", action="append", help="default: all three")
    parser.add_argument(
        "--cache", choices=CACHES, action="append", help="KiB x ways of the L1; 0: one set (default: 32x8, 48x12)"
    )
    parser.add_argument("--count", type=int, default=100, help="tilings per case")
    parser.add_argument("--size", type=int, default=2048, help="M = N = K = L")
    parser.add_argument("--share", type=float, default=0.65, help="of the cache that a working set may take")
    parser.add_argument("--kernel", default="matmul_avx2_f32_6x16", help="micro kernel")
    parser.add_argument("--packing", choices=("ahead", "tiles"), default="ahead", help="see above")
    parser.add_argument("--row-padding", type=int, help="floats between the rows of the arguments (default: see above)")
    parser.add_argument("--exact", action="store_true", help="replay every block of m")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", type=Path, help="write every point to this file")
    parser.add_argument("--plot", type=Path, help="draw every point (needs matplotlib)")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> None:
    """Draw, replay, compare."""
    options = arguments(words)
    if options.plot:
        _pyplot()
    plain = Setting("d", "32x8", options.size, options.kernel, options.share, options.packing, 0, False)
    spread = spread_strides((2, options.size), FLOAT_BYTES, SET_PERIOD_BYTES, LINE_FLOATS * FLOAT_BYTES)[0] - options.size
    plain = replace(plain, row_padding=spread if options.row_padding is None else options.row_padding, exact=options.exact)
    results = []
    with ProcessPoolExecutor(options.jobs) as pool:
        for case in options.case or "def":
            for cache in options.cache or USUAL_CACHES:
                setting = replace(plain, case=case, cache=cache)
                start = time.monotonic()
                tilings = list(draw(setting, options.count))
                points = list(pool.map(measure, [setting] * len(tilings), tilings))
                report(setting, points, time.monotonic() - start)
                results.append((setting, points))
    if options.json:
        records = [{"setting": asdict(setting), "points": [asdict(one) for one in points]} for setting, points in results]
        options.json.write_text(json.dumps(records, indent=1) + "\n")
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
