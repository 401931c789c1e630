"""Dimensions of arguments that no operator tells apart become one: pixels of an image that filters of one tap meet one by one.

A product whose columns are two axes walks short rows, with unused lanes at the end of each. Where every operator that touches
an argument walks its dimensions as the digits of one number, the argument is the same memory with one dimension in their
place, if its elements lie in a row there. Callers see the dimensions as they were declared.
"""

from __future__ import annotations

from tilewright.graph.index import Index
from tilewright.graph.rewrites.index_changes.flatten_tensors import Joint, Pair, Work, needed, with_one_axis
from tilewright.graph.types import Access, Graph, Operator


def with_merged_arguments(graph: Graph) -> tuple[Graph, dict[str, tuple[int, ...]]]:
    """The graph with fewer dimensions, and by name the dimensions of arguments that became one with the next.

    Legal where all arguments' elements lie in a row along these dimensions, which whoever calls must see to.
    """
    work = Work(graph, kept=frozenset())
    kept = {*graph.inputs, *graph.outputs}
    joined: dict[str, tuple[int, ...]] = {}
    position = 0
    while position < len(work.operators):
        merged = _merged_from(work, position)
        arguments = {name: dimension for name, dimension in merged[0] if name in kept} if merged else {}
        if merged is None or not arguments:
            position += 1
            continue
        joints, pairs = merged
        for name, dimension in arguments.items():
            joined[name] = (*joined.get(name, ()), _declared(dimension, joined.get(name, ())))
        work.flatten(joints)
        for changed, pair in pairs.items():
            work.operators[changed] = with_one_axis(work.operators[changed], pair)
    return work.result() if joined else graph, joined


def _declared(dimension: int, joined: tuple[int, ...]) -> int:
    """The declared dimension behind which the elements of a dimension end, less one: where it joins the next."""
    lasts = [dim for dim in range(dimension + len(joined) + 1) if dim not in joined]
    return lasts[dimension]


def _merged_from(work: Work, position: int) -> tuple[frozenset[Joint], dict[int, Pair]] | None:
    """What must be merged so that a product walks its last two axes of results as one: in all operators, or in none."""
    pair = _columns(work.operators[position])
    if pair is None:
        return None
    pairs, joints, waiting = {position: pair}, set[Joint](), [position]
    while waiting:
        current = waiting.pop()
        operator = work.operators[current]
        found = needed(work, operator, pairs[current])
        if found is None:
            return None
        for joint in frozenset(found) - joints:
            joints.add(joint)
            for user in work.users[joint[0]]:
                following = _pair_at(work.operators[user], joint)
                if following is None or pairs.get(user, following) != following:
                    return None
                if user not in pairs:
                    pairs[user] = following
                    waiting.append(user)
    return frozenset(joints), pairs


def _columns(operator: Operator) -> Pair | None:
    """The last two axes of a product's results, if an operand has them side by side, too. Factors may have zero points."""
    pair = _plain_pair(operator.write, len(operator.write.indices) - 2)
    if pair is None or not operator.sums_products():
        return None
    reads = ((read, place) for read in operator.reads for place in range(len(read.indices) - 1))
    return pair if any(_plain_pair(read, place) == pair for read, place in reads) else None


def _pair_at(operator: Operator, joint: Joint) -> Pair | None:
    """The two axes by which all accesses of an operator walk two dimensions; None if there are others, or none."""
    name, dimension = joint
    accesses = [access for access in (*operator.reads, operator.write) if access.tensor == name]
    found = {_plain_pair(access, dimension) for access in accesses}
    return found.pop() if len(found) == 1 else None


def _plain_pair(access: Access, place: int) -> Pair | None:
    """The axes along a dimension and the next, if these are all that stands there."""
    if place < 0:
        return None
    first, second = (_axis(index) for index in access.indices[place : place + 2])
    return (first, second) if first and second and first != second else None


def _axis(index: Index) -> str:
    return next(iter(index.axes())) if index.is_axis() else ""
