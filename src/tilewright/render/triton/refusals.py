"""What a kernel of Triton cannot say."""

from __future__ import annotations

from tilewright.errors import UnsupportedOperation


def refused(what: str, why: str, where: str = "") -> UnsupportedOperation:
    """The error for what has no text; nothing has run when it is raised."""
    hint = "plan the chain for a CPU, or apart, or call with interpret=True"
    return UnsupportedOperation(f"Triton cannot say {what}", where=where, why=why, hint=hint)
