"""`torch.compile`, called when its result is called first: importing it takes seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def compiled(make: Callable[[], Callable[..., Any]], **options: Any) -> Callable[..., Any]:
    """What `make` returns, compiled for the shapes of its first call."""
    ready: list[Callable[..., Any]] = []

    def call(*operands: Any) -> Any:
        import torch

        if not ready:
            from torch._inductor import config

            ready.append(torch.compile(make(), dynamic=False, options=options))
            with config.patch(**options):  # Dynamo asks for `freezing` while it traces, and does not see the options then
                return ready[0](*operands)
        return ready[0](*operands)

    return call


def forget() -> None:
    """Drop what was compiled: the compiler gives up on a function of which it has made too many versions."""
    if "torch._dynamo" in sys.modules:
        import torch

        torch._dynamo.reset()
