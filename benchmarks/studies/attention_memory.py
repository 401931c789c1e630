"""How much memory attention takes beside its inputs and its output.

    python -m benchmarks.studies.attention_memory [--heads 8] [--length 16384] [--width 64] [--threads 1] [--causal]

The kernel is called once, in a fresh process, on operands and with a result that are in memory already. What the peak of the
process's resident memory grows by in this call is what the kernel needs: packed operands and live intermediates of all threads,
and their stacks. Required: less than 16 MiB. Linux only.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tilewright as tw
from tilewright.report import units
from tilewright_bench.cases.attention import AttentionCase
from tilewright_bench.cases.attention_shapes import AttentionShape
from tilewright_bench.cases.case import aligned
from tilewright_bench.cases.required import NOTHING
from tilewright_bench.tilewright_contender.attention import function

REQUIRED_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Memory:
    """Of one call. `grown_bytes`: the peak of resident memory during it over what was resident before it."""

    inputs_and_output_bytes: int
    scratch_bytes: int
    """Of one thread, as planned; the largest kernel's."""
    kernels: int
    grown_bytes: int


def measured(shape: AttentionShape, threads: int) -> Memory:
    """Plan, compile, touch everything, and call once. This process must not have computed anything before."""
    case = AttentionCase(shape, "", NOTHING)
    lowered = tw.jit(function(shape), threads=threads).lower(*case.operands)
    kernel, out = lowered.compile(), aligned(case.result_shape)
    out.fill(np.nan)
    before = reset_peak_bytes()
    kernel(*case.operands, out=out)
    grown = peak_bytes() - before
    plans = lowered.model_plan.plans
    return Memory(shape.moved_bytes, max(plan.scratch_bytes for plan in plans), len(plans), grown)


def reset_peak_bytes() -> int:
    """Let the peak begin anew; what is resident now (proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status_bytes("VmRSS")


def peak_bytes() -> int:
    """The peak of resident memory since then."""
    return _status_bytes("VmHWM")


def _status_bytes(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.attention_memory", description=(__doc__ or "").splitlines()[0]
    )
    for name, default in (("heads", 8), ("length", 16384), ("width", 64), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--causal", action="store_true")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    """Print the figures; ends the process with 1 where too much was needed."""
    options = parse(arguments)
    shape = AttentionShape("memory", options.heads, options.length, options.length, options.width, causal=options.causal)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        memory = process.submit(measured, shape, options.threads).result()
    passed = memory.grown_bytes < REQUIRED_BYTES
    allowed = f"{units.size(REQUIRED_BYTES)} allowed: {'pass' if passed else 'miss'}"
    print(f"attention 1x{shape.heads}x{shape.keys}x{shape.width}{', causal' if shape.causal else ''}; threads: {options.threads}")
    print(f"inputs and output   {units.size(memory.inputs_and_output_bytes)}")
    print(f"planned scratch     {units.size(memory.scratch_bytes * options.threads)}; kernels: {memory.kernels}")
    print(f"peak beside these   {units.size(memory.grown_bytes)}; {allowed}")
    sys.exit(not passed)


if __name__ == "__main__":
    main(sys.argv[1:])
