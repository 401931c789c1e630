"""The addresses that compiled C touches: GCC's hooks for ThreadSanitizer, answered by a few lines of C that keep lines.

Loads and stores behind built-in functions of an instruction set have no hooks: plans for portable vectors show all of theirs.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from tilewright import compiler
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.plan.types import ModelPlan
from tilewright.render.c.program import ENTRY_POINT
from tilewright.runtime import artifacts
from tilewright.runtime.compilation.toolchain import Toolchain

Array = np.ndarray[Any, np.dtype[Any]]
Lines = tuple[set[int], set[int]]
"""Those that are read, and those that are written."""
LINE_BYTES = 64
_plain = Toolchain.compile
HOOKS = """\
#include <stddef.h>
enum { MOST = 64 };
static struct { size_t start, end; unsigned char *seen; } watched[MOST];
static int count;
void watch_nothing(void) { count = 0; }
void watch(size_t start, size_t size, unsigned char *seen) {
  watched[count].start = start, watched[count].end = start + size, watched[count].seen = seen;
  count++;
}
static void touch(const void *p, size_t size, unsigned char how) {
  for (int i = 0; i < count; i++)
    if ((size_t)p >= watched[i].start && (size_t)p < watched[i].end)
      for (size_t line = ((size_t)p - watched[i].start) / 64; line <= ((size_t)p + size - 1 - watched[i].start) / 64; line++)
        watched[i].seen[line] |= how;
}
void __tsan_init(void) {}
void __tsan_func_entry(void *p) { (void)p; }
void __tsan_func_exit(void) {}
void __tsan_read_range(void *p, size_t size) { touch(p, size, 1); }
void __tsan_write_range(void *p, size_t size) { touch(p, size, 2); }
#define HOOK(size) \\
  void __tsan_read##size(void *p) { touch(p, size, 1); } \\
  void __tsan_write##size(void *p) { touch(p, size, 2); } \\
  void __tsan_unaligned_read##size(void *p) { touch(p, size, 1); } \\
  void __tsan_unaligned_write##size(void *p) { touch(p, size, 2); }
HOOK(1) HOOK(2) HOOK(4) HOOK(8) HOOK(16)
"""


def touched(model_plan: ModelPlan, inputs: Mapping[str, Array]) -> dict[str, Lines]:
    """The lines that are read, and those that are written, of every input and output: line 0 begins where the array does."""
    hooks = _hooks()
    with patch.object(Toolchain, "compile", _compiled), artifacts.ignored():
        executable = compiler.build(model_plan, threads=1)
    given = {slot.name: _aligned(inputs[slot.name]) for slot in executable.signature.inputs}
    names = [slot.name for slot in executable.signature.outputs]
    results = dict(zip(names, map(_aligned, executable.new_outputs([*given.values()])), strict=True))
    seen = {name: np.zeros(-(-one.nbytes // LINE_BYTES) + 1, np.uint8) for name, one in (given | results).items()}
    for name, array in (given | results).items():
        hooks.watch(array.ctypes.data, array.nbytes, seen[name].ctypes.data)
    executable.run([*given.values()], [*results.values()])
    hooks.watch_nothing()
    return {name: (_lines(lines & 1), _lines(lines & 2)) for name, lines in seen.items()}


def _lines(flags: Array) -> set[int]:
    return set(np.flatnonzero(flags).tolist())


def _aligned(array: Array) -> Array:
    memory = np.zeros(array.nbytes + 4096, np.uint8)
    start = -memory.ctypes.data % 4096
    place = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    place[...] = array
    return place


@cache
def _hooks() -> ctypes.CDLL:
    """The library that answers, whose symbols all others see."""
    with tempfile.TemporaryDirectory(prefix="tilewright-hooks-") as directory:
        source, library = Path(directory, "hooks.c"), Path(directory, "hooks.so")
        source.write_text(HOOKS)
        subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        loaded = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    loaded.watch.argtypes = (ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p)
    return loaded


def _compiled(
    toolchain: Toolchain,
    text: str,
    linked: tuple[KernelSource, ...] = (),
    *,
    objects: object = None,
    architecture: str = "x86_64",
    features: frozenset[str] = frozenset(),
) -> bytes:
    """As `Toolchain.compile`, with hooks at every load and store of generated code."""
    if ENTRY_POINT not in text:
        return _plain(toolchain, text, linked, architecture=architecture, features=features)
    flags = [flag for flag in toolchain.flags(architecture, features) if flag != "-shared"]
    with tempfile.TemporaryDirectory(prefix="tilewright-hooked-") as directory:
        objects_made = []
        for number, source in enumerate((KernelSource(SourceKind.C, text), *linked)):
            assert source.kind is SourceKind.C, source.kind
            path = Path(directory, f"{number}.c")
            path.write_text(str(source.content))
            objects_made.append(str(path.with_suffix(".o")))
            hooked = ["-O1", "-fsanitize=thread", "-c", str(path), "-o", objects_made[-1]]
            subprocess.run([*toolchain.command, *flags, *hooked], check=True)
        library = Path(directory, "library.so")
        subprocess.run([*toolchain.command, "-shared", "-o", str(library), *objects_made, "-lm"], check=True)
        return library.read_bytes()
