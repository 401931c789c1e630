"""Instructions of single ISAs in C that is written for all of them.

In a text `#instructions <name>` stands for the branches `#if`, `#elif`, ... of the ISAs that do better than C, each under its own
condition; the lines from there to `#end` are the last branch, for all others. A module of this folder that has such branches
declares `INSTRUCTIONS`: a new ISA is a file, and no other text names it. `grep -r '#instructions'` finds the places.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

from tilewright.graph.types import element_bytes
from tilewright.kernels.c_files import CTexts
from tilewright.kernels.helpers import filled
from tilewright.records import record

PLACE = re.compile(r"^#instructions (\w+)\n((?:(?!#instructions ).*\n)*?)#end\n", re.MULTILINE)
IF = re.compile(r"\A#if(?:def (\w+)| (.+))")


@record
class Instructions:
    """The branches of an ISA: sections of its C file, by the names of their places; a branch of `<name>_<bits>` follows that of
    `<name>` where elements of so many bits are read or stored."""

    texts: CTexts
    of_elements: Callable[[str], Mapping[str, str]]
    """What stands in the places of these texts for elements of a type: instructions that widen and narrow them."""

    def branches(self, name: str, dtype: str) -> Iterator[str]:
        """Those of a place, for elements of a type if there is one."""
        names = (name, f"{name}_{8 * element_bytes(dtype)}") if dtype else (name,)
        yield from (filled(self.texts[one], self.of_elements(dtype)) for one in names if one in self.texts)


def with_instructions(text: str, dtype: str = "") -> str:
    """A text with the branches of all ISAs; `dtype` is the type of the elements that it reads or stores.

    >>> with_instructions("#instructions unknown\\nreturn x;\\n#end\\n")
    'return x;\\n'
    """
    while found := PLACE.search(text):
        text = f"{text[: found.start()]}{_chosen(found[1], dtype, found[2])}{text[found.end() :]}"
    return text


def _chosen(name: str, dtype: str, otherwise: str) -> str:
    """All branches of a place, the one for all other ISAs last."""
    first, *more = [*(branch for isa in _isas() for branch in isa.branches(name, dtype)), ""]
    if not first:
        return otherwise
    further = (IF.sub(lambda found: f"#elif {found[2] or f'defined({found[1]})'}", branch) for branch in more)
    return "".join((first, *further, *(("#else\n", otherwise) if otherwise else ()), "#endif\n"))


@cache
def _isas() -> tuple[Instructions, ...]:
    """What the modules of this folder declare, by their names."""
    found = sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)], prefix=f"{__package__}."))
    modules = (import_module(name) for name in found)
    return tuple(module.INSTRUCTIONS for module in modules if hasattr(module, "INSTRUCTIONS"))
