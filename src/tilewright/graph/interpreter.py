"""Reference interpreter: a direct NumPy evaluation of index maps, guards and reductions. The oracle of all tests.

Every operator is evaluated point by point from its types alone (reads gathered into the grid of its axes, body, reduction,
write), so a builder in `builders` needs no reference of its own. Contractions go through `numpy.einsum`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import InternalError, InvalidModel, ShapeError
from tilewright.graph.exactness import HALVES, exact_element_type
from tilewright.graph.expressions.extents import dimensions_of, value_of
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Apply, AxisValue, Literal, Load, Parameter, Point, Previous, Scalar, State
from tilewright.graph.expressions.scalar_functions import COMBINATIONS, FUNCTIONS
from tilewright.graph.numpy_types import number_of, rounded_once
from tilewright.graph.positions import NamedLookup, named_lookup
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Access, Extent, Graph, Operator, StateVariable, SymbolicExtent, Tensor
from tilewright.records import record

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
SumError: TypeAlias = Callable[[Operator, int, Array, Array], Array]
"""The errors of sums, from the operator, the number of terms of each sum, the sums, and the norms of their terms."""
GRID_POINTS = 1 << 22
"""Points evaluated at once; larger index spaces are cut along parallel axes."""


def evaluate(
    graph: Graph,
    inputs: Mapping[str, Array],
    *,
    dtype: str | None = None,
    sum_error: SumError | None = None,
) -> dict[str, Array]:
    """The outputs of a graph by name, for input arrays by name.

    `dtype` replaces every floating-point type ("float64": the oracle). `sum_error` is added to every sum of floating-point
    numbers, to see what becomes of it.
    Raises `InvalidModel` for a missing input and `ShapeError` for one of the wrong shape.

    >>> from tilewright.graph.builders.elementwise import reduce
    >>> total, result = reduce("sum", Tensor("x", (2, 2)), name="total", result="y")
    >>> evaluate(Graph("sum", (Tensor("x", (2, 2)), result), (total,), ("x",), ("y",)), {"x": np.eye(2)})["y"].item()
    2.0
    """
    symbols = bind_symbols(graph, inputs)
    every = _Evaluation(symbols, {**_formulas(graph, symbols), **symbols}, dtype, sum_error)
    given = {name: np.asarray(inputs[name]) for name in graph.inputs} | {name: one.array for name, one in graph.constants}
    values = {name: array.astype(every.type_of(array.dtype), copy=False) for name, array in given.items()}
    with np.errstate(all="ignore"):
        for operator in graph.operators:
            result = graph.tensor(operator.write.tensor)
            computed = exact_element_type(operator, graph.by_name) or accumulating_type(operator).name
            values[result.name] = _evaluate_operator(operator, result, computed, values, every)
    return {name: values[name] for name in graph.outputs}


def bind_symbols(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, int]:
    """The value of every symbolic extent, taken from the shapes of the inputs; checks these shapes."""
    symbols: dict[str, int] = {}
    for name in graph.inputs:
        if name not in inputs:
            raise InvalidModel(f"no value for input {name!r}", why=f"given are {', '.join(inputs) or 'none'}")
        _bind_shape(graph.tensor(name), np.shape(inputs[name]), symbols)
    for extent in (extent for name in graph.inputs for extent in graph.tensor(name).shape):
        _check_formula(extent, symbols)
    return symbols


def _check_formula(extent: Extent, symbols: Mapping[str, int]) -> None:
    """Raise `ShapeError` where an input has another extent than the formula of its dimension gives."""
    if isinstance(extent, SymbolicExtent) and extent.formula is not None and dimensions_of([extent]).keys() <= symbols.keys():
        expected = value_of(extent, symbols)
        if symbols[extent.name] != expected:
            raise ShapeError(f"an extent of {symbols[extent.name]}, expected {extent}", why=f"that is {expected}")


def _bind_shape(tensor: Tensor, shape: tuple[int, ...], symbols: dict[str, int]) -> None:
    if len(shape) != len(tensor.shape):
        raise ShapeError(f"input {tensor.name!r} has shape {shape}, expected {shape_text(tensor.shape)}")
    for extent, actual in zip(tensor.shape, shape, strict=True):
        if isinstance(extent, SymbolicExtent):
            expected = symbols.setdefault(extent.name, actual)
            if not extent.low <= actual <= extent.high:
                why = f"{extent.name} = {actual} is outside {extent.low}..{extent.high}"
                raise ShapeError(f"input {tensor.name!r} has shape {shape}", why=why)
        else:
            expected = extent
        if actual != expected:
            raise ShapeError(
                f"input {tensor.name!r} has shape {shape}, expected {shape_text(tensor.shape)}", why=f"{actual} != {expected}"
            )


@record
class _Evaluation:
    """What all operators of an evaluation share."""

    symbols: Mapping[str, int]
    parameters: Mapping[str, float]
    """The values of run-time scalars: symbolic extents and their formulas."""
    dtype: str | None
    sum_error: SumError | None

    def type_of(self, dtype: Any) -> np.dtype[Any]:
        """What stands for an element type."""
        known: np.dtype[Any] = np.dtype(dtype)
        return np.dtype(self.dtype) if self.dtype is not None and np.issubdtype(known, np.floating) else known


@record
class Box:
    """A part of an operator's index space: the half-open range of every axis, in the operator's order."""

    ranges: dict[str, tuple[int, int]]

    def grid(self, name: str) -> Array:
        """The positions along an axis, laid along that axis's dimension of the box."""
        shape = [1] * len(self.ranges)
        shape[list(self.ranges).index(name)] = -1
        return np.arange(*self.ranges[name]).reshape(shape)

    def grids(self) -> dict[str, Array]:
        """The positions along all axes."""
        return {name: self.grid(name) for name in self.ranges}

    def shape(self) -> tuple[int, ...]:
        """The number of points along every axis."""
        return tuple(stop - start for start, stop in self.ranges.values())


@record
class Environment:
    """What the leaves of a scalar expression stand for."""

    box: Box
    loads: Sequence[Array]
    parameters: Mapping[str, float]
    dtype: np.dtype[Any]
    sum_error: SumError | None = None
    point: Any = None
    states: dict[str, Any] = field(default_factory=dict)


def _evaluate_operator(
    operator: Operator, result: Tensor, computed: str, values: Mapping[str, Array], every: _Evaluation
) -> Array:
    symbols, target, dtype = every.symbols, every.type_of(result.dtype), every.type_of(computed)
    extents = {axis.name: _size(axis.extent, symbols) for axis in operator.axes}
    output = np.zeros(tuple(_size(extent, symbols) for extent in result.shape), target)
    if output.size == 0:
        return output
    operator = _with_known_guards(operator, symbols)
    for box in _boxes(operator, extents):
        loads = _loads(operator, values, box)
        loads = [load if load.dtype == np.bool_ else load.astype(dtype, copy=False) for load in loads]
        if operator.is_product_sum():
            block = product_sum(operator, loads, box, every.sum_error)
        else:
            block = evaluate_box(operator, Environment(box, loads, every.parameters, dtype, every.sum_error))
        _store(operator, output, box, block)
    return output


def accumulating_type(operator: Operator) -> np.dtype[Any]:
    """The type that an operator computes in: float32 for shorter ones, if it holds what the operator reads."""
    return np.dtype("float32" if operator.accumulator in HALVES else operator.accumulator)


def _loads(operator: Operator, values: Mapping[str, Array], box: Box) -> list[Array]:
    """What every read addresses; those that others look up come first."""
    loads: dict[int, Array] = {}
    for number in sorted(range(len(operator.reads)), key=lambda read: bool(operator.reads[read].lookups)):
        access = operator.reads[number]
        added = {dimension: loads[by] for dimension, by in access.lookups}
        loads[number] = _gather(access, values[access.tensor], box, added, operator)
    return [loads[number] for number in range(len(operator.reads))]


def _size(extent: Extent, symbols: Mapping[str, int]) -> int:
    """A formula of which an input has the value is not computed: a part of a graph need not know its dimensions."""
    return symbols[extent.name] if isinstance(extent, SymbolicExtent) and extent.name in symbols else value_of(extent, symbols)


def _with_known_guards(operator: Operator, symbols: Mapping[str, int]) -> Operator:
    """The operator, whose guards speak of values instead of extents known at run time."""
    if not any(operator.guard_extents()):
        return operator
    return operator.with_indices(lambda index: index.with_extents(lambda extent: _size(extent, symbols)))


def _formulas(graph: Graph, symbols: Mapping[str, int]) -> dict[str, int]:
    """The values of the formulas that bodies speak of."""
    nodes = (node for operator in graph.operators for node in operator.scalars())
    return {node.name: _size(node.extent, symbols) for node in nodes if isinstance(node, Parameter) and node.extent is not None}


def _boxes(operator: Operator, extents: Mapping[str, int]) -> Iterator[Box]:
    """Boxes that cover the index space, cut along parallel axes until each has at most GRID_POINTS points to hold."""
    ranges = {axis.name: (0, extents[axis.name]) for axis in operator.axes}
    cuttable = [axis.name for axis in operator.axes if axis not in operator.reduction_axes()]
    names = [set(extents)]
    if operator.is_product_sum():
        names = [set(access.axes()) for access in operator.reads if not _is_plain(access)]
    points = max((math.prod(extents[name] for name in group) for group in names), default=0)
    yield from _cut(ranges, cuttable, points)


def _cut(ranges: dict[str, tuple[int, int]], cuttable: Sequence[str], points: int) -> Iterator[Box]:
    if points <= GRID_POINTS or not cuttable:
        yield Box(ranges)
        return
    name, *rest = cuttable
    extent = ranges[name][1]
    step = max(1, extent * GRID_POINTS // points)
    for start in range(0, extent, step):
        part = {**ranges, name: (start, min(start + step, extent))}
        yield from _cut(part, rest, points * step // extent)


def _is_plain(access: Access) -> bool:
    """Whether every dimension is an axis of its own or a constant, so that a view of the tensor serves."""
    axes = [index for index in access.indices if index.is_axis()]
    plain = all(index.is_axis() or not index.terms for index in access.indices)
    return access.guard is None and not access.lookups and plain and len(set(axes)) == len(axes)


def _gather(access: Access, array: Array, box: Box, added: Mapping[int, Array], operator: Operator) -> Array:
    """The elements that an access addresses, with one dimension per axis of the box (extent 1 where it does not matter).

    `added` are the elements that lookups add to the indices of dimensions. Raises `PositionError` where one leads outside.
    """
    if _is_plain(access):
        return _view(access, array, box)
    seen = _strided(access, array, box)
    if seen is not None:
        return seen
    grids = box.grids()
    positions = [np.asarray(index.evaluate(grids)) for index in access.indices]
    real = np.ones((1,) * len(grids), bool)
    for constraint in access.guard.constraints if access.guard is not None else ():
        real = real & (np.asarray(constraint.evaluate(grids)) >= 0)
    for dimension, values in added.items():
        lookup = named_lookup(operator, access, dimension)
        positions[dimension] = _looked_up(positions[dimension], values, real, array.shape[dimension], lookup)
    if access.guard is None:
        return _take(array, positions, len(grids))
    otherwise = np.asarray(access.guard.otherwise, array.dtype)
    if array.size == 0:
        return np.where(real, otherwise, otherwise)
    clipped = [np.clip(position, 0, extent - 1) for position, extent in zip(positions, array.shape, strict=True)]
    return np.where(real, _take(array, clipped, len(grids)), otherwise)


def _looked_up(position: Array, values: Array, real: Array, extent: int, lookup: NamedLookup) -> Array:
    """Positions with the elements of a lookup added: negative ones count from the end.

    Raises `PositionError` for the first that leaves the dimension at a point where the access is real.
    """
    whole = values.astype(np.int64)
    found = np.asarray(position + np.where(whole < 0, whole + extent, whole))
    outside, given = np.broadcast_arrays(real & ((found < 0) | (found >= extent)), whole)
    if outside.any():
        raise lookup.error(int(given[outside][0]), extent)
    return found


def _take(array: Array, positions: Sequence[Array], rank: int) -> Array:
    taken = np.asarray(array[tuple(positions)])
    return taken if taken.ndim == rank else taken.reshape((1,) * rank)


def _view(access: Access, array: Array, box: Box) -> Array:
    names = list(box.ranges)
    where = [names.index(str(index)) for index in access.indices if index.is_axis()]
    slices = tuple(slice(*box.ranges[str(i)]) if i.is_axis() else i.constant for i in access.indices)
    part = array[slices].transpose(np.argsort(where)) if where else np.asarray(array[slices])
    shape = [1] * len(names)
    for position, extent in zip(sorted(where), part.shape, strict=True):
        shape[position] = extent
    return part.reshape(shape)


def _strided(access: Access, array: Array, box: Box) -> Array | None:
    """A view of what an access addresses, one dimension for every axis of the box; None where it is not affine, or leaves the
    array."""
    if not access.is_affine() or any(len(index.axes()) != len(index.terms) for index in access.indices):
        return None
    last = {name: stop - 1 for name, (_, stop) in box.ranges.items()}
    first = {name: start for name, (start, _) in box.ranges.items()}
    corners = [_corners(index, first, last) for index in access.indices]
    if any(low < 0 or high >= extent for (low, high), extent in zip(corners, array.shape, strict=True)):
        return None
    pairs = list(zip(access.indices, array.strides, strict=True))
    steps = {name: sum(index.coefficient(name) * stride for index, stride in pairs) for name in box.ranges}
    shape = tuple(stop - start if name in access.axes() else 1 for name, (start, stop) in box.ranges.items())
    begin = tuple(slice(index.evaluate(first), None) for index in access.indices)
    return np.lib.stride_tricks.as_strided(array[begin], shape, tuple(steps.values()))


def _corners(index: Index, first: Mapping[str, int], last: Mapping[str, int]) -> tuple[int, int]:
    """The least and the largest value of an affine index."""
    ends = [(factor * first[str(name)], factor * last[str(name)]) for name, factor in index.terms]
    return index.constant + sum(map(min, ends)), index.constant + sum(map(max, ends))


def product_sum(operator: Operator, loads: Sequence[Array], box: Box, sum_error: SumError | None) -> Array:
    """The contraction of two gathered operands: what einsum does once singleton dimensions are gone."""
    extents = [stop - start for start, stop in box.ranges.values()]
    operands: list[Any] = []
    for load in loads:
        kept = [d for d, extent in enumerate(extents) if load.shape[d] == extent]
        operands += [load.reshape([extents[d] for d in kept]), kept]
    missing = {d for d in range(len(extents)) if not any(d in labels for labels in operands[1::2])}
    if missing:
        return evaluate_box(operator, Environment(box, loads, {}, loads[0].dtype, sum_error))
    kept_axes = [d for d, axis in enumerate(operator.axes) if axis not in operator.reduction_axes()]
    total = np.asarray(np.einsum(*operands, kept_axes, optimize=True))
    if sum_error is None or not np.issubdtype(total.dtype, np.floating):
        return total
    x, x_coefficient, y, y_coefficient = operands
    squares = np.einsum(x * x, x_coefficient, y * y, y_coefficient, kept_axes, optimize=True)
    terms = math.prod(extents) // math.prod(extents[d] for d in kept_axes)
    return total + sum_error(operator, terms, total, np.sqrt(squares))


def evaluate_box(operator: Operator, environment: Environment) -> Array:
    """The finished values over the box: one dimension per axis that the write has, in the operator's order."""
    inner = at_points(operator, environment)
    if operator.reduction is None:
        return np.asarray(inner.point)
    for state in operator.reduction.states:
        inner.states[state.name] = total_of(operator, state, inner)
    written = operator.write.axes()
    dropped = tuple(d for d in _reduced(operator) if operator.axes[d].name not in written)
    shape = tuple(1 if d in dropped else extent for d, extent in enumerate(environment.box.shape()))
    return np.broadcast_to(np.asarray(value_of_scalar(operator.reduction.finish, inner)), shape).squeeze(dropped)


def at_points(operator: Operator, environment: Environment) -> Environment:
    """The same with the body at every point of the box."""
    point = np.broadcast_to(value_of_scalar(operator.body, environment), environment.box.shape())
    return replace(environment, point=point, states={})


def total_of(operator: Operator, state: StateVariable, inner: Environment) -> Array:
    """What a state of a reduction is after all points of the box; reduced dimensions stay, with one element."""
    full, reduced = inner.box.shape(), _reduced(operator)
    contribution = np.broadcast_to(_as_number(value_of_scalar(state.contribution, inner), inner.dtype), full)
    identity = _identity(state.identity, contribution.dtype)
    is_float_sum = state.combine == "add" and np.issubdtype(contribution.dtype, np.floating)
    if is_float_sum:
        contribution = _side_by_side(contribution, reduced)
    total = COMBINATIONS[state.combine].reduce(contribution, axis=reduced, keepdims=True, initial=identity)
    if is_float_sum and inner.sum_error is not None:
        squares = np.square(contribution).sum(axis=reduced, keepdims=True)
        total = total + inner.sum_error(operator, math.prod(full[d] for d in reduced), total, np.sqrt(squares))
    return np.asarray(total)


def _reduced(operator: Operator) -> tuple[int, ...]:
    reduced = operator.reduction_axes()
    return tuple(d for d, axis in enumerate(operator.axes) if axis in reduced)


def _as_number(contribution: Any, dtype: np.dtype[Any]) -> Any:
    """Truth values as numbers: the least of them, where a search for the largest starts, is none of theirs."""
    return contribution.astype(dtype) if contribution.dtype == np.bool_ else contribution


def _side_by_side(points: Array, axes: Sequence[int]) -> Array:
    """The same elements, those along some axes as neighbours: only such NumPy adds in pairs, whose error hardly grows."""
    order = [*(d for d in range(points.ndim) if d not in axes), *axes]
    return np.ascontiguousarray(points.transpose(order)).transpose(np.argsort(order))


def _identity(value: float, dtype: np.dtype[Any]) -> Any:
    """The start of a reduction in the type of its contributions; integers have their extremes in place of infinities."""
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return dtype.type(min(max(value, limits.min), limits.max))
    return dtype.type(value)


def value_of_scalar(scalar: Scalar, environment: Environment) -> Any:
    """The values of an expression where its leaves stand for these."""
    match scalar:
        case Literal(value):
            return number_of(value, environment.dtype)
        case Load(read):
            return environment.loads[read]
        case Point():
            return environment.point
        case State(name):
            return environment.states[name]
        case AxisValue(axis):
            return environment.box.grid(axis).astype(environment.dtype)
        case Parameter(name):
            return environment.dtype.type(environment.parameters[name])
        case Apply(function, operands):
            wants = zip(operands, FUNCTIONS[function].takes_conditions, strict=True)
            values = (_operand(operand, takes_condition, environment) for operand, takes_condition in wants)
            result = np.asarray(FUNCTIONS[function].numpy(*values))
            return result.astype(environment.dtype, copy=False) if np.issubdtype(result.dtype, np.number) else result
        case Previous(name):
            raise InternalError(f"the previous value of {name!r} has no meaning outside a rescaling rule")


def _operand(scalar: Scalar, is_condition: bool, environment: Environment) -> Any:
    """The value of an operand: a truth value in the place of a number is 0 or 1, which NumPy would not add up."""
    value = value_of_scalar(scalar, environment)
    is_truth = isinstance(value, np.ndarray | np.generic) and value.dtype == np.bool_
    return value.astype(environment.dtype) if is_truth and not is_condition else value


def _store(operator: Operator, output: Array, box: Box, block: Array) -> None:
    written = operator.write.axes()
    block = rounded_once(block, output.dtype.name)
    kept = [axis.name for axis in operator.axes if axis not in operator.reduction_axes() or axis.name in written]
    inner = Box({name: box.ranges[name] for name in kept})
    if _is_plain(operator.write):
        order = [kept.index(str(index)) for index in operator.write.indices if index.is_axis()]
        slices = tuple(slice(*inner.ranges[str(i)]) if i.is_axis() else i.constant for i in operator.write.indices)
        output[slices] = block.transpose(order)
        return
    seen = _strided(operator.write, output, inner)
    if seen is not None and seen.shape == block.shape:
        seen[...] = block
    else:
        output[tuple(index.evaluate(inner.grids()) for index in operator.write.indices)] = block
