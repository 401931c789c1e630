"""The cheapest assignment of a value to each of some variables, where costs are tables over a few variables each: exact.

Variables are eliminated one by one: the tables that speak of a variable become one table over their other variables, with the
cheapest value of it for each of their assignments (U. Bertele, F. Brioschi, "Nonserial Dynamic Programming", 1972). Work grows
with the largest table that arises, which stays small where a graph is a chain with short branches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

Variable: TypeAlias = str
Value: TypeAlias = int


@dataclass(frozen=True, slots=True)
class Table:
    """A cost for every assignment of values to some variables, in their order."""

    variables: tuple[Variable, ...]
    costs: Mapping[tuple[Value, ...], float]

    def at(self, values: Mapping[Variable, Value]) -> float:
        """The cost at an assignment of these variables and any others."""
        return self.costs[tuple(values[variable] for variable in self.variables)]


def cheapest(values: Mapping[Variable, Sequence[Value]], tables: Iterable[Table]) -> dict[Variable, Value]:
    """The values of all variables with the smallest sum of costs; of equal sums the one with the earlier values.

    >>> costs = Table(("a", "b"), {(0, 0): 2.0, (0, 1): 0.0, (1, 0): 1.0, (1, 1): 3.0})
    >>> cheapest({"a": (0, 1), "b": (0, 1)}, [costs, Table(("b",), {(0,): 0.0, (1,): 1.5})])
    {'a': 1, 'b': 0}
    """
    left, waiting = list(tables), set(values)
    eliminated: list[tuple[Variable, list[Table]]] = []
    while waiting:
        variable = min(waiting, key=lambda name: (len(_neighbours(name, left)), list(values).index(name)))
        waiting.remove(variable)
        of_variable = [table for table in left if variable in table.variables]
        left = [table for table in left if variable not in table.variables]
        left.append(_without(variable, of_variable, values))
        eliminated.append((variable, of_variable))
    found: dict[Variable, Value] = {}
    for variable, of_variable in reversed(eliminated):
        found[variable] = min(values[variable], key=lambda value: _sum(of_variable, found | {variable: value}))
    return {variable: found[variable] for variable in values}


def _neighbours(variable: Variable, tables: Iterable[Table]) -> set[Variable]:
    return {name for table in tables if variable in table.variables for name in table.variables} - {variable}


def _without(variable: Variable, tables: Sequence[Table], values: Mapping[Variable, Sequence[Value]]) -> Table:
    """The tables as one, in which a variable has its cheapest value."""
    others = tuple(sorted(_neighbours(variable, tables)))
    costs = {}
    for assignment in product(*(values[name] for name in others)):
        known = dict(zip(others, assignment, strict=True))
        costs[assignment] = min(_sum(tables, known | {variable: value}) for value in values[variable])
    return Table(others, costs)


def _sum(tables: Iterable[Table], assignment: Mapping[Variable, Value]) -> float:
    return sum(table.at(assignment) for table in tables)
