"""Torch's compiler leaves alone what users call here: nothing inside of a call becomes part of its graphs. Torch is not imported.

A call of a jitted function becomes one operator (`torch_operators`): Dynamo traces another function in the place of one that has
the attribute `_torchdynamo_inline` (torch 2.13, `_dynamo/variables/functions.py`, `UserFunctionVariable`).

Dynamo ends its graph in front of a function that has the attribute `_torchdynamo_disable` (torch 2.13,
`_dynamo/symbolic_convert.py`, `check_inlineable`). It is offered the frame of that call then, and all frames below. It leaves
them alone where the code of the function is marked so in torch's C part (`_dynamo/types.py`, `FrameExecStrategy`), which is there
once torch is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from types import CodeType
from typing import Any, TypeVar
from weakref import WeakValueDictionary

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

REASON = "Tilewright runs a kernel of its own here"

unmarked: list[CodeType] = []
"""Codes of opaque functions that torch does not know as such; torch may be imported at any time."""

named: WeakValueDictionary[str, Any] = WeakValueDictionary()
"""Jitted functions, which Dynamo knows by names: it makes constants of texts, and variables of integers."""
_numbers = count()


def name(jitted: Any) -> str:
    """A name for a jitted function, as long as it lives."""
    chosen = f"jitted_{next(_numbers)}"
    named[chosen] = jitted
    return chosen


def traced_as(stand_in: Callable[..., Any]) -> Callable[[FunctionT], FunctionT]:
    """Let Dynamo trace another function in the place of the one that is decorated."""

    def decorate(function: FunctionT) -> FunctionT:
        vars(function)["_torchdynamo_inline"] = stand_in
        return function

    return decorate


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
