"""Bytes of DRAM, as Nsight Compute counts them: `ncu` around a process that runs every case once (`profiled.py`).

Nsight Compute flushes caches before each kernel, so that nothing is warm: an intermediate between two kernels is read from DRAM.
"""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum")
MARKER = "spin_kernel"
"""The kernel of `torch.cuda._sleep`, which ends the kernels of a contender."""
HEAD = '"ID"'
NO_PERMISSION = "ERR_NVGPUCTRPERM"
START_S = 60.0
"""Not worth beginning with less."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes by (case, contender); why there are none, in words."""

    bytes: Mapping[tuple[str, str], int]
    problem: str = ""


def counted(turns: Sequence[tuple[str, str]], cases: Sequence[str], seconds: float) -> Traffic:
    """Count all turns: (case, contender) in the order in which the process runs those of `cases`."""
    tool = shutil.which("ncu")
    if tool is None:
        return Traffic({}, "ncu is not installed")
    if seconds < START_S:
        return Traffic({}, f"{seconds:.0f} s were left")
    command = [tool, "--csv", "--print-units", "base", "--profile-from-start", "off", "--metrics", ",".join(METRICS)]
    child = [sys.executable, "-m", "tilewright_bench.gpu.profiled", *cases]
    try:
        answer = subprocess.run([*command, *child], capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return Traffic({}, f"ncu took longer than {seconds:.0f} s")
    except OSError as problem:
        return Traffic({}, f"ncu cannot be run: {problem}")
    return read(answer.stdout + answer.stderr, answer.returncode, turns)


def read(printed: str, code: int, turns: Sequence[tuple[str, str]]) -> Traffic:
    """What `ncu` printed, as bytes of turns."""
    if NO_PERMISSION in printed:
        return Traffic({}, f"this user may not read the card's counters ({NO_PERMISSION})")
    if code:
        last = (printed.strip().splitlines() or ["no message"])[-1]
        return Traffic({}, f"ncu failed: {last}")
    found = list(_sums(printed))
    if len(found) != len(turns):
        return Traffic({}, f"ncu saw {len(found)} turns, not {len(turns)}")
    return Traffic(dict(zip(turns, found, strict=True)))


def _sums(printed: str) -> list[int]:
    """Bytes between markers, in the order of kernels."""
    lines = printed.splitlines()
    begin = next((number for number, line in enumerate(lines) if line.startswith(HEAD)), len(lines))
    rows = csv.DictReader(line for line in lines[begin:] if line.startswith('"'))
    sums, ended = [0], dict[str, bool]()
    for row in rows:
        if MARKER in row["Kernel Name"]:
            if not ended.get(row["ID"]):
                sums.append(0)
            ended[row["ID"]] = True
        elif row["Metric Name"] in METRICS:
            sums[-1] += round(float(row["Metric Value"].replace(",", "")))
    return sums[:-1]
