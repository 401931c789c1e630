"""Where a run is written."""

from __future__ import annotations

import datetime
import re


def _slug(machine: str) -> str:
    """A machine's name as part of a file name.

    >>> _slug("NVIDIA A100-SXM4-40GB")
    'nvidia-a100-sxm4-40gb'
    """
    return re.sub(r"[^a-z0-9]+", "-", machine.lower()).strip("-")


def result_name(card: str, day: datetime.date | None = None) -> str:
    """As results of this repository are called: date, what, machine.

    >>> result_name("NVIDIA H200", datetime.date(2026, 11, 29))
    '2026-11-29-gpu-nvidia-h200.json'
    """
    return f"{(day or datetime.date.today()).isoformat()}-gpu-{_slug(card)}.json"
