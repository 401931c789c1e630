"""Measure products with a constant operand that few rows or columns meet, beside libraries that pack constants, in one process.

    python -m benchmarks.studies.left_operands [--seed 15] [--repeats 11] [--only left,wide,right] [--cases 4]

Forty shapes M x N x K are drawn by the seed, all extents on a logarithmic scale:

- `left`: W x with constant W, 512 to 8192 rows by a depth of 512 to 32768 (at most `LARGEST_BYTES`), by 1 to 64 columns,
- `wide`: W x with constant W of 16 to 64 rows, and a wide x,
- `right`: x W of 16 to 64 rows of x by a constant wide W.

A line per case: our time and each library's, the best one's time over ours, the floor of arithmetic and memory, and its share of
our time. With up to `READ_COLUMNS` columns or rows a plain read of W takes its turns, and `read` is its time over ours.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from random import Random
from typing import Any

import numpy as np

import tilewright as tw
from tilewright_bench.cases.case import FloatArray, aligned
from tilewright_bench.cases.gemm import GemmCase
from tilewright_bench.cases.gemm_shapes import GemmShape
from tilewright_bench.environment import restart_if_unfair
from tilewright_bench.measurement import plain_read
from tilewright_bench.measurement.contender import PLAIN_READ, TILEWRIGHT, Contender, Peer
from tilewright_bench.measurement.harness import CaseResult
from tilewright_bench.peers.onnxruntime import session
from tilewright_bench.peers.openvino import request
from tilewright_bench.run import Benchmark, Settings, run
from tilewright_bench.tables.means import geometric_mean, ratio

LARGEST_BYTES = 256 << 20
"""Of a constant. Libraries keep up to three copies of it."""
READ_COLUMNS = 4
"""Products of so few columns wait for W."""
FAMILIES = {"left": 24, "wide": 8, "right": 8}
"""How many shapes are drawn of each."""
NEAR_FLOOR = 1.08
"""A time within this factor of the floor counts as met, whoever is faster."""


@dataclass(frozen=True)
class ConstantProduct(GemmCase):
    """A product one of whose operands is a constant."""

    family: str = "left"

    @property
    def name(self) -> str:
        """The family and the extents, M x N x K."""
        return f"{self.family}:{self.shape.name}"

    @property
    def constant(self) -> FloatArray:
        """The operand that is known ahead."""
        return self.operands[self.family == "right"]

    @property
    def given(self) -> FloatArray:
        """The operand of a call."""
        return self.operands[self.family != "right"]

    @property
    def few(self) -> int:
        """How many columns or rows of the given operand each element of the constant meets."""
        return self.shape.m if self.family == "right" else self.shape.n

    def product(self, multiply: Callable[[Any, Any], Any], constant: Any, given: Any) -> Any:
        """The product by some function of two matrices."""
        return multiply(given, constant) if self.family == "right" else multiply(constant, given)


def drawn(seed: int) -> Iterator[ConstantProduct]:
    """The cases of a seed."""
    random = Random(seed)
    for family, count in FAMILIES.items():
        for _ in range(count):
            yield ConstantProduct(_shape(random, family), prepacked=True, family=family)


def _shape(random: Random, family: str) -> GemmShape:
    while True:
        if family == "left":
            shape = GemmShape(_drawn(random, 512, 8192), _drawn(random, 1, 64), _drawn(random, 512, 32768))
        else:
            shape = GemmShape(_drawn(random, 16, 64), _drawn(random, 512, 8192), _drawn(random, 512, 8192))
        if 4 * shape.m * shape.k <= LARGEST_BYTES and 4 * shape.k * shape.n <= LARGEST_BYTES:
            return shape


def _drawn(random: Random, low: int, high: int) -> int:
    return min(high, int(exp(random.uniform(log(low), log(high + 1)))))


def prepare(case: ConstantProduct, threads: int) -> Iterator[Contender]:
    """Our kernel with the constant closed over, and a plain read of it where few columns meet it."""
    if case.few <= READ_COLUMNS:
        yield from plain_read.prepare((case.constant,), case.reference, threads)
    kernel = tw.jit(lambda given: case.product(np.matmul, case.constant, given), threads=threads).lower(case.given).compile()
    out = aligned(case.result_shape)
    yield Contender(TILEWRIGHT, lambda: kernel(case.given, out=out), lambda: out)


def onnxruntime(case: ConstantProduct, threads: int) -> Iterator[Contender]:
    """MatMul with an initializer."""
    from onnx import helper

    inputs = case.product(lambda left, right: [left, right], "constant", "given")
    nodes = [helper.make_node("MatMul", inputs, ["out"])]
    model = session.Model(nodes, {"given": case.given}, {"constant": case.constant}, case.result_shape)
    yield session.contender("onnxruntime", model, threads)


def openvino(case: ConstantProduct, threads: int) -> Iterator[Contender]:
    """MatMul with a constant."""
    from openvino import opset13

    def build(given: Any) -> Any:
        return case.product(lambda a, b: opset13.matmul(a, b, False, False), opset13.constant(case.constant), given)

    yield request.contender("openvino", build, (case.given,), case.result_shape, threads)


def numpy(case: ConstantProduct, threads: int) -> Iterator[Contender]:
    """`matmul` into an array made ahead."""
    a, b = case.operands
    out = aligned(case.result_shape)
    yield Contender("numpy", lambda: np.matmul(a, b, out=out), lambda: out)


PEERS: dict[str, Peer[ConstantProduct]] = {
    "onnxruntime": Peer(
        "onnxruntime", ("onnxruntime", "onnx"), onnxruntime, "input and output bound; the constant an initializer"
    ),
    "openvino": Peer("openvino", ("openvino",), openvino, "f32 hint, one stream, tensors set ahead; the constant a constant"),
    "numpy": Peer("numpy", ("numpy",), numpy, "the result in an array made ahead"),
}
BENCHMARK = Benchmark("left operands", Peer(TILEWRIGHT, (), prepare, "the constant is closed over", may_fail=False), PEERS)


def floor_seconds(result: CaseResult) -> float:
    """Flops over the measured peak, or bytes over the bandwidth of the level that holds them, whichever takes longer."""
    return max(result.flops / result.peak_flops_per_s, result.moved_bytes / result.bandwidth_bytes_per_s)


def line(result: CaseResult) -> str:
    """A row of the table."""
    ours = result.timing(TILEWRIGHT)
    assert ours is not None
    assert ours.seconds is not None, f"{result.case}: wrong by {ours.error}"
    peers = [result.timing(name) for name in PEERS]
    times = "".join(
        f"{peer.seconds * 1e6:12.1f}" if peer is not None and peer.seconds is not None else f"{'-':>12}" for peer in peers
    )
    floor = floor_seconds(result)
    read = f"{ours.read_share:8.2f}" if result.timing(PLAIN_READ) is not None and ours.read_share is not None else f"{'':8}"
    figures = f"{ours.seconds * 1e6:12.1f}{times}{ratio(result) or 0:8.3f}{floor * 1e6:12.1f}{floor / ours.seconds:8.2f}"
    return f"{result.case:24}{figures}{read}  {result.level}"


def summary(results: Sequence[CaseResult]) -> Iterator[str]:
    """Geometric mean and worst of every family, and of all; a case near its floor is met."""
    families = {name: [result for result in results if result.case.startswith(name)] for name in FAMILIES}
    for name, chosen in (*families.items(), ("all", list(results))):
        ratios = [ratio(result) or 0.0 for result in chosen]
        if ratios:
            far = [value for value, result in zip(ratios, chosen, strict=True) if not _is_near_floor(result)]
            least = f"{min(far):.3f}" if far else "-"
            mean, worst = geometric_mean(ratios), min(ratios)
            yield f"{name:8}{len(chosen):4} cases: geometric mean {mean:.3f}, worst {worst:.3f}, away from the floor {least}"
    reads = [
        timing.read_share for result in results if result.timing(PLAIN_READ) for timing in [result.timing(TILEWRIGHT)] if timing
    ]
    if reads:
        yield f"least share of a plain read: {min(share or 0 for share in reads):.2f}"


def _is_near_floor(result: CaseResult) -> bool:
    ours = result.timing(TILEWRIGHT)
    return ours is not None and ours.seconds is not None and ours.seconds <= NEAR_FLOOR * floor_seconds(result)


def named(name: str) -> ConstantProduct:
    """The case `family:MxNxK`."""
    family, _, extents = name.partition(":")
    return ConstantProduct(GemmShape(*map(int, extents.split("x"))), prepacked=True, family=family)


def main() -> None:
    """Print a line per case as soon as it is measured, then the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default=",".join(FAMILIES))
    parser.add_argument("--cases", type=int, default=sum(FAMILIES.values()), help="the first ones only")
    parser.add_argument("--names", default="", help="these cases instead of drawn ones")
    given = parser.parse_args()
    restart_if_unfair(given.threads)
    cases = [case for case in drawn(given.seed) if case.family in given.only.split(",")][: given.cases]
    cases = [named(name) for name in given.names.split(",")] if given.names else cases
    print(
        f"{'case':24}{'ours us':>12}{''.join(f'{name:>12}' for name in PEERS)}{'ratio':>8}{'floor us':>12}{'floor':>8}{'read':>8}"
    )
    report = run(
        BENCHMARK,
        cases,
        Settings(threads=given.threads, rounds=given.repeats),
        lambda _, result: print(line(result), flush=True) if result is not None else None,
    )
    print(*summary(report.results), sep="\n")


if __name__ == "__main__":
    main()
