"""Loops of functions over arrays, as tile programs in C: what the studies of functions run."""

from __future__ import annotations

import ctypes
import platform
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.render.c.tiles.rendering import TileTexts
from tilewright.runtime.compilation import toolchain
from tilewright.tile.builder import Builder
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.functions.registry import Function
from tilewright.tile.program import TileProgram
from tilewright.tile.types import vector

EXPORTED = '__attribute__((visibility("default")))'
WHOLE = 64
"""Elements that lengths are multiples of."""


def loop(name: str, function: Function, dtype: str, operands: int, lanes: int) -> TileProgram:
    """y[i] = function(x0[i], ...) for whole vectors."""
    b, of = Builder(), vector(dtype, lanes)
    count = b.integer("count")
    given = [b.buffer(f"x{i}", dtype) for i in range(operands)]
    written = b.buffer("y", dtype, is_written=True)
    with b.loop("i", 0, count, lanes) as i:
        b.store(written, i, function(b, *[b.load(one, i, of) for one in given]))
    return b.program(name)


class Library:
    """Loops of one dialect."""

    def __init__(self, dialect: Dialect, loops: Sequence[TileProgram]) -> None:
        """Compile them."""
        texts = TileTexts(dialect)
        functions = [texts.function(one, EXPORTED) for one in loops]
        text = "\n".join([texts.definitions(), *functions, ""])
        content = toolchain.find().compile(text, architecture=platform.machine(), features=dialect.features)
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "loops.so"
            path.write_bytes(content)
            self._library = ctypes.CDLL(str(path))

    def call(self, name: str, *arrays: np.ndarray[Any, Any]) -> Callable[[], None]:
        """A call on arrays of one length, a multiple of `WHOLE`, the last of them the result."""
        function = getattr(self._library, name)
        function.restype = None
        arguments = [ctypes.c_long(arrays[-1].size), *(ctypes.c_void_p(one.ctypes.data) for one in arrays)]
        return lambda: function(*arguments)

    def computed(self, name: str, *operands: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """A function of arrays of any length."""
        size = operands[0].size
        padded = [np.pad(one, (0, -size % WHOLE)) for one in operands]
        result = np.empty_like(padded[0])
        self.call(name, *padded, result)()
        return result[:size]
