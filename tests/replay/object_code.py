"""The instructions and constants that a compiler makes of C text: sections of its shared library, without names and addresses."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tests.replay.record import Record, digest
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.runtime.compilation import toolchain

SECTIONS = (".text", ".rodata", ".data")


def object_digest(record: Record) -> str:
    """Of the code that the C compiler makes, or zig's where it compiles for another architecture only."""
    main, *linked = record.sources
    library = _compiler(record.architecture).compile(
        main,
        linked=tuple(KernelSource(SourceKind.C, text) for text in linked),
        architecture=record.architecture,
        features=frozenset(record.features),
    )
    return digest(*(f"{name} {content.hex()}" for name, content in sections(library) if name.startswith(SECTIONS)))


@cache
def _compiler(architecture: str) -> toolchain.Toolchain:
    found = toolchain.find()
    spec = find_spec("ziglang")
    if architecture == "x86_64" or spec is None or spec.origin is None:
        return found
    return replace(found, command=(str(Path(spec.origin).with_name("zig")), "cc"), family="zig", rejected=frozenset())


def sections(library: bytes) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the sections of a little-endian ELF64 file (System V ABI, chapter 4)."""
    (table,) = struct.unpack_from("<Q", library, 0x28)
    size, count, names = struct.unpack_from("<HHH", library, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", library, table + size * number) for number in range(count)]
    text = headers[names][4]
    for name, kind, _, _, offset, length in headers:
        if kind == 1:  # SHT_PROGBITS
            yield library[text + name : library.index(b"\0", text + name)].decode(), library[offset : offset + length]
