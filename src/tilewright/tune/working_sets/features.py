"""Working sets by the fastest memory that holds them: PolyDL's four numbers of a variant (section 3.1 and Algorithm 1).

Those of a plan are of every sum of products under the loops of its schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.graph.types import Operator, element_bytes
from tilewright.plan.types import Plan
from tilewright.tune.working_sets.counting import touched_elements
from tilewright.tune.working_sets.dependences import Dependence, dependences
from tilewright.tune.working_sets.nests import Nest, TileLoop, nest_of


@dataclass(frozen=True, slots=True)
class WorkingSet:
    """What is touched from the source of a reuse to its first and to its last target, both included, in elements by array."""

    dependence: Dependence
    least: Mapping[str, int]
    most: Mapping[str, int]


def working_sets(nest: Nest) -> list[WorkingSet]:
    """The working sets of all reuses of a nest.

    >>> from tilewright.tune.working_sets.nests import matrix_product
    >>> of_a, of_b, of_c = working_sets(matrix_product(10, 20, 30))
    >>> sum(of_a.least.values()), sum(of_a.most.values())  # 2K + 3 and NK + N + 1
    (63, 621)
    """
    found = []
    for one in dependences(nest):
        least, most = (touched_elements(nest, one.source, target) for target in (one.first_target, one.last_target))
        found.append(WorkingSet(one, least, most))
    return found


def level_sums(sizes_bytes: Sequence[int], capacities_bytes: Sequence[int]) -> tuple[int, ...]:
    """The sum of the sizes that each level holds, fastest first, and of those that only memory does.

    Caches are taken as fully associative and exclusive: every size goes to the fastest level whose capacity is no smaller.

    >>> level_sums([10, 20, 300, 5000], [32, 1000])
    (30, 300, 5000)
    """
    sums = [0] * (len(capacities_bytes) + 1)
    for size in sizes_bytes:
        level = next((at for at, capacity in enumerate(capacities_bytes) if size <= capacity), len(capacities_bytes))
        sums[level] += size
    return tuple(sums)


def nest_features(nest: Nest, element_bytes: Mapping[str, int], capacities_bytes: Sequence[int]) -> tuple[int, ...]:
    """The level sums, in bytes, of the least and the most working set of every reuse of a nest."""
    sets = (elements for one in working_sets(nest) for elements in (one.least, one.most))
    sizes = [sum(count * element_bytes[array] for array, count in elements.items()) for elements in sets]
    return level_sums(sizes, capacities_bytes)


def plan_features(plan: Plan) -> tuple[int, ...]:
    """Bytes of working sets by the fastest level that holds them, memory last, over all contractions of a plan.

    >>> import tilewright as tw
    >>> lowered = tw.jit(lambda x, y: x @ y, target="x86-64-v3").lower(tw.spec((64, 64)), tw.spec((64, 64)))
    >>> features = plan_features(lowered.model_plan.plans[0])
    >>> len(features), features[-1]  # 48 KiB: nothing is left to memory
    (4, 0)
    """
    sizes = {tensor.name: element_bytes(tensor.dtype) for tensor in plan.chain.tensors}
    capacities = [level.size_bytes for level in plan.machine.levels[:-1]]
    found = [nest_features(nest, sizes, capacities) for nest in nests(plan)]
    return tuple(map(sum, zip(*found, strict=True))) if found else (0,) * (len(capacities) + 1)


def nests(plan: Plan) -> Iterator[Nest]:
    """The nest of every contraction."""
    for operator in plan.chain.operators:
        if operator.is_contraction():
            yield nest_of(plan.chain, operator, _loops(plan, operator))


def _loops(plan: Plan, operator: Operator) -> tuple[TileLoop, ...]:
    """The loops of the schedule around an operator, as far as it has their axes."""
    path = plan.schedule.path(operator.name)
    return tuple(TileLoop(loop.axis, loop.tile) for loop in path if loop.axis in operator.axis_names)
