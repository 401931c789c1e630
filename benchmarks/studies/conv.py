"""Measure single convolutions and write the results beside the earlier ones.

    python -m benchmarks.studies.conv [--model resnet_50,drawn] [--slice 1/4] [--known FILE ...] ...

The options are those of `tilewright bench conv`, but for three processes; benchmarks/results/README.md names the files.
"""

from __future__ import annotations

import sys

from benchmarks.studies.parts.publishing import measure_and_publish
from tilewright_bench.command import conv, measured_conv

if __name__ == "__main__":
    measure_and_publish("conv", "Convolutions", conv, measured_conv, sys.argv[1:])
