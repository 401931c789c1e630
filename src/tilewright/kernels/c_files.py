"""C texts of a module: the sections of the C file beside it.

A line `// [name]` begins a section. Other lines that begin with `//` are for readers of the file: no emitted text has them. Names
between two @ are places that `helpers.filled` fills.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tilewright import package_files
from tilewright.records import record

SECTION = re.compile(r"^// \[(\w+)\]\n", re.MULTILINE)
FOR_READERS = re.compile(r"^//.*\n", re.MULTILINE)


@record
class CTexts:
    """The sections of the file beside a module, by their names; the file is read when the first of them is asked for.

    >>> from tilewright.kernels.dialects import vocabulary
    >>> CTexts(vocabulary.__file__)["comparisons"].splitlines()[0]
    'TW_INLINE tw_mask tw_equal(tw_vec a, tw_vec b) { return a == b; }'
    """

    module: str
    """The path of the module."""

    def __getitem__(self, section: str) -> str:
        return _sections(self.module)[section]

    def __contains__(self, section: str) -> bool:
        return section in _sections(self.module)


@cache
def _sections(module: str) -> Mapping[str, str]:
    _, *found = SECTION.split(package_files.read_text(Path(module).with_suffix(".c")))
    return {name: FOR_READERS.sub("", text).strip("\n") + "\n" for name, text in zip(found[::2], found[1::2], strict=True)}
