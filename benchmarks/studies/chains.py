"""Measure Table IV's chains and write the results beside the earlier ones.

    python -m benchmarks.studies.chains [--cases G1,G2] [--plain|--softmax] [--peers ...] [--threads N] [--repeats N] ...

The options are those of `tilewright bench chains`, but for three processes; benchmarks/results/README.md names the files.
"""

from __future__ import annotations

import sys

from benchmarks.studies.parts.publishing import measure_and_publish
from tilewright_bench.command import chains, measured_chains

if __name__ == "__main__":
    measure_and_publish("chains", "Batch GEMM chains", chains, measured_chains, sys.argv[1:])
