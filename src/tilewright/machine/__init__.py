"""Machines: their description, detection, and the machines known by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.machine.description import Filling as Filling
    from tilewright.machine.description import MemoryLevel as MemoryLevel
    from tilewright.machine.description import Source as Source
    from tilewright.machine.machine import Machine as Machine

__all__ = ["Filling", "Machine", "MemoryLevel", "Source"]


def __getattr__(name: str) -> Any:
    """The names, imported when they are first used: whoever asks for the features of this CPU needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tilewright.machine import description, machine

    return getattr(machine if name == "Machine" else description, name)
