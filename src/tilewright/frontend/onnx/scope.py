"""Names: every value of a model gets one that no other value has, so that bodies can be taken apart and put together."""

from __future__ import annotations

from tilewright.errors import InvalidModel
from tilewright.graph.short_names import short_name
from tilewright.ort_errors import InvalidArgument, raised_as


class Names:
    """All unique names of a model."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """The name itself, shortened if it is long, or with a number behind it.

        >>> names = Names()
        >>> names.unique("x"), names.unique("x")
        ('x', 'x@2')
        """
        found = name = short_name(name)
        while not found or found in self._counts:
            self._counts[name] = self._counts.get(name, 1) + 1
            found = f"{name}@{self._counts[name]}"
        self._counts[found] = 1
        return found


class Scope:
    """The names of a graph, and of the graphs around it."""

    def __init__(self, names: Names, outer: Scope | None = None) -> None:
        self._names = names
        self._outer = outer
        self._defined: dict[str, str] = {}

    def define(self, name: str, where: str) -> str:
        """A new value. Raises `InvalidModel` where the graph has one of that name."""
        if not isinstance(name, str):  # protobuf gives the bytes of what is no UTF-8
            raise InvalidModel(f"{name!r} is no name", where=where, why="it is not UTF-8")
        if name in self._defined:
            raise InvalidModel(f"two values are named {name!r}", where=where)
        self._defined[name] = self._names.unique(name)
        return self._defined[name]

    def bind(self, name: str, unique: str) -> None:
        """Another name, inside, of a value that exists outside."""
        self._defined[name] = unique

    def owns(self, name: str) -> bool:
        """Whether the graph itself defines it."""
        return name in self._defined

    def find(self, name: str, where: str) -> str:
        """The unique name of a value; "" stays. Raises `InvalidModel` if there is no such value."""
        if not name:
            return ""
        scope: Scope | None = self
        while scope is not None:
            if name in scope._defined:
                return scope._defined[name]
            scope = scope._outer
        problem = InvalidModel(f"{where} reads {name!r}, which nothing defines", where=where)
        raise raised_as(problem, InvalidArgument)
