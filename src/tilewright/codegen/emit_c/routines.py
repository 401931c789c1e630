"""Routines: the functions of chains, and which of them are the same but for names.

Chains of equal layers differ in the names of tensors, operators and axes. These reach the text only as names of local variables
and in comments, so that two texts are the same code if they become equal when comments are left out and every local name is
replaced by the number of its first appearance. Whatever is not declared as a variable in the text stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewright.codegen.emit_c.c_text import COMMENT, WORD
from tilewright.codegen.loop_nest import KernelCall
from tilewright.kernels.helpers import Helper

RUN_ARGUMENTS = "const struct tw_context *context, void *const *tensors, const long *sizes"
DECLARED = re.compile(
    r"\b(?:long|int|float|double|char|short|unsigned|tw_\w+)\s+\*?\s*(?:const\s+)?([A-Za-z_]\w*)\s*(?=[=;,\[)])"
)
OWN_SUFFIXES = ("task", "run")


@dataclass(frozen=True, slots=True, eq=False)
class Routine:
    """A chain as functions: `name`_run gives its pointers and sizes to `name`_task, which computes the blocks of a thread."""

    name: str
    text: str
    pointers: tuple[str, ...]
    """What the caller passes as `tensors`: C expressions in the entry point."""
    sizes: tuple[str, ...]
    """What the caller passes as `sizes`."""
    calls: Sequence[KernelCall]
    """Of micro kernels."""
    helpers: frozenset[Helper] = frozenset()
    """What the text calls."""

    @property
    def declaration(self) -> str:
        """Of the function that others call."""
        return f"void {self.name}_run({RUN_ARGUMENTS});"

    def structure(self) -> str:
        """The text without comments and without the names that are its own."""
        return without_names(COMMENT.sub("", self.text), [f"{self.name}_{suffix}" for suffix in OWN_SUFFIXES])


def without_names(text: str, names: Iterable[str] = ()) -> str:
    """The text with numbers for these names and for those of variables that it declares.

    >>> without_names("const long at_m = 1; f(at_m, n);") == without_names("const long at_k = 1; f(at_k, n);")
    True
    >>> without_names("const long m = 1; f(m, n);") == without_names("const long m = 1; f(n, n);")
    False
    """
    local_names = {*names, *DECLARED.findall(text)}
    numbers: dict[str, str] = {}
    return WORD.sub(lambda word: numbers.setdefault(word[0], f"${len(numbers)}") if word[0] in local_names else word[0], text)


def shared(routines: Sequence[Routine]) -> list[Routine]:
    """In the place of every routine the first one that is the same code."""
    first: dict[str, Routine] = {}
    return [first.setdefault(routine.structure(), routine) for routine in routines]
