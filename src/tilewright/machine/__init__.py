"""Machines: their description, detection, and the machines known by name."""

from __future__ import annotations

from tilewright.machine.description import Filling, MemoryLevel, Source
from tilewright.machine.machine import Machine

__all__ = ["Filling", "Machine", "MemoryLevel", "Source"]
