"""Benchmark results with round figures, for tests of what prints them."""

from __future__ import annotations

from tilewright_bench.measurement.harness import CaseResult, Timing
from tilewright_bench.measurement.provenance import Provenance

PROVENANCE = Provenance(
    "some machine", 2, 1, "gcc 12", (("tilewright", "0.1.0"), ("numpy", "2.0")), "abc123", (("numpy", "in place"),)
)
FLOPS, MOVED_BYTES = 10**8, 10**6
PEAK, BANDWIDTH = 1e11, 5e10
PLAIN = "plain chains, nothing prepacked"
SOFTMAX = "chains with softmax, constant right-hand sides, prepacked where a contender can"
PRODUCTS = "GEMMs (M x N x K), called from Python, nothing prepacked"


def timing(name: str, seconds: float, own_s: float | None, *, flops: int = FLOPS, moved_bytes: int = MOVED_BYTES) -> Timing:
    """Right, and beside our own time (None: ours is wrong)."""
    to_own = None if own_s is None else seconds / own_s
    return Timing(name, seconds, 1e-7, flops / PEAK / seconds, moved_bytes / BANDWIDTH / seconds, to_own)


def case(name: str, table: str, *timings: Timing, flops: int = FLOPS, moved_bytes: int = MOVED_BYTES) -> CaseResult:
    """At a peak of 100 GFLOP/s, 1e8 flops take 1 ms at best; at 50 GB/s, 1e6 bytes 20 us."""
    return CaseResult(name, table, "nothing" not in table, flops, moved_bytes, PEAK, "L2", BANDWIDTH, timings)


def results() -> tuple[CaseResult, ...]:
    """Chains: right ones, wrong ones, and a failure. And a product whose bytes bind: 80 us at best."""
    fast, slow = timing("numpy", 2e-3, 1.25e-3), timing("torch", 4e-3, 1.25e-3)
    failed = Timing("openvino", None, float("inf"), failure="E: no")
    small = {"flops": 10**6, "moved_bytes": 4 * 10**6}
    return (
        case("G1", PLAIN, timing("tilewright", 1.25e-3, 1.25e-3), fast, slow),
        case("G2", PLAIN, timing("tilewright", 4e-3, 4e-3), Timing("numpy", None, 0.5), timing("torch", 2e-3, 4e-3)),
        case("G1", SOFTMAX, Timing("tilewright", None, 0.25), timing("numpy", 2e-3, None), failed),
        case(
            "2048x1x128",
            PRODUCTS,
            timing("tilewright", 1e-4, 1e-4, **small),
            timing("numpy", 2e-4, 1e-4, **small),
            **small,
        ),
    )
