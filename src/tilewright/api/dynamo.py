"""Torch's compiler leaves alone what users call here: nothing of a call becomes part of its graphs. Torch is not imported for it.

Dynamo ends its graph in front of a function that has the attribute `_torchdynamo_disable` (torch 2.13,
`_dynamo/symbolic_convert.py`, `check_inlineable`). It is offered the frame of that call then, and all frames below. It leaves
them alone where the code of the function is marked so in torch's C part (`_dynamo/types.py`, `FrameExecStrategy`), which is there
once torch is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from types import CodeType
from typing import Any, TypeVar

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

REASON = "Tilewright runs a kernel of its own here"

unmarked: list[CodeType] = []
"""Codes of opaque functions that torch does not know as such; torch may be imported at any time."""


def opaque(function: FunctionT) -> FunctionT:
    """Let Dynamo neither trace calls of a function nor what it calls: a decorator that wraps nothing.

    A function that may be called before anything has called `mark` begins with `if unmarked and "torch" in modules`, then
    marks, and calls itself: the first such frame is traced up to there.
    """
    vars(function).update(_torchdynamo_disable=True, _torchdynamo_disable_msg=REASON)
    unmarked.append(function.__code__)
    mark()
    return function


def mark() -> None:
    """Mark the codes that are unmarked, if torch is imported; once, also where torch is too old or new to know marks."""
    torch = sys.modules.get("torch")
    if torch is None or not unmarked:
        return
    with suppress(AttributeError, TypeError):
        frames = torch._C._dynamo.eval_frame
        alone = frames._FrameExecStrategy(frames._FrameAction.SKIP, frames._FrameAction.SKIP)
        for code in unmarked:
            frames.set_code_exec_strategy(code, alone)
    unmarked.clear()


vars(mark).update(_torchdynamo_disable=True, _torchdynamo_disable_msg=REASON)
