"""`tw.load`: kernels, functions and sessions of packages."""

from __future__ import annotations

import os
from typing import Any

from tilewright.api.calls.saved_calls import SavedCall, SavedFunction
from tilewright.api.saved_functions import function_of, kernel_of
from tilewright.api.tracebacks import Shortened
from tilewright.errors import TilewrightError
from tilewright.runtime.packages.layout import Content
from tilewright.runtime.packages.reading import open_package


def load(path: str | os.PathLike[str], *, threads: int | None = None, mmap: bool = True, verify: bool = False) -> Any:
    """What `save` wrote: a kernel, a function, or a session. A package holds native code: load those only that you trust.

    Neither planner, code generation, onnx nor a compiler is needed. Constants are mapped, and shared with other processes that
    load the file; whoever writes into it in place (and does not replace it) changes or ends these. With `mmap=False` they are
    copied. Digests of plans and code are always compared, those of constants with `verify`. `threads` as for `tw.jit`.

    Raises `InvalidModel` for a file that is damaged, of another version, or for other CPUs.
    """
    with Shortened():
        if threads is not None and (not isinstance(threads, int) or threads < 1):
            raise TilewrightError(f"threads={threads!r} is no number of threads", where="tw.load", hint="use 1, 2, ... or None")
        package = open_package(path, mmap=mmap, verify=verify)
        match package.header.content:
            case Content.KERNEL:
                return kernel_of(package.plan(Content.KERNEL, SavedCall), package, threads)
            case Content.FUNCTION:
                return function_of(package.plan(Content.FUNCTION, SavedFunction), package, threads)
            case Content.SESSION:
                from tilewright.api.onnx.session import session_of

                return session_of(package, threads)
