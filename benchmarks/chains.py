"""Measure Table IV's chains and write the results beside the earlier ones.

    python -m benchmarks.chains [--cases G1,G2] [--plain|--softmax] [--peers ...] [--threads N] [--repeats N]

The options are those of `tilewright bench chains`; see benchmarks/results/README.md for the names of the files.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
from pathlib import Path

from tilewright.cli.bench.command import chains, measured

RESULTS = Path(__file__).parent / "results"


def main(arguments: list[str]) -> None:
    """Run the benchmark and write its two files."""
    options = chains.make_context("python -m benchmarks.chains", arguments).params
    options.pop("json_file")
    report = measured(**options)
    what = "chains" if report.provenance.threads == 1 else f"chains-{report.provenance.threads}-threads"
    stem = f"{datetime.date.today().isoformat()}-{what}-{slug(report.provenance.machine)}"
    (RESULTS / f"{stem}.md").write_text(f"# Batch GEMM chains\n\n```text\n{report.as_text()}\n```\n")
    (RESULTS / f"{stem}.json").write_text(json.dumps(report.as_document(), indent=2) + "\n")
    print(report.as_text())


def slug(machine: str) -> str:
    """A machine's name as part of a file name.

    >>> slug("Intel(R) Xeon(R) Gold 6240 (x86-64-v4)")
    'intel-r-xeon-r-gold-6240-x86-64-v4'
    """
    return re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")


if __name__ == "__main__":
    main(sys.argv[1:])
