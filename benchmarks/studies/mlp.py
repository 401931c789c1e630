"""Measure networks of linear layers and write the results beside the earlier ones.

    python -m benchmarks.studies.mlp [--cases mlp_64,ffn_1] [--odd] [--peers ...] [--threads N] [--repeats N] ...

The options are those of `tilewright bench mlp`, but for three processes; benchmarks/results/README.md names the files.
"""

from __future__ import annotations

import sys

from benchmarks.studies.parts.publishing import measure_and_publish
from tilewright_bench.command import measured_mlp, mlp

if __name__ == "__main__":
    measure_and_publish("mlp", "Linear layers", mlp, measured_mlp, sys.argv[1:])
