"""The text of a kernel while it is written: a scope for its body, and one for every loop that is open."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tilewright.block.integers import IntegerExpression, Variable
from tilewright.render.triton.integers import integer_text, variables_of

INDENT = "    "
RESERVED = frozenset((*keyword.kwlist, "tl", "triton", "float", "range", "pid"))


@dataclass(slots=True)
class Scope:
    """The lines of an open loop, and the variables that it has."""

    variables: set[Variable] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)


class Scopes:
    """The open scopes, outermost first. Lines go to the innermost one, or to one around it: then they stand before the loop."""

    def __init__(self) -> None:
        self.open = [Scope()]
        self.names: dict[Variable, str] = {}
        self._taken: set[str] = set()

    @property
    def level(self) -> int:
        """The number of the innermost scope."""
        return len(self.open) - 1

    def put(self, line: str, level: int | None = None) -> None:
        """Add a line to a scope."""
        self.open[self.level if level is None else level].lines.append(line)

    def fresh(self, stem: str) -> str:
        """A name that the kernel does not have yet."""
        base = identifier(stem)
        name = next(name for name in _numbered(base) if name not in self._taken)
        self._taken.add(name)
        return name

    def text(self, value: IntegerExpression) -> str:
        """An integer expression."""
        return integer_text(value, self.names)

    def home(self, values: Iterable[IntegerExpression]) -> int:
        """The outermost scope in which all of these can be computed."""
        used = frozenset().union(*map(variables_of, values))
        return max((level for level, scope in enumerate(self.open) if scope.variables & used), default=0)

    def define(self, variable: Variable, text: str, stem: str) -> None:
        """Give a variable a name in the innermost scope."""
        name = self.fresh(stem)
        self.put(f"{name} = {text}")
        self.names[variable] = name
        self.open[self.level].variables.add(variable)

    def enter(self) -> None:
        """Open the scope of a loop."""
        self.open.append(Scope())

    def leave(self, header: str) -> None:
        """Close the innermost scope: its lines go below a header to the scope around it."""
        scope = self.open.pop()
        lines = self.open[-1].lines
        lines.append(header)
        lines.extend(INDENT + line for line in scope.lines or ["pass"])


def identifier(text: str) -> str:
    """A name of Python that reads like a text.

    >>> identifier("%a0"), identifier("x"), identifier("for"), identifier("2d")
    ('a0', 'x', 'for_', 'v2d')
    """
    name = re.sub("[^0-9a-zA-Z]+", "_", text).strip("_") or "v"
    name = f"v{name}" if name[0].isdigit() else name
    return f"{name}_" if name in RESERVED else name


def _numbered(base: str) -> Iterator[str]:
    yield base
    number = 1
    while True:
        yield f"{base}_{number}"
        number += 1
