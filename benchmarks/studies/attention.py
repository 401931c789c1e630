"""Measure attention and write the results beside the earlier ones.

    python -m benchmarks.studies.attention [--cases full_4096,block_128] [--odd] [--peers ...] [--threads N] [--repeats N] ...

The options are those of `tilewright bench attention`, but for three processes; benchmarks/results/README.md names the files.
"""

from __future__ import annotations

import sys

from benchmarks.studies.parts.publishing import measure_and_publish
from tilewright_bench.command import attention, measured_attention

if __name__ == "__main__":
    measure_and_publish("attention", "Attention", attention, measured_attention, sys.argv[1:])
