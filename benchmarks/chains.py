"""Measure Table IV's chains and write the results beside the earlier ones.

    python -m benchmarks.chains [--cases G1,G2] [--plain|--softmax] [--peers ...] [--threads N] [--repeats N] ...

The options are those of `tilewright bench chains`, but for three processes; benchmarks/results/README.md names the files.
"""

from __future__ import annotations

import sys

from benchmarks.bench_results import publish
from tilewright.cli.bench.command import chains, measured_chains


def main(arguments: list[str]) -> None:
    """Run the benchmark and write its two files."""
    options = chains.make_context("python -m benchmarks.chains", ["--processes", "3", *arguments]).params
    options.pop("json_file")
    publish("chains", "Batch GEMM chains", measured_chains(**options))


if __name__ == "__main__":
    main(sys.argv[1:])
