"""Tile programs of another architecture, cross-compiled as one program that qemu-user runs: it reads arrays, and writes them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tests.support.emulated import EMULATORS, LIBRARY_FLAGS
from tests.support.kernel_build import CROSS, FLAGS
from tests.support.tiles import UNUSED, Case, unequal
from tilewright.render.c.tiles.rendering import TileTexts
from tilewright.runtime.compilation.flags import BY_FAMILY, for_features
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.interpreter import interpret
from tilewright.tile.program import Buffer
from tilewright.tile.rounding import Array

HEAD = """\
#include <stdio.h>
#include <stdlib.h>
static void *taken(size_t size) {
  void *memory = malloc(size);
  if (fread(memory, 1, size, stdin) != size)
    exit(1);
  return memory;
}
"""


def differences(cases: Sequence[Case], dialect: Dialect, directory: Path) -> list[str]:
    """A text for each case that leaves something else than the interpreter does; programs take buffers alone."""
    source, program = directory / "programs.c", directory / "programs"
    source.write_text(_text(cases, dialect))
    machine = for_features("gcc", dialect.architecture, dialect.features)
    flags = [one for one in FLAGS if one not in LIBRARY_FLAGS]
    words = [CROSS[dialect.architecture], "-static", *BY_FAMILY["gcc"], *flags, *machine, *UNUSED]
    subprocess.run([*words, str(source), "-o", str(program)], check=True)
    given = b"".join(one.tobytes() for case in cases for _, one in _buffers(case))
    run = subprocess.run([*EMULATORS[dialect.architecture], str(program)], input=given, capture_output=True, check=True)
    return [*_unequal(cases, dialect, run.stdout)]


def _buffers(case: Case) -> Iterator[tuple[Buffer, Array]]:
    for parameter, array in zip(case.program.parameters, case.arguments, strict=True):
        assert isinstance(parameter, Buffer)
        assert isinstance(array, np.ndarray)
        yield parameter, array


def _text(cases: Sequence[Case], dialect: Dialect) -> str:
    texts = TileTexts(dialect)
    functions = [texts.function(one.program, "static ") for one in cases]
    calls = [line for case in cases for line in _call(case)]
    return "\n".join([HEAD, texts.definitions(), *functions, "int main(void) {", *calls, "return 0;", "}", ""])


def _call(case: Case) -> Iterator[str]:
    buffers = [*_buffers(case)]
    yield "{"
    yield from (f"void *x{number} = taken({array.nbytes});" for number, (_, array) in enumerate(buffers))
    yield f"{case.program.name}({', '.join(f'x{number}' for number in range(len(buffers)))});"
    for number, (buffer, array) in enumerate(buffers):
        if buffer.is_written:
            yield f"fwrite(x{number}, 1, {array.nbytes}, stdout);"
    yield "}"


def _unequal(cases: Sequence[Case], dialect: Dialect, found: bytes) -> Iterator[str]:
    for case in cases:
        wanted = [array.copy() for _, array in _buffers(case)]
        interpret(case.program, *wanted, fuses=dialect.fuses)
        for (buffer, _), want in zip(_buffers(case), wanted, strict=True):
            if buffer.is_written:
                got, found = np.frombuffer(found[: want.nbytes], want.dtype), found[want.nbytes :]
                if text := unequal(buffer.dtype, want, got):
                    yield f"{case.program.name}: {buffer.name} {text}"
