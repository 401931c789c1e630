"""What every graph must be: well formed, and no larger than what is planned.

Every stage hands on a well-formed graph; what fails here is a bug of Tilewright, which tests look for, and TILEWRIGHT_VERIFY.

Sizes that can be planned: arrays that fit an address space, and index spaces whose points are counted exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from math import prod

import numpy as np

from tilewright import settings
from tilewright.errors import InternalError, PlanningError, ShapeError
from tilewright.graph.expressions.extents import Extent, dimensions_of, times, value_of
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Apply, AxisValue, Load, Point, Previous, Scalar, State, subexpressions
from tilewright.graph.expressions.scalar_functions import COMBINATIONS, FUNCTIONS
from tilewright.graph.printer import to_text
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Access, AxisKind, Graph, Operator, Tensor, planned_extent


def verify(graph: Graph, before: Graph | None = None) -> None:
    """Raise `InternalError`, with the printed graph as dump, naming every rule that the graph breaks.

    `before` is a graph that was found well formed: operators that this one has taken over from it are not looked at again.

    The rules: names are unique, and tensors are defined before they are read; accesses have the rank of their tensor and stay
    inside it (guarded ones where the guard holds, so they are exempt, and so are dimensions with lookups, which are held to the
    tensor; symbolic extents are checked at and near both ends of their ranges); lookups are made by plain reads of integers;
    every write is a permutation of axes (with index 0 into extents of 1, and perhaps several axes one inside the other along a
    dimension), so that it covers each element exactly once: more general writes are refused for now; reduction axes are written
    only by operators that finish every point; scalar expressions have known functions with their arity, reads in range, and
    states only where they exist; element types are known.
    """
    problems = [*_graph_problems(graph)]
    if not problems:
        new = _new_operators(graph, before) if before is not None else graph.operators
        problems = [f"{operator.name}: {text}" for operator in new for text in _operator_problems(operator, graph.by_name)]
    if problems:
        raise InternalError(f"the graph {graph.name!r} is not well formed: {'; '.join(problems)}", dump=to_text(graph))


def verify_stage(graph: Graph, before: Graph | None = None) -> None:
    """As `verify`, where TILEWRIGHT_VERIFY asks for it: of what a stage hands on, which no user can get wrong."""
    if settings.value("verify") != "off":
        verify(graph, before)


def _new_operators(graph: Graph, before: Graph) -> Iterator[Operator]:
    """The operators that are not those of another graph, or have other tensors there."""
    same = {id(operator) for operator in before.operators}
    for operator in graph.operators:
        names = (access.tensor for access in operator.accesses())
        if id(operator) not in same or any(graph.tensor(name) != before.by_name.get(name) for name in names):
            yield operator


def _graph_problems(graph: Graph) -> Iterator[str]:
    yield from _repeated("tensor", [tensor.name for tensor in graph.tensors])
    yield from _repeated("operator", [operator.name for operator in graph.operators])
    yield from _repeated("definition of", [*graph.inputs, *dict(graph.constants), *(o.write.tensor for o in graph.operators)])
    declared = {tensor.name for tensor in graph.tensors}
    defined = {*graph.inputs, *dict(graph.constants)}
    for operator in graph.operators:
        for access in operator.reads:
            if access.tensor not in defined:
                yield f"{operator.name} reads {access.tensor!r} before it is defined"
        defined.add(operator.write.tensor)
    yield from (f"{name!r} has no declaration" for name in sorted(defined - declared))
    yield from (f"output {name!r} is never defined" for name in graph.outputs if name not in defined)
    yield from _type_problems(graph)


def _type_problems(graph: Graph) -> Iterator[str]:
    for tensor in graph.tensors:
        if not _is_dtype(tensor.dtype):
            yield f"tensor {tensor.name!r} has an unknown element type {tensor.dtype!r}"
    for name, constant in graph.constants:
        declared = graph.by_name.get(name)
        if declared and (constant.array.shape != declared.shape or constant.array.dtype.name != declared.dtype):
            yield f"constant {name!r} is not what its tensor declares"
        if declared and declared.entries is not None and constant.has_values and tuple(constant.array.flat) != declared.entries:
            yield f"the entries of {name!r} are not those of its constant"


def _repeated(sort: str, names: Sequence[str]) -> Iterator[str]:
    yield from (f"{sort} {name!r} occurs {count} times" for name, count in Counter(names).items() if count > 1)


@cache
def _is_dtype(name: str) -> bool:
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        return True
    try:
        return np.dtype(name).name == name
    except TypeError:
        return False


def _operator_problems(operator: Operator, tensors: Mapping[str, Tensor]) -> Iterator[str]:
    yield from _repeated("axis", [axis.name for axis in operator.axes])
    names = {axis.name for axis in operator.axes}
    for access in operator.accesses():
        yield from _access_problems(access, tensors[access.tensor], operator, names)
        yield from _lookup_problems(access, operator, tensors)
    yield from _write_problems(operator, tensors[operator.write.tensor])
    yield from _reduction_problems(operator)
    yield from _scalar_problems(operator)


def _access_problems(access: Access, tensor: Tensor, operator: Operator, names: Collection[str]) -> Iterator[str]:
    if len(access.indices) != len(tensor.shape):
        yield f"{len(access.indices)} indices into {tensor.name!r} with {len(tensor.shape)} dimensions"
        return
    guards = access.guard.constraints if access.guard is not None else ()
    unknown = {name for index in (*access.indices, *guards) for name in index.axes()} - set(names)
    if unknown:
        yield f"the access to {tensor.name!r} uses unknown axes {sorted(unknown)}"
    elif access.guard is None:
        yield from _bound_problems(access, tensor, operator)


def _lookup_problems(access: Access, operator: Operator, tensors: Mapping[str, Tensor]) -> Iterator[str]:
    dimensions = [dimension for dimension, _ in access.lookups]
    if len(set(dimensions)) < len(dimensions) or not set(dimensions) <= set(range(len(access.indices))):
        yield f"lookups of {access.tensor!r} in dimensions {dimensions}"
    for _, number in access.lookups:
        if access is operator.write or not 0 <= number < len(operator.reads):
            yield f"a lookup in {access.tensor!r} by read {number}"
        elif operator.reads[number].lookups or not tensors[operator.reads[number].tensor].dtype.startswith(("int", "uint")):
            yield f"a lookup in {access.tensor!r} by read {number}, which is no plain read of integers"


def _bound_problems(access: Access, tensor: Tensor, operator: Operator) -> Iterator[str]:
    """Indices outside of their dimension, with dimensions at some of their values. Without points there is nothing to hold."""
    extents = {axis.name: axis.extent for axis in operator.axes}
    looked_up = dict(access.lookups)
    dimensions = [
        (dimension, index, extent)
        for dimension, (index, extent) in enumerate(zip(access.indices, tensor.shape, strict=True))
        if dimension not in looked_up and not (index.is_axis() and extents[str(index)] == extent)
    ]
    if not dimensions:
        return
    for values in _some_values((*extents.values(), *tensor.shape)):
        sizes = {name: value_of(extent, values) for name, extent in extents.items()}
        if 0 in sizes.values():
            continue
        for dimension, index, extent in dimensions:
            low, high = index.bounds(sizes)
            if low < 0 or high >= value_of(extent, values):
                at = f" with {values}" if values else ""
                yield f"index {index} of dimension {dimension} of {tensor.name!r} runs over {low}..{high} of {extent}{at}"
                return


def _some_values(extents: Iterable[Extent]) -> Iterator[dict[str, int]]:
    """The dimensions of extents at their ends and near them."""
    dimensions = dimensions_of(extents)
    near = [{d.low, min(d.low + 1, d.high), min(d.low + 2, d.high), d.hint, d.high} for d in dimensions.values()]
    yield from (dict(zip(dimensions, values, strict=True)) for values in product(*map(sorted, near)))


def _write_problems(operator: Operator, tensor: Tensor) -> Iterator[str]:
    if operator.write.guard is not None:
        yield "the write has a guard"
    extents = {axis.name: axis.extent for axis in operator.axes}
    for index, extent in zip(operator.write.indices, tensor.shape, strict=False):
        if not covers(index, extent, extents):
            yield f"the write index {index} does not cover a dimension of extent {extent}"
    yield from _repeated("written axis", [str(atom) for index in operator.write.indices for atom, _ in index.terms])
    missing = [a.name for a in operator.axes if a.kind is AxisKind.PARALLEL and a.name not in operator.write.axes()]
    if missing:
        yield f"parallel axes {missing} are not written"


def covers(index: Index, extent: Extent, extents: Mapping[str, Extent]) -> bool:
    """Whether an index takes every position of a dimension once: an axis, or axes one inside the other as digits of a number.

    >>> from tilewright.graph.expressions.index import axis
    >>> covers(axis("h") * 64 + axis("n"), 768, {"h": 12, "n": 64}), covers(axis("h") * 32 + axis("n"), 768, {"h": 12, "n": 64})
    (True, False)

    A digit of one point has the coefficient of the next digit:

    >>> covers(axis("h") + axis("w"), 8, {"h": 8, "w": 1})
    True
    """
    if index.is_axis():
        return extents.get(str(index)) == extent
    digits = [(coefficient, extents.get(atom) if isinstance(atom, str) else None) for atom, coefficient in index.terms]
    step: Extent = 1
    for coefficient, digit_extent in sorted(digits, key=lambda digit: (digit[0], digit[1] != 1)):
        if coefficient != step or digit_extent is None:
            return False
        step = times(step, digit_extent)
    return index.constant == 0 and step == extent


def _reduction_problems(operator: Operator) -> Iterator[str]:
    reduced = {axis.name for axis in operator.reduction_axes()}
    if operator.reduction is None:
        if reduced:
            yield f"axes {sorted(reduced)} are reduced without a reduction"
        return
    if not reduced:
        yield "a reduction without reduction axes"
    written = reduced & operator.write.axes()
    by_point = Point() in subexpressions(operator.reduction.finish)
    if written and not by_point:
        yield f"reduction axes {sorted(written)} are written, but finish does not refer to the point"
    if by_point and written != reduced:
        yield f"finish refers to the point, but reduction axes {sorted(reduced - written)} are not written"
    yield from _repeated("state", [state.name for state in operator.reduction.states])
    yield from (f"unknown combination {s.combine!r}" for s in operator.reduction.states if s.combine not in COMBINATIONS)


def _scalar_problems(operator: Operator) -> Iterator[str]:
    yield from _expression_problems(operator, operator.body, (), inside=False)
    if operator.reduction is None:
        return
    known: list[str] = []
    for state in operator.reduction.states:
        yield from _expression_problems(operator, state.contribution, known)
        known.append(state.name)
    yield from _expression_problems(operator, operator.reduction.finish, known)
    for rescale in operator.reduction.rescales:
        yield from _expression_problems(operator, rescale.factor, known, is_rescale=True)
        if rescale.target not in (*known[1:], "result"):
            yield f"rescaling of {rescale.target!r}, which is no later state and not the result"


def _expression_problems(
    operator: Operator, scalar: Scalar, states: Collection[str], *, inside: bool = True, is_rescale: bool = False
) -> Iterator[str]:
    """`inside` a reduction there are points and states; only in a rescaling rule (`is_rescale`) there are previous states."""
    for node in subexpressions(scalar):
        match node:
            case Apply(function, operands) if function not in FUNCTIONS:
                yield f"unknown function {function!r}"
            case Apply(function, operands) if len(operands) != FUNCTIONS[function].arity:
                yield f"{function} takes {FUNCTIONS[function].arity} operands, not {len(operands)}"
            case Load(read) if not 0 <= read < len(operator.reads):
                yield f"read {read} does not exist"
            case State(name) if name not in states:
                yield f"state {name!r} is not known here"
            case Previous(name) if not is_rescale or name not in states:
                yield f"the previous value of {name!r} is not known here"
            case Point() if not inside or is_rescale:
                yield "a point outside a reduction"
            case AxisValue(axis) if axis not in {a.name for a in operator.axes}:
                yield f"the position along an unknown axis {axis!r}"


LARGEST_COUNT = 1 << 53
"""Bytes of an array, and points of an operator: a float64 has every whole number up to here, and an int64 has room for sums of
products of them with bytes, operands and edges of tiles. It is 9 PB, or a hundred days at a point a nanosecond."""
MOST_DIMENSIONS = 64
"""Of an array: as many as an array of NumPy 2 may have."""


def check_sizes(graph: Graph) -> None:
    """Raise `ShapeError` for arrays of too many dimensions, `PlanningError` for too large arrays and operators.

    Extents known at run time count with the value that planning assumes.
    """
    for tensor in graph.tensors:
        _check_tensor(tensor)
    for operator in graph.operators:
        _check_operator(operator)


def _check_tensor(tensor: Tensor) -> None:
    if len(tensor.shape) > MOST_DIMENSIONS:
        raise ShapeError(
            f"{tensor.name} has {len(tensor.shape)} dimensions",
            why=f"arrays have at most {MOST_DIMENSIONS}",
            hint="merge dimensions with reshape",
        )
    size_bytes = prod(map(planned_extent, tensor.shape)) * tensor.element_bytes
    _check_count(size_bytes, f"{tensor.name} of shape {shape_text(tensor.shape)} has {size_bytes} bytes", "arrays", "bytes")


def _check_operator(operator: Operator) -> None:
    points = prod(planned_extent(axis.extent) for axis in operator.axes)
    where = f"extents {', '.join(f'{axis.name} = {axis.extent}' for axis in operator.axes)}"
    _check_count(points, f"{operator.name} has {points} points", "operators", "points", where)


def _check_count(count: int, text: str, what: str, unit: str, where: str = "") -> None:
    if count > LARGEST_COUNT:
        why = f"{what} of up to {LARGEST_COUNT} {unit} are planned"
        raise PlanningError(text, where=where, why=why, hint="compute a part of it in a call")
