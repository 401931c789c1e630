"""Measure Table IV's chains with the portable micro kernels only, compiled for this machine.

    TILEWRIGHT_MAX_ISA=x86-64-v3 python -m benchmarks.studies.portable [--cases G1,G2] [--plain|--softmax] [--peers ...] ...

The options are those of `tilewright bench chains`. With x86-64-v2 there are no others: SSE2 is what they are compiled for then.
"""

from __future__ import annotations

import sys

from benchmarks.studies.parts.publishing import options_of
from tilewright.kernels.f32.portable import KERNELS
from tilewright.kernels.registry import registered, unregister
from tilewright_bench.command import chains, measured_chains


def main(arguments: list[str]) -> None:
    """Take all other kernels out of the registry, measure, and print the tables."""
    options = options_of(chains, "python -m benchmarks.studies.portable", arguments)
    for kernel in registered():
        if kernel not in KERNELS:
            unregister(kernel.name)
    print(measured_chains(**options).as_text())


if __name__ == "__main__":
    main(sys.argv[1:])
