"""The registry of leaves: which leaf computes an operator. Nobody else asks what kind of operator it is.

A module of this package that defines `LEAF` is thereby registered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import groupby
from typing import Any

from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.statements import Transfer
from tilewright.coefficients import coefficients_for
from tilewright.graph.types import Operator, Tensor, element_bytes, planned_extent
from tilewright.leaves.declaration import (
    CFile,
    Constraints,
    CostProblem,
    Functions,
    KernelWork,
    Leaf,
    Lowered,
    LoweredTile,
    Mismatch,
    Problem,
    Refusal,
)
from tilewright.leaves.tile_programs.copies import transfers
from tilewright.machine.machine import Machine
from tilewright.package_files import modules


@cache
def leaves() -> tuple[Leaf, ...]:
    """All leaves, in the order in which they are asked."""
    found = (module.LEAF for module in modules(__package__) if hasattr(module, "LEAF"))
    return tuple(sorted(found, key=lambda leaf: (leaf.order, leaf.name)))


@cache
def _by_name() -> dict[str, Leaf]:
    return {leaf.name: leaf for leaf in leaves()}


def tiles_of(problem: Problem) -> tuple[LeafBinding, ...]:
    """The bindings of the first leaf that takes an operator, one for each of its tiles: one of the general leaves does."""
    return next(found for leaf in leaves() if not isinstance(found := leaf.match(problem), Refusal))


@lru_cache(1024)
def candidates(problem: Problem) -> tuple[LeafBinding, ...]:
    """The bindings of the first leaves that take an operator, all of equal order: one of the general leaves does."""
    matched = ((leaf.order, leaf.match(problem)) for leaf in leaves())
    taken = ((order, found[0]) for order, found in matched if not isinstance(found, Refusal))
    _, same_order = next(groupby(taken, key=lambda pair: pair[0]))
    return tuple(found for _, found in same_order)


def binding_of(problem: Problem, machine: Machine) -> LeafBinding:
    """The first leaf that takes an operator; of several of equal order the one whose time on all points is shortest."""
    found = candidates(problem)
    return found[0] if len(found) == 1 else min(found, key=lambda binding: _seconds(binding, problem, machine))


def _seconds(binding: LeafBinding, problem: Problem, machine: Machine) -> float:
    sizes = {axis.name: planned_extent(axis.extent) for axis in problem.operator.axes}
    lanes = machine.lanes(element_bytes(problem.exact_type or "float32"))
    level, write_bytes = machine.levels[machine.fusion_position], element_bytes(problem.write)
    fused_bytes = int(level.usable_bytes / level.shared_by_cores)
    coefficients = coefficients_for(machine)
    cost = CostProblem(problem.operator, machine, coefficients, sizes, sizes, lanes, write_bytes, fused_bytes)
    return float(leaf_of(binding).seconds(binding, cost))


def refusals(problem: Problem, binding: LeafBinding) -> list[Refusal]:
    """Why leaves of lower order do not compute an operator, which of the same order would be slower, and why micro kernels of the
    chosen leaf do not."""
    chosen = leaf_of(binding)
    found = chosen.kernel_refusals(problem) if chosen.kernel_refusals is not None else []
    for leaf in (leaf for leaf in leaves() if leaf.order <= chosen.order and leaf is not chosen):
        answer = leaf.match(problem)
        if not isinstance(answer, Refusal):
            found.append(Refusal(leaf.name, Mismatch.SLOWER))
        elif leaf.order < chosen.order:
            found.append(answer)
    return found


def bindings(operators: Iterable[Operator], tensors: Iterable[Tensor], machine: Machine) -> dict[str, LeafBinding]:
    """The bindings of operators, by name."""
    by_name = {tensor.name: tensor for tensor in tensors}
    return {operator.name: binding_of(Problem.of(operator, by_name), machine) for operator in operators}


def asked(operators: Iterable[Operator], tensors: Iterable[Tensor]) -> tuple[tuple[str, Constraints], ...]:
    """What the leaves that may compute operators ask of the loops around them, by the operators' names."""
    by_name = {tensor.name: tensor for tensor in tensors}
    found = ((one.name, binding) for one in operators for binding in candidates(Problem.of(one, by_name)))
    return tuple((name, constraints_of(binding)) for name, binding in found)


def is_taken(leaf: str, operator: Operator, tensors: Mapping[str, Tensor]) -> bool:
    """Whether a leaf computes an operator: algorithms ask before they make one for it."""
    return candidates(Problem.of(operator, tensors))[0].leaf == leaf


def leaf_of(binding: LeafBinding) -> Leaf:
    """The leaf of a binding."""
    return _by_name()[binding.leaf]


def constraints_of(binding: LeafBinding) -> Constraints:
    """What the leaf of a binding asks of the loops around it."""
    return leaf_of(binding).constraints(binding)


def kernel_work(binding: LeafBinding, problem: CostProblem) -> KernelWork:
    """What a micro kernel needs for an operator; nothing where none computes it."""
    work = leaf_of(binding).work
    return KernelWork(0.0, 0) if work is None else work(binding, problem)


def copied(copy: Transfer, vector_bits: int) -> LoweredTile:
    """The program of a copy, in vectors of so many bits."""
    return transfers.lowered(copy, vector_bits)


def lowered(statement: Any) -> Lowered | LoweredTile:
    """The tile program of a `Leaf` of a program, or its C."""
    return leaf_of(statement.leaf).lower(statement, statement.leaf)


def literal_axis(statement: Any) -> str | None:
    """The axis along which extents and strides decide about the text of a `Leaf`."""
    return leaf_of(statement.leaf).literal_axis(statement, statement.leaf)


def functions(file: CFile, statements: Iterable[Any]) -> Functions:
    """The functions that leaves of a file call."""
    found = [leaf.functions(file, of_leaf) for leaf, of_leaf in _by_leaf(statements) if leaf.functions is not None]
    return Functions(
        tuple(text for one in found for text in one.text),
        tuple(unit for one in found for unit in one.linked),
        tuple(source for one in found for source in one.inlined),
    )


def characters(file: CFile, statements: Iterable[Any]) -> dict[str, int]:
    """What every such function costs a compiler, as much as so many characters of vector loops."""
    found = (leaf.characters(file, of_leaf) for leaf, of_leaf in _by_leaf(statements) if leaf.characters is not None)
    return {name: count for one in found for name, count in one.items()}


def _by_leaf(statements: Iterable[Any]) -> Iterator[tuple[Leaf, list[Any]]]:
    found: dict[str, list[Any]] = {}
    for statement in statements:
        found.setdefault(statement.leaf.leaf, []).append(statement)
    return ((_by_name()[name], of_leaf) for name, of_leaf in found.items())
