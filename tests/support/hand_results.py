"""Benchmark results with round figures, for tests of what prints them."""

from __future__ import annotations

from tilewright.cli.bench.harness import CaseResult, Timing
from tilewright.cli.bench.provenance import Provenance

PROVENANCE = Provenance(
    "some machine", 2, 1, "gcc 12", (("tilewright", "0.1.0"), ("numpy", "2.0")), "abc123", (("numpy", "in place"),)
)


def results() -> tuple[CaseResult, ...]:
    """Round figures: at a peak of 100 GFLOP/s, 1e8 flops take 1 ms at best."""
    fast, slow = Timing("numpy", 2e-3, 1e-7), Timing("torch", 4e-3, 1e-7)
    return (
        CaseResult("G1", False, 10**8, 1e11, (Timing("tilewright", 1.25e-3, 1e-7), fast, slow)),
        CaseResult(
            "G2", False, 10**8, 1e11, (Timing("tilewright", 4e-3, 1e-7), Timing("numpy", None, 0.5), Timing("torch", 2e-3, 1e-7))
        ),
        CaseResult(
            "G1", True, 10**8, 1e11, (Timing("tilewright", None, 0.25), fast, Timing("openvino", None, float("inf"), "E: no"))
        ),
    )
