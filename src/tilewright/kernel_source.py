"""What a compiler or a linker is given: C, assembly, or an object file."""

from __future__ import annotations

from enum import Enum

from tilewright.records import record


class SourceKind(Enum):
    """What a kernel is delivered as."""

    C = "c"
    ASSEMBLY = "assembly"
    OBJECT = "object"


@record
class KernelSource:
    """The text (C or assembly) or the bytes (object file) that defines the function: a translation unit of its own.

    C texts in the same vector dialect may also be put into one translation unit.
    """

    kind: SourceKind
    content: str | bytes
    joins: bool = False
    """Whether it is C whose external functions are weak, so that one object may hold several (`translation_units.joined`)."""

    @property
    def octets(self) -> bytes:
        """The content as it stands in a file."""
        return self.content.encode() if isinstance(self.content, str) else self.content
