"""Machines: their description, detection, and the machines known by name."""

from __future__ import annotations

from tilewright.machine.description import MemoryLevel, Source
from tilewright.machine.machine import Machine

__all__ = ["Machine", "MemoryLevel", "Source"]
