"""Where to compute: the machine's description, its detection, and the machines known by name."""

from __future__ import annotations

from tilewright.machine.description import MemoryLevel, Source
from tilewright.machine.machine import Machine

__all__ = ["Machine", "MemoryLevel", "Source"]
