"""Dimensions of tensors that become one.

Tensors whose dimensions are walked as one become tensors of fewer dimensions: the pixels of an image in a row.

A reshape that merges dimensions divides: x[n, c, p // W, p % W]. The tensor with these two dimensions as one, x[n, c, p], is the
same memory. Other operators then address it by h * W + w, and those that walk h and w in no other way walk their combination;
tensors for which they need that are merged, too. Shapes of arguments and results stay.

An access is moved by arithmetic on its indices, so every index must say by itself where it points: dimensions into which some
operator looks by the elements of another read stay apart, as do dimensions whose extents have no value yet.

Dimensions of arguments that no operator tells apart become one: pixels of an image that filters of one tap meet one by one.

A product whose columns are two axes, or a norm of the pixels of an image, walks short rows, with unused lanes at the end of
each. Where every operator that touches an argument walks its dimensions as the digits of one number, the argument is the same
memory with one dimension in their place, if its elements lie in a row there. Callers see the dimensions as they were declared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import permutations
from math import prod

from tilewright.graph.expressions.index import FloorDiv, Index, Mod, floordiv
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import rename_tensors, unused
from tilewright.graph.types import Access, Axis, Constant, Extent, Graph, Operator, Tensor, planned_extent
from tilewright.records import record, replace

Joint = tuple[str, int]
"""A tensor and a dimension of it that is merged with the next one."""
Pair = tuple[str, str]
"""Two axes of an operator, the outer one first."""


@record
class FlattenTensors(Rewrite):
    """Merges dimensions where a reshape would divide otherwise, and the axes of operators over them."""

    kept: frozenset[str] | None = None
    """Tensors that keep their shapes; None: inputs and outputs. Those of a part of a graph may be merged there."""
    keeps_images: bool = False
    """Whether images keep their shapes that convolutions read: algorithms know these by the two dimensions of their windows."""

    def run(self, graph: Graph) -> Graph:
        """The graph without divisions that merging dimensions avoids."""
        kept = frozenset((*graph.inputs, *graph.outputs)) if self.kept is None else self.kept
        work = Work(graph, kept | _images(graph) if self.keeps_images else kept)
        joints = frozenset(divided(work))
        work.flatten(joints)
        arguments = (name for name in (*graph.inputs, *graph.outputs) if name not in work.kept)
        start = None if joints else {user for name in arguments for user in work.users.get(name, ())}
        return work.result() if work.merge_all(start) or joints else graph


def _images(graph: Graph) -> frozenset[str]:
    """What sums of products read by windows of two dimensions and more."""
    sums = [operator for operator in graph.operators if operator.is_product_sum()]
    return frozenset(read.tensor for operator in sums for read in operator.reads if _has_windows(operator, read))


def _has_windows(operator: Operator, read: Access) -> bool:
    steps = {axis.name for axis in operator.reduction_axes()}
    return sum(bool(index.axes() & steps) and bool(index.axes() - steps) for index in read.indices) > 1


class Work:
    """A graph of which tensors lose dimensions and operators axes, in place; a merge costs what it changes."""

    def __init__(self, graph: Graph, kept: frozenset[str]) -> None:
        self.graph, self.kept = graph, kept
        self.tensors = dict(graph.by_name)
        self.operators = list(graph.operators)
        self.users: dict[str, list[int]] = {}
        """The positions of the operators that access a tensor."""
        for position, operator in enumerate(graph.operators):
            for name in {access.tensor for access in operator.accesses()}:
                self.users.setdefault(name, []).append(position)

    def merge_all(self, start: Iterable[int] | None = None) -> bool:
        """Every pair of axes that may become one, the first operators first; whether there is one.

        `start` are the positions of operators to begin with, by default all.
        """
        waiting, is_changed = sorted(range(len(self.operators)) if start is None else start), False
        while waiting:
            position = heappop(waiting)
            if (pair := _pair_of(self, self.operators[position])) is not None:
                is_changed = True
                for changed in self.merge(position, pair):
                    heappush(waiting, changed)
        return is_changed

    def merge(self, position: int, pair: Pair) -> set[int]:
        """Let an operator walk two axes as one; the positions of the operators that this changes."""
        changed = self.flatten(frozenset(needed(self, self.operators[position], pair) or ()))
        self.operators[position] = with_one_axis(self.operators[position], pair)
        return changed | {position}

    def flatten(self, joints: frozenset[Joint]) -> set[int]:
        """Merge dimensions of tensors, in the order of their elements; the positions of the operators that access them."""
        old = {name: self.tensors[name] for name, _ in joints}

        def changed(access: Access) -> Access:
            tensor = old.get(access.tensor)
            return access if tensor is None else _flat(access, tensor, joints)

        users = {position for name in old for position in self.users.get(name, ())}
        for position in users:
            self.operators[position] = self.operators[position].with_accesses(changed)
        for name, tensor in old.items():
            magnitudes = tensor.magnitudes and tensor.magnitudes.joined(_runs(tensor, joints))
            self.tensors[name] = replace(tensor, shape=_joined_shape(tensor, joints), magnitudes=magnitudes)
        return users

    def may_merge(self, joint: Joint) -> bool:
        """Whether a dimension and the next one may be one: their extents are known, and no lookup finds its element in either."""
        name, dimension = joint
        both = {dimension, dimension + 1}
        is_known = all(isinstance(extent, int) and extent > 1 for extent in self.tensors[name].shape[dimension : dimension + 2])
        is_looked_up = any(both & dict(access.lookups).keys() for access in self.accesses_to(name))
        return is_known and name not in self.kept and not is_looked_up

    def accesses_to(self, name: str) -> Iterator[Access]:
        """All reads and writes of a tensor."""
        for position in self.users.get(name, ()):
            yield from (access for access in self.operators[position].accesses() if access.tensor == name)

    def result(self) -> Graph:
        """The graph. Constants of other shapes have other names."""
        shapes = {name: self.tensors[name].shape for name, _ in self.graph.constants}
        constants = tuple((name, _reshaped(value, shapes[name])) for name, value in self.graph.constants)
        flat = replace(self.graph, tensors=tuple(self.tensors.values()), operators=tuple(self.operators), constants=constants)
        partners: dict[str, str] = {}
        for name, shape in shapes.items():
            if shape != self.graph.tensor(name).shape:
                partners[name] = unused(f"{name}_{'x'.join(map(str, shape))}", {*self.tensors, *partners.values()})
        return rename_tensors(flat, partners) if partners else flat


def divided(work: Work) -> Iterator[Joint]:
    """The joints at which some access divides, and would not if the dimensions were one."""
    for operator in work.operators:
        for access in operator.accesses():
            joints = frozenset((access.tensor, d) for d in range(len(access.indices) - 1) if _is_divided(access, d))
            if not joints or not all(map(work.may_merge, joints)):
                continue
            if all(index.is_affine() for index in _flat(access, work.tensors[access.tensor], joints).indices):
                yield from joints


def _is_divided(access: Access, dimension: int) -> bool:
    outer, inner = access.indices[dimension : dimension + 2]
    divides = any(not isinstance(atom, str) for atom, _ in outer.terms)
    return divides and any(isinstance(atom, Mod) for atom, _ in inner.terms)


def _reshaped(constant: Constant, shape: tuple[Extent, ...]) -> Constant:
    extents = tuple(map(planned_extent, shape))
    return constant if extents == constant.array.shape else constant.reshaped(extents)


def _runs(tensor: Tensor, joints: frozenset[Joint]) -> list[list[int]]:
    """The dimensions of a tensor, those that become one together."""
    runs: list[list[int]] = []
    for dimension in range(len(tensor.shape)):
        if (tensor.name, dimension - 1) in joints:
            runs[-1].append(dimension)
        else:
            runs.append([dimension])
    return runs


def _joined_shape(tensor: Tensor, joints: frozenset[Joint]) -> tuple[Extent, ...]:
    """The shape of a tensor with dimensions merged; those that are have extents that are known."""
    shape = [[tensor.shape[d] for d in run] for run in _runs(tensor, joints)]
    return tuple(prod(map(planned_extent, run)) if len(run) > 1 else run[0] for run in shape)


def _flat(access: Access, tensor: Tensor, joints: frozenset[Joint]) -> Access:
    """The access when dimensions of its tensor are one. What is looked up stands for a dimension of its own: only its number
    changes."""
    runs = _runs(tensor, joints)
    numbers = {dimension: number for number, run in enumerate(runs) for dimension in run}
    lookups = tuple((numbers[dimension], read) for dimension, read in access.lookups)
    return replace(access, indices=tuple(_joined(access, tensor, run) for run in runs), lookups=lookups)


def _joined(access: Access, tensor: Tensor, run: list[int]) -> Index:
    """The index along several dimensions as one."""
    total = access.indices[run[0]]
    for dimension in run[1:]:
        total = without_digits(total * planned_extent(tensor.shape[dimension]) + access.indices[dimension])
    return total


def without_digits(index: Index) -> Index:
    """The index with quotients and remainders put together where both are in it: m * (x // m) + x % m is x, for every x.

    >>> from tilewright.graph.expressions.index import axis, mod
    >>> str(without_digits(floordiv(axis("p"), 7) * 7 + mod(axis("p"), 7)))
    'p'
    """
    for atom, coefficient in index.terms:
        if isinstance(atom, Mod):
            quotient = floordiv(atom.dividend, atom.divisor) * (atom.divisor * coefficient)
            if quotient.terms and set(quotient.terms) <= set(index.terms):
                return without_digits(index - quotient - Index(((atom, coefficient),)) + atom.dividend * coefficient)
    return index


def _pair_of(work: Work, operator: Operator) -> Pair | None:
    """Two axes that an operator may walk as one, and does so in some access already."""
    extents = {axis.name: axis for axis in operator.axes}
    for index in (index for access in operator.accesses() for index in access.indices):
        terms = [(atom, factor) for atom, factor in index.terms if isinstance(atom, str)]
        for (outer, step), (inner, factor) in permutations(terms, 2):
            if step == factor * _known(extents[inner]) and _gains(work, operator, (outer, inner)):
                return outer, inner
    return None


def _gains(work: Work, operator: Operator, pair: Pair) -> bool:
    """Whether an operator may walk two axes as one, and meets no product so that has to write both into one dimension.

    No loop over blocks would be common to two such products.
    """
    joints = needed(work, operator, pair)
    if joints is None or not operator.is_product_sum():
        return joints is not None
    return not any(_is_written_apart(work, *joint) for joint in joints)


def _is_written_apart(work: Work, name: str, dimension: int) -> bool:
    """Whether a product writes a dimension and the next one by two axes that it cannot walk as one."""
    writers = [one for position in work.users.get(name, ()) if (one := work.operators[position]).write.tensor == name]
    products = (one for one in writers if one.is_product_sum())
    pairs = ((one, _plain_pair(one.write, dimension)) for one in products)
    return any(pair is not None and needed(work, one, pair) is None for one, pair in pairs)


def _known(axis: Axis) -> int:
    return axis.extent if isinstance(axis.extent, int) and axis.extent > 1 else 0


def needed(work: Work, operator: Operator, pair: Pair) -> tuple[Joint, ...] | None:
    """The joints at which tensors must be merged before an operator can walk two axes as one; None if it cannot.

    An axis over which it reduces and one that it keeps stay apart: as one, they would be reduced both or neither.
    """
    outer, inner = operator.axis(pair[0]), operator.axis(pair[1])
    if outer.kind is not inner.kind:
        return None
    if not isinstance(outer.extent, int) or not isinstance(inner.extent, int) or min(outer.extent, inner.extent) < 2:
        return None
    if not operator.computed_axes().isdisjoint(pair):
        return None
    joints: list[Joint] = []
    for access in operator.accesses():
        access_joints = _joints_of(work, access, pair, inner.extent)
        if access_joints is None:
            return None
        joints += access_joints
    return tuple(joints)


def _joints_of(work: Work, access: Access, pair: Pair, extent: int) -> list[Joint] | None:
    """The joint of an access at which its tensor must be merged; none where both axes stand in one index; None if impossible."""
    constraints = access.guard.constraints if access.guard is not None else ()
    if any(not _is_joint(index, pair, extent) for index in constraints):
        return None
    apart = [d for d, index in enumerate(access.indices) if not _is_joint(index, pair, extent)]
    if not apart:
        return []
    if len(apart) != 2 or apart[1] != apart[0] + 1:
        return None
    shape = work.tensors[access.tensor].shape
    joint = access.tensor, apart[0]
    is_plain = tuple(str(access.indices[d]) for d in apart) == pair and shape[apart[1]] == extent
    return [joint] if is_plain and work.may_merge(joint) else None


def _is_joint(index: Index, pair: Pair, extent: int) -> bool:
    """Whether an index has neither of two axes, or both as digits of one number, and none inside of a division."""
    if index.axes().isdisjoint(pair):
        return True
    if any(not atom.dividend.axes().isdisjoint(pair) for atom, _ in index.terms if isinstance(atom, FloorDiv | Mod)):
        return False
    return index.coefficient(pair[0]) == index.coefficient(pair[1]) * extent


def with_one_axis(operator: Operator, pair: Pair) -> Operator:
    """The operator with the combination of two axes in place of the outer one."""
    outer, inner = operator.axis(pair[0]), operator.axis(pair[1])
    fused = replace(outer, extent=planned_extent(outer.extent) * planned_extent(inner.extent))

    def changed(index: Index) -> Index:
        if index.axes().isdisjoint(pair):
            return index
        factors: Mapping[object, int] = dict(index.terms)
        factor = factors.get(inner.name, 0)
        kept = tuple((atom, coefficient) for atom, coefficient in index.terms if atom not in pair)
        return Index(kept, index.constant) + Index(((outer.name, factor),) if factor else ())

    axes = tuple(fused if axis is outer else axis for axis in operator.axes if axis is not inner)
    return replace(operator, axes=axes).with_indices(changed)


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
    """What must be merged so that an operator walks its last two axes of results as one: in all operators, or in none."""
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
    """The last two axes of the results of a product or a norm, if an operand has them side by side, too.

    Factors may have zero points.
    """
    pair = _plain_pair(operator.write, len(operator.write.indices) - 2)
    if pair is None or not (operator.sums_products() or operator.is_norm()):
        return None
    reads = ((read, place) for read in operator.reads for place in range(len(read.indices) - 1))
    return pair if any(_plain_pair(read, place) == pair for read, place in reads) else None


def _pair_at(operator: Operator, joint: Joint) -> Pair | None:
    """The two axes by which all accesses of an operator walk two dimensions; None if there are others, or none."""
    name, dimension = joint
    accesses = [access for access in operator.accesses() if access.tensor == name]
    found = {_plain_pair(access, dimension) for access in accesses}
    return found.pop() if len(found) == 1 else None


def _plain_pair(access: Access, place: int) -> Pair | None:
    """The axes along a dimension and the next, if these are all that stands there."""
    if place < 0:
        return None
    first, second = access.indices[place : place + 2]
    return (str(first), str(second)) if first.is_axis() and second.is_axis() and first != second else None
