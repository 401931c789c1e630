"""What an algorithm is: a way to compute one operator by a small graph of operators, and the licence that it needs.

The registry has every file of this folder, and of those in it, with an `ALGORITHM`, or several as `ALGORITHMS`. An operator of a
graph is expanded by the algorithm chosen for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import field
from functools import cache, wraps
from math import prod
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from tilewright import package_files
from tilewright.errors import InternalError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.licences import Licence
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.types import Graph, Operator, Tensor, planned_extent
from tilewright.machine.machine import Machine
from tilewright.precision import Precision
from tilewright.records import record, replace

Found = TypeVar("Found")
Arguments = ParamSpec("Arguments")


class _Known(Protocol):
    """What keeps answers to questions about it."""

    @property
    def known(self) -> dict[Hashable, Any]:
        """By question."""


Subject = TypeVar("Subject", bound=_Known)


def found_once(function: Callable[Concatenate[Subject, Arguments], Found]) -> Callable[Concatenate[Subject, Arguments], Found]:
    """A function of a problem, or of roles of axes, that is evaluated once for each: algorithms ask the same of one problem."""

    @wraps(function)
    def answer(subject: Subject, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Found:
        key = (function, arguments, *named.items())
        if key not in subject.known:
            subject.known[key] = function(subject, *arguments, **named)
        found: Found = subject.known[key]
        return found

    return answer


def expected(found: Found | None) -> Found:
    """What an algorithm that applies has found of its problem, and so is there when it expands it."""
    assert found is not None
    return found


@record
class Problem:
    """An operator to be computed, with what an algorithm may decide by: types, not values."""

    operator: Operator
    tensors: Mapping[str, Tensor]
    """By name; at least those that the operator reads and writes."""
    constants: frozenset[str]
    """Tensors that do not change between calls: what operators make of them is computed once, when a kernel is loaded."""
    machine: Machine
    known: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What was found out of it: `found_once`."""

    def operand(self, read: int) -> Tensor:
        """The tensor that a read looks into."""
        return self.tensors[self.operator.reads[read].tensor]

    @property
    def result(self) -> Tensor:
        """The tensor that the operator writes."""
        return self.tensors[self.operator.write.tensor]

    def is_constant(self, read: int) -> bool:
        """Whether a read looks into a tensor that does not change between calls."""
        return self.operator.reads[read].tensor in self.constants


def by_none(problem: Problem) -> frozenset[str]:
    """No other algorithm is known to be as fast."""
    return frozenset()


@record
class Algorithm:
    """A way to compute an operator. A file of this folder that defines `ALGORITHM` is found by the registry.

    `applies` says whether `expand` may be called. `expand` records operators that compute the problem's result, and returns a
    tensor of the result's shape and element type; all tensors of the problem are known to the builder. An expansion may read
    itself as an alternative of one operator to another, so it must not depend on the operators around it.
    """

    name: str
    """As `explain` prints it."""
    licence: Licence
    """How results may differ from those of the operator as it is written. A checked one applies `report_not_finite` to them."""
    applies: Callable[[Problem], bool]
    expand: Callable[[Problem, Builder], Tensor]
    reads_tiles: bool = False
    """Whether it reads its operands by tiles that overlap by half or more: then these lie in memory, and chains end before it.
    What makes them would run again for each tile, which no price has favoured, and looking for it takes most of the planning."""
    precision: Precision = Precision.STRICT
    """What it needs at least: errors relative to the largest element of a tile are those of "float32" or, if larger, "fast"."""
    beaten_by: Callable[[Problem], frozenset[str]] = by_none
    """Algorithms of which one computes the same products in no more time: where all apply, it is wanted for fusion only."""

    def is_beaten(self, problem: Problem, offered: Collection[Algorithm]) -> bool:
        """Whether one of the algorithms that are offered takes no more time than this one."""
        better = self.beaten_by(problem)
        return bool(better) and better <= {algorithm.name for algorithm in offered}

    def is_allowed(self, problem: Problem, precision: Precision) -> bool:
        """Whether an operator may be computed so, whatever it is."""
        return precision.allows(self.precision) and self.licence.permits([problem.result])


def applicable(problem: Problem, precision: Precision = Precision.FLOAT32) -> tuple[Algorithm, ...]:
    """The algorithms that may compute an operator with a precision, in the order of their names."""
    allowed = (algorithm for algorithm in registered() if algorithm.is_allowed(problem, precision))
    return tuple(algorithm for algorithm in allowed if algorithm.applies(problem))


def beaten(problem: Problem, offered: Collection[Algorithm]) -> frozenset[Algorithm]:
    """Those of the algorithms that may compute an operator which are not the fastest, whatever their numbers are."""
    return frozenset(algorithm for algorithm in offered if algorithm.is_beaten(problem, offered))


@cache
def registered() -> tuple[Algorithm, ...]:
    """All algorithms, in the order of their names.

    >>> [algorithm.name for algorithm in registered() if algorithm.name == "as written"]
    ['as written']
    """
    modules = package_files.modules(__package__)
    found = [module.ALGORITHM for module in modules if hasattr(module, "ALGORITHM")]
    found += [algorithm for module in modules for algorithm in getattr(module, "ALGORITHMS", ())]
    found.sort(key=lambda one: one.name)
    if len({algorithm.name for algorithm in found}) < len(found):
        raise InternalError(f"two algorithms have one name: {', '.join(algorithm.name for algorithm in found)}")
    return tuple(found)


def expanded(graph: Graph, chosen: Mapping[str, Algorithm], constants: frozenset[str], machine: Machine) -> Graph:
    """The graph in which each named operator is computed by its algorithm; all others stay.

    The operators of an expansion have new names, but for the largest reduction among them, which keeps the operator's. Constants
    are added where an algorithm has them.
    """
    builder = Builder(graph.name)
    builder.tensors = {tensor.name: tensor for tensor in graph.tensors}
    for name in (*builder.tensors, *(operator.name for operator in graph.operators)):
        builder.unique(name)
    for operator in graph.operators:
        if operator.name in chosen:
            _expand(Problem(operator, builder.tensors, constants, machine), chosen[operator.name], builder)
        else:
            builder.operators.append(operator)
    tensors, known = tuple(builder.tensors.values()), (*graph.constants, *builder.constants.items())
    return with_operators(replace(graph, tensors=tensors, constants=known), builder.operators)


def _expand(problem: Problem, algorithm: Algorithm, builder: Builder) -> None:
    start = len(builder.operators)
    made, wanted = algorithm.expand(problem, builder), problem.result
    if (made.shape, made.dtype) != (wanted.shape, wanted.dtype):
        raise InternalError(f"{algorithm.name} makes {made} of {problem.operator.name}, not {wanted}")
    operators = builder.operators[start:]
    reductions = [operator for operator in operators if operator.reduction is not None]
    reductions.sort(key=lambda operator: -prod(planned_extent(axis.extent) for axis in operator.axes))
    names = {operator.name: problem.operator.name for operator in reductions[:1]}
    tensors = {made.name: wanted.name}
    builder.operators[start:] = [_renamed(operator, names, tensors) for operator in operators]


def _renamed(operator: Operator, names: Mapping[str, str], tensors: Mapping[str, str]) -> Operator:
    renamed = operator.with_accesses(lambda access: access.of(tensors.get(access.tensor, access.tensor)))
    return replace(renamed, name=names[operator.name]) if operator.name in names else renamed
