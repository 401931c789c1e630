"""Measure single products and write the results beside the earlier ones.

    python -m benchmarks.studies.gemm [--cases 16x16x16,256x256x2048] [--peers ...] [--threads N] [--repeats N] ...

The options are those of `tilewright bench gemm`, but for three processes; benchmarks/results/README.md names the files.
"""

from __future__ import annotations

import sys

from benchmarks.studies.parts.publishing import measure_and_publish
from tilewright_bench.command import gemm, measured_gemms

if __name__ == "__main__":
    measure_and_publish("gemm", "Single products", gemm, measured_gemms, sys.argv[1:])
