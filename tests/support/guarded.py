"""Arrays whose memory ends, or begins, at a page that may not be touched; and a child process for checks that may crash."""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import mmap
import multiprocessing
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

PAGE = mmap.PAGESIZE
FLOAT = np.dtype(np.float32)
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


class GuardedMemory:
    """A region of memory between two pages without any permission."""

    def __init__(self, size_bytes: int) -> None:
        inside = -(-size_bytes // PAGE) * PAGE
        self._map = mmap.mmap(-1, inside + 2 * PAGE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        libc = ctypes.CDLL(None, use_errno=True)
        for guard in (address, address + PAGE + inside):
            assert libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(PAGE), 0) == 0
        self.floats = np.frombuffer(self._map, np.float32, inside // 4, PAGE)

    def place(self, count: int, *, at_end: bool, dtype: np.dtype[Any] = FLOAT) -> np.ndarray[Any, Any]:
        """`count` elements that touch the page after them, or the page before them."""
        elements = self.floats.view(dtype)
        return elements[elements.size - count :] if at_end else elements[:count]


def in_child(check: Callable[..., None], *arguments: Any) -> None:
    """Run a check in a forked child; its assertion, or the signal that killed it, becomes an assertion here."""
    context = multiprocessing.get_context("fork")
    reader, writer = context.Pipe(duplex=False)
    child = context.Process(target=_report, args=(writer, check, arguments))
    gc.disable()  # until it is `_alone`
    try:
        child.start()
    finally:
        gc.enable()
    writer.close()
    try:
        problem = reader.recv()
    except EOFError:
        problem = "it was killed: memory outside the operands was touched, or a shape of the tile is not handled"
    child.join()
    assert problem is None, f"exit code {child.exitcode}: {problem}"


def _report(writer: Connection, check: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    _alone()
    faulthandler.disable()
    try:
        check(*arguments)
        writer.send(None)
    except BaseException:
        writer.send(traceback.format_exc())


def _alone() -> None:
    """In the child: it must not collect objects of the parent, whose threads it does not have."""
    gc.freeze()
    gc.enable()
