"""Tensors whose dimensions are walked as one become tensors of fewer dimensions: the pixels of an image in a row.

A reshape that merges dimensions divides: x[n, c, p // W, p % W]. The tensor with these two dimensions as one, x[n, c, p], is the
same memory. Other operators then address it by h * W + w, and those that walk h and w in no other way walk their combination;
tensors for which they need that are merged, too. Shapes of arguments and results stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from tilewright.graph.index import FloorDiv, Index, Mod, floordiv
from tilewright.graph.rewrites.rename import rename_tensors
from tilewright.graph.scalar import AxisValue, subexpressions
from tilewright.graph.types import Access, Axis, Constant, Extent, Graph, Guard, Operator, Tensor, planned_extent

Joint = tuple[str, int]
"""A tensor and a dimension of it that is merged with the next one."""
Pair = tuple[str, str]
"""Two axes of an operator, the outer one first."""


@dataclass(frozen=True, slots=True)
class FlattenTensors:
    """Merges dimensions where a reshape would divide otherwise, and the axes of operators over them."""

    name: str = "flatten-tensors"

    def run(self, graph: Graph) -> Graph:
        """The graph without divisions that merging dimensions avoids."""
        joints = frozenset(_divided(graph))
        if not joints:
            return graph
        graph = _flattened(graph, joints)
        while True:
            found = {operator.name: pair for operator in graph.operators if (pair := _pair(graph, operator)) is not None}
            if not found:
                return graph
            graph = _merged(graph, *next(iter(found.items())))


def _merged(graph: Graph, name: str, pair: Pair) -> Graph:
    """The graph in which an operator walks two axes as one."""
    operator = next(one for one in graph.operators if one.name == name)
    graph = _flattened(graph, frozenset(_needed(graph, operator, pair) or ()))
    operators = tuple(_with_one_axis(one, pair) if one.name == name else one for one in graph.operators)
    return replace(graph, operators=operators)


def _divided(graph: Graph) -> Iterator[Joint]:
    """The joints at which some access divides, and would not if the dimensions were one."""
    for operator in graph.operators:
        for access in (*operator.reads, operator.write):
            joints = {(access.tensor, d) for d in range(len(access.indices) - 1) if _is_divided(access, d)}
            if joints and all(_may_merge(graph, joint) for joint in joints):
                tensor = graph.tensor(access.tensor)
                if all(index.is_affine() for index in _joined(access.indices, tensor, frozenset(joints))):
                    yield from joints


def _is_divided(access: Access, dimension: int) -> bool:
    outer, inner = access.indices[dimension : dimension + 2]
    divides = any(not isinstance(atom, str) for atom, _ in outer.terms)
    return divides and any(isinstance(atom, Mod) for atom, _ in inner.terms)


def _may_merge(graph: Graph, joint: Joint) -> bool:
    """Whether a dimension and the next one may be one: of an intermediate or a constant, with extents that are known."""
    name, dimension = joint
    if name in graph.inputs or name in graph.outputs:
        return False
    extents = graph.tensor(name).shape[dimension : dimension + 2]
    return all(isinstance(extent, int) and extent > 1 for extent in extents)


def _flattened(graph: Graph, joints: frozenset[Joint]) -> Graph:
    """The graph with dimensions of tensors merged, in the order of their elements. Constants of other shapes get other names."""
    if not joints:
        return graph
    old = {tensor.name: tensor for tensor in graph.tensors if any(name == tensor.name for name, _ in joints)}
    shapes = {name: _joined_shape(tensor, joints) for name, tensor in old.items()}

    def changed(access: Access) -> Access:
        tensor = old.get(access.tensor)
        return access if tensor is None else replace(access, indices=_joined(access.indices, tensor, joints))

    flat = replace(
        graph,
        tensors=tuple(replace(t, shape=shapes[t.name]) if t.name in old else t for t in graph.tensors),
        operators=tuple(replace(one, reads=tuple(map(changed, one.reads)), write=changed(one.write)) for one in graph.operators),
        constants=tuple((name, _reshaped(value, shapes.get(name))) for name, value in graph.constants),
    )
    others = {name: f"{name}_{'x'.join(map(str, shapes[name]))}" for name, _ in graph.constants if name in old}
    return rename_tensors(flat, others)


def _reshaped(constant: Constant, shape: tuple[Extent, ...] | None) -> Constant:
    return constant if shape is None else constant.reshaped(tuple(map(planned_extent, shape)))


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


def _joined(indices: tuple[Index, ...], tensor: Tensor, joints: frozenset[Joint]) -> tuple[Index, ...]:
    joined = []
    for run in _runs(tensor, joints):
        total = indices[run[0]]
        for dimension in run[1:]:
            extent = tensor.shape[dimension]
            assert isinstance(extent, int)
            total = without_digits(total * extent + indices[dimension])
        joined.append(total)
    return tuple(joined)


def without_digits(index: Index) -> Index:
    """The index with quotients and remainders put together where both are in it: m * (x // m) + x % m is x.

    >>> from tilewright.graph.index import axis, mod
    >>> str(without_digits(floordiv(axis("p"), 7) * 7 + mod(axis("p"), 7)))
    'p'
    """
    for atom, coefficient in index.terms:
        if isinstance(atom, Mod):
            quotient = floordiv(atom.dividend, atom.divisor) * (atom.divisor * coefficient)
            if quotient.terms and set(quotient.terms) <= set(index.terms):
                rest = index - quotient - Index(((atom, coefficient),))
                return without_digits(rest + atom.dividend * coefficient + quotient.constant)
    return index


def _pair(graph: Graph, operator: Operator) -> Pair | None:
    """Two axes that an operator may walk as one, and does so in some access already."""
    extents = {axis.name: axis for axis in operator.axes}
    for access in (*operator.reads, operator.write):
        for index in access.indices:
            terms = [(atom, factor) for atom, factor in index.terms if isinstance(atom, str)]
            for outer, outer_factor in terms:
                for inner, factor in terms:
                    is_digit = outer != inner and outer_factor == factor * _known(extents[inner])
                    if is_digit and extents[outer].kind is extents[inner].kind:
                        pair = outer, inner
                        if _needed(graph, operator, pair) is not None:
                            return pair
    return None


def _known(axis: Axis) -> int:
    return axis.extent if isinstance(axis.extent, int) and axis.extent > 1 else 0


def _needed(graph: Graph, operator: Operator, pair: Pair) -> tuple[Joint, ...] | None:
    """The joints at which tensors must be merged before an operator can walk two axes as one; None if it cannot."""
    outer, inner = operator.axis(pair[0]), operator.axis(pair[1])
    if not isinstance(outer.extent, int) or not isinstance(inner.extent, int) or min(outer.extent, inner.extent) < 2:
        return None
    bodies = [operator.body, *(() if operator.reduction is None else (s.contribution for s in operator.reduction.states))]
    bodies += [] if operator.reduction is None else [operator.reduction.finish]
    if any(isinstance(node, AxisValue) and node.axis in pair for body in bodies for node in subexpressions(body)):
        return None
    joints: list[Joint] = []
    for access in (*operator.reads, operator.write):
        own = _joints_of(graph, access, pair, inner.extent)
        if own is None:
            return None
        joints += own
    return tuple(joints)


def _joints_of(graph: Graph, access: Access, pair: Pair, extent: int) -> list[Joint] | None:
    """The joint of an access at which its tensor must be merged; none where both axes stand in one index; None if impossible."""
    constraints = access.guard.constraints if access.guard is not None else ()
    if any(not _is_joint(index, pair, extent) for index in constraints):
        return None
    apart = [d for d, index in enumerate(access.indices) if not _is_joint(index, pair, extent)]
    if not apart:
        return []
    if len(apart) != 2 or apart[1] != apart[0] + 1:
        return None
    is_plain = tuple(str(access.indices[d]) for d in apart) == pair and graph.tensor(access.tensor).shape[apart[1]] == extent
    joint = access.tensor, apart[0]
    return [joint] if is_plain and _may_merge(graph, joint) else None


def _is_joint(index: Index, pair: Pair, extent: int) -> bool:
    """Whether an index has neither of two axes, or both as digits of one number, and none inside of a division."""
    inside = [atom.dividend.axes() for atom, _ in index.terms if isinstance(atom, FloorDiv | Mod)]
    if any(axes & set(pair) for axes in inside):
        return False
    return index.coefficient(pair[0]) == index.coefficient(pair[1]) * extent


def _with_one_axis(operator: Operator, pair: Pair) -> Operator:
    """The operator with the combination of two axes in place of the outer one."""
    outer, inner = operator.axis(pair[0]), operator.axis(pair[1])
    joined = replace(outer, extent=planned_extent(outer.extent) * planned_extent(inner.extent))

    def changed(index: Index) -> Index:
        factors: Mapping[object, int] = dict(index.terms)
        factor = factors.get(inner.name, 0)
        kept = tuple((atom, own) for atom, own in index.terms if atom not in pair)
        return Index(kept, index.constant) + Index(((outer.name, factor),) if factor else ())

    def accessed(access: Access) -> Access:
        guard = access.guard and Guard(tuple(map(changed, access.guard.constraints)), access.guard.otherwise)
        return replace(access, indices=tuple(map(changed, access.indices)), guard=guard)

    axes = tuple(joined if axis is outer else axis for axis in operator.axes if axis is not inner)
    return replace(operator, axes=axes, reads=tuple(map(accessed, operator.reads)), write=accessed(operator.write))
