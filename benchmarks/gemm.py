"""Measure single products and write the results beside the earlier ones.

    python -m benchmarks.gemm [--cases 16x16x16,256x256x2048] [--peers ...] [--threads N] [--repeats N] ...

The options are those of `tilewright bench gemm`, but for three processes; benchmarks/results/README.md names the files.
"""

from __future__ import annotations

import sys

from benchmarks.bench_results import publish
from tilewright.cli.bench.command import gemm, measured_gemms


def main(arguments: list[str]) -> None:
    """Run the benchmark and write its two files."""
    options = gemm.make_context("python -m benchmarks.gemm", ["--processes", "3", *arguments]).params
    options.pop("json_file")
    publish("gemm", "Single products", measured_gemms(**options))


if __name__ == "__main__":
    main(sys.argv[1:])
