"""Which lanes of a vector are read or written, before it is known of which type: from some on, up to some, and others."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.records import record
from tilewright.tile.builder import Builder
from tilewright.tile.index import IndexLike
from tilewright.tile.program import Value
from tilewright.tile.types import Type


@record(eq=False)
class Lanes:
    """The lanes from all of `firsts` on, before all of `lasts`, and in all masks that `others` make for a type."""

    firsts: tuple[IndexLike, ...] = ()
    lasts: tuple[IndexLike, ...] = ()
    others: tuple[Callable[[Type], Value], ...] = ()

    @property
    def are_all(self) -> bool:
        """Whether none is left out."""
        return not self.firsts and not self.lasts and not self.others

    def also(self, more: Lanes) -> Lanes:
        """Those of these and of others."""
        lasts = tuple(dict.fromkeys((*self.lasts, *more.lasts)))
        return Lanes(self.firsts + more.firsts, lasts, self.others + more.others)

    def mask(self, b: Builder, of: Type) -> Value | None:
        """The mask of values of a type; None of all."""
        parts = [b.prefix(last, of) for last in self.lasts]
        parts += [~b.prefix(first, of) for first in self.firsts]
        parts += [other(of) for other in self.others]
        total = None
        for part in parts:
            total = part if total is None else total & part
        return total

    def between(self, start: int) -> Lanes:
        """Of elements that lie side by side, from one on: those from the first to the last if these lanes are every other one."""
        assert not self.others
        return Lanes(tuple(2 * first - start for first in self.firsts), tuple(2 * last - 1 - start for last in self.lasts))


ALL = Lanes()
