"""Where figures of machines come from."""

from __future__ import annotations

from enum import Enum


class Source(Enum):
    """Where a figure came from."""

    MEASURED = "measured"
    DETECTED = "detected"
    DATASHEET = "datasheet"
    ESTIMATE = "estimate"
    """Nobody has measured it, and no document says it: a comment of the target file says what it was taken from."""
