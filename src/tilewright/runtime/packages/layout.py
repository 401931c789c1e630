"""Layout of a package: a preamble, a header of JSON, and sections of code, plans and constants, which are mapped.

    0     magic, 16 bytes
    16    version of the product, 32 bytes, ended by zeros
    48    number of this format; zero (4 bytes each); bytes of the header (8), all little-endian
    64    SHA-256 of all bytes before and of the header
    96    the header (`Header`, written by `graph/data_format.py`)
    ...   the sections, on a page if they fill one, else on a cache line; offsets count from the first page behind the header

A package is read in this order, and refused at the first thing that does not fit. Nothing of it is run, and nothing but the
preamble is interpreted, before its digest has been compared: whoever made the file made its digests, too, so that whatever else
it says is checked by type and by range.
"""

from __future__ import annotations

import struct
from enum import Enum

from tilewright.errors import InvalidModel
from tilewright.graph import data_format
from tilewright.graph.data_format import Unreadable
from tilewright.records import record
from tilewright.runtime.digests import sha256

MAGIC = b"\x93TILEWRIGHT\r\n\x1a\n\0"
FORMAT = 1
PREAMBLE = struct.Struct("<16s32sIIQ32s")
PAGE_BYTES = 4096
LINE_BYTES = 64
MOST_HEADER_BYTES = 64 << 20


class InvalidPackage(InvalidModel):
    """A package that cannot be used: damaged, of another version, or for other CPUs."""


class Content(Enum):
    """What the plans of a package describe."""

    KERNEL = "kernel"
    FUNCTION = "function"
    SESSION = "session"


@record
class Section:
    """A part of the file: its place behind the header, and the SHA-256 of its bytes in hexadecimal digits."""

    offset: int
    size_bytes: int
    digest: str


@record
class Target:
    """The CPUs that a plan is for: their architecture and the features that its code uses, named as in /proc/cpuinfo."""

    name: str
    architecture: str
    features: frozenset[str]
    plan: int
    """The section of the plan."""


@record
class Header:
    """What is in a package."""

    abi: str
    """`native.digest()` of the process that wrote it."""
    content: Content
    runtime: int
    """The section of the library of thread pool and launcher."""
    targets: tuple[Target, ...]
    sections: tuple[Section, ...]


def refused(path: str, why: str, hint: str = "") -> InvalidPackage:
    """The error of a package that cannot be used."""
    return InvalidPackage("the saved package cannot be used", where=path, why=why, hint=hint)


def encode(header: Header, version: str) -> tuple[bytes, int]:
    """The bytes in front of the sections, and how many there are with those that fill the page."""
    text = data_format.encode(header, Header)
    start = PREAMBLE.pack(MAGIC, version.encode(), FORMAT, 0, len(text), bytes(32))[:-32]
    content = start + sha256(start + text) + text
    return content, aligned(len(content), PAGE_BYTES)


def decode(content: memoryview, path: str, version: str) -> tuple[Header, int]:
    """The header, and where the sections begin. Raises `InvalidPackage`."""
    text = _checked_text(content, path, version)
    try:
        header = data_format.decode(bytes(text), Header)
    except Unreadable as problem:
        raise refused(path, f"its header means nothing: {problem}") from None
    begin = aligned(PREAMBLE.size + len(text), PAGE_BYTES)
    if why := _misplaced(header, len(content) - begin):
        raise refused(path, why)
    return header, begin


def _checked_text(content: memoryview, path: str, version: str) -> memoryview:
    """The header's text, whose digest is right."""
    if len(content) < PREAMBLE.size or bytes(content[: len(MAGIC)]) != MAGIC:
        raise refused(path, "it is no package, or its beginning is damaged")
    _, product, number, zero, size, digest = PREAMBLE.unpack(content[: PREAMBLE.size])
    written = product.rstrip(b"\0").decode("ascii", "replace")
    if (written, number, zero) != (version, FORMAT, 0):
        why = f"Tilewright {written!r:.40} wrote it in format {number}; this is {version}, which reads format {FORMAT}"
        raise refused(path, why, "save it again with this version")
    if size > min(MOST_HEADER_BYTES, len(content) - PREAMBLE.size):
        raise refused(path, f"its header has {size} bytes, the file {len(content)}: it is truncated or damaged")
    text = content[PREAMBLE.size : PREAMBLE.size + size]
    before = PREAMBLE.size - len(digest)
    if sha256(bytes(content[:before]) + bytes(text)) != digest:
        raise refused(path, "its header is damaged: the digest differs")
    return text


def _misplaced(header: Header, size_bytes: int) -> str:
    """What is wrong with sections that must lie one behind the other in so many bytes, and with their numbers; "" if nothing."""
    end = 0
    for number, section in enumerate(header.sections):
        if section.size_bytes < 0 or section.offset < end or section.offset % LINE_BYTES:
            return f"section {number} overlaps another one, or lies outside"
        end = section.offset + section.size_bytes
    if end != size_bytes:
        return f"its sections have {end} bytes, where the file has {max(size_bytes, 0)}: it is truncated or damaged"
    named = [header.runtime, *(target.plan for target in header.targets)]
    if not all(0 <= number < len(header.sections) for number in named):
        return "its header names sections that are not there"
    return "" if header.targets else "it has no plan"


def aligned(size: int, step: int) -> int:
    """The least multiple of a step that is not below a size.

    >>> aligned(4097, 4096)
    8192
    """
    return -(-size // step) * step
