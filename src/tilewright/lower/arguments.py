"""Arguments of a program: which there are, the strides that they must have, and where generated code finds their elements.

Dimensions of a graph's input or output that no operator tells apart may be one dimension of the plan (`MergedArgument`). Callers
have them as they were declared: the signature does, and asks that the elements of such dimensions lie in a row.

Run-time extents are variables of generated code; those with a formula follow from dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import assert_never

from tilewright.block.integers import IntegerExpression, Variable, VariableKind, choose, less, quotient
from tilewright.block.memory import BufferName
from tilewright.entry_point import Signature, Symbol, TensorSlot
from tilewright.errors import DTypeError
from tilewright.graph.expressions.dimensions import dimension_of_multiple
from tilewright.graph.expressions.extents import (
    Extent,
    Operation,
    Sum,
    SymbolicExtent,
    dimensions_of,
    least_extent,
)
from tilewright.graph.expressions.scalar import Parameter
from tilewright.graph.types import Access, Graph, Operator, Tensor
from tilewright.kernels.element_types import ELEMENT_TYPES
from tilewright.lower.storage import Stored
from tilewright.plan.schedule import Pack
from tilewright.plan.types import MergedArgument, ModelPlan

PICKED = frozenset((2,))
"""Steps between elements that vectors pick out of loads of whole vectors."""


def unit_stride_dims(model_plan: ModelPlan) -> dict[str, int]:
    """The dimension of each argument, as declared, that must have a stride of one element: those that vector loops run along.

    Outputs have it in their last dimension, and so do right operands that micro kernels read in place. Other operands of
    contractions are broadcast or packed: any strides will do, but of those that are read by two, which vectors then pick.
    """
    graph = model_plan.graph
    dims = {tensor: len(graph.tensor(tensor).shape) - 1 for tensor in graph.outputs if graph.tensor(tensor).shape}
    along_vectors = [access for operator in graph.operators if not operator.is_contraction() for access in operator.reads]
    by_one = [access for access in (*along_vectors, *_read_in_place(model_plan)) if _walks_the_last(access, frozenset((1,)))]
    by_two = [access for operator in graph.operators for access in operator.reads if _walks_the_last(access, PICKED)]
    for access in (*by_one, *by_two):
        dims.setdefault(access.tensor, len(access.indices) - 1)
    arguments, merged = set(argument_names(model_plan)), _merged(model_plan)
    return {
        tensor: merged[tensor].last_dims()[dim] if tensor in merged else dim
        for tensor, dim in dims.items()
        if tensor in arguments
    }


def _walks_the_last(access: Access, steps: frozenset[int]) -> bool:
    """Whether neighbours along some axis are so many elements apart in the last dimension, as far as a guard lets them be."""
    last = len(access.indices) - 1
    affine = all(index.is_affine() for index in access.indices)
    is_known = last >= 0 and affine and last not in dict(access.lookups)
    return is_known and not steps.isdisjoint(dict(access.indices[last].terms).values())


def _read_in_place(model_plan: ModelPlan) -> Iterator[Access]:
    """The right operands of contractions that no Pack copies and whose last dimension is the columns, or the depth."""
    for plan in model_plan.plans:
        packs = (leaf for _, leaf in plan.schedule.leaves() if isinstance(leaf, Pack))
        packed = {(pack.operator, pack.read) for pack in (*packs, *plan.schedule.ahead)}
        for operator in plan.chain.operators:
            roles = plan.operator_plan(operator.name).roles
            if roles is None or roles.column is None or (operator.name, roles.right) in packed:
                continue
            access = operator.reads[roles.right]
            if access.indices and {roles.column, roles.depth} & access.indices[-1].axes():
                yield access


def argument_names(model_plan: ModelPlan) -> tuple[str, ...]:
    """Inputs, constants that calls read as they are, outputs."""
    graph, read = model_plan.graph, _read_by_calls(model_plan)
    return (*graph.inputs, *(name for name, _ in graph.constants if name in read), *graph.outputs)


def _read_by_calls(model_plan: ModelPlan) -> frozenset[str]:
    """The tensors of all reads that are not packed ahead."""
    ahead = {(pack.operator, pack.read) for plan in model_plan.plans for pack in plan.schedule.ahead}
    reads = ((op.name, i, access) for op in model_plan.graph.operators for i, access in enumerate(op.reads))
    return frozenset(access.tensor for operator, number, access in reads if (operator, number) not in ahead)


def _packed_constants(model_plan: ModelPlan) -> tuple[str, ...]:
    """The constants that are packed ahead, in the order of the graph."""
    packs = [(plan.chain.operator(pack.operator), pack.read) for plan in model_plan.plans for pack in plan.schedule.ahead]
    packed = {operator.reads[read].tensor for operator, read in packs}
    return tuple(name for name, _ in model_plan.graph.constants if name in packed)


def signature_of(model_plan: ModelPlan) -> Signature:
    """The arguments in their order, and the constants that are packed ahead. Raises `DTypeError` for types no kernel takes."""
    graph, unit, merged = model_plan.graph, unit_stride_dims(model_plan), _merged(model_plan)
    known = {tensor.name: tensor for tensor in graph.tensors} | {name: each.declared for name, each in merged.items()}
    tensors = [known[name] for name in argument_names(model_plan)]
    inputs = len(tensors) - len(graph.outputs)
    tensors[:inputs] = map(_by_dimensions, tensors[:inputs])
    symbols = _symbols([extent for tensor in tensors for extent in tensor.shape])
    slots = [_slot(tensor, unit, merged) for tensor in tensors]
    constants = tuple(_slot(graph.tensor(name), {}, {}) for name in _packed_constants(model_plan))
    return Signature(tuple(symbols.values()), tuple(slots[:inputs]), tuple(slots[inputs:]), constants)


def _symbols(extents: Sequence[Extent]) -> dict[str, Symbol]:
    """The dimensions of extents first, then those with a formula."""
    formulas = {e.name: e for e in extents if isinstance(e, SymbolicExtent) and e.formula is not None}
    symbols = {name: Symbol(name, e.low, e.high) for name, e in dimensions_of(extents).items()}
    return symbols | {name: Symbol(name, e.low, e.high, e) for name, e in formulas.items()}


def _by_dimensions(tensor: Tensor) -> Tensor:
    """An input whose extents that are multiples of a number are given by the dimensions themselves."""
    bound = ((isinstance(e, SymbolicExtent) and dimension_of_multiple(e)) or e for e in tensor.shape)
    return replace(tensor, shape=tuple(bound))


def _slot(tensor: Tensor, unit: Mapping[str, int], merged: Mapping[str, MergedArgument]) -> TensorSlot:
    if tensor.dtype not in ELEMENT_TYPES:
        raise DTypeError(
            f"{tensor.name} has elements of type {tensor.dtype}",
            why="kernels neither read nor write it",
            hint="convert it to float32, or call with interpret=True",
        )
    shape = tuple(extent.name if isinstance(extent, SymbolicExtent) else extent for extent in tensor.shape)
    joined = merged[tensor.name].joined if tensor.name in merged else ()
    return TensorSlot(tensor.name, tensor.dtype, shape, unit.get(tensor.name), joined)


def stored_arguments(model_plan: ModelPlan) -> dict[str, Stored]:
    """Where the elements of every argument lie, by name."""
    unit, merged = unit_stride_dims(model_plan), _merged(model_plan)
    tensors = {tensor.name: tensor for tensor in model_plan.graph.tensors}
    return {name: stored_argument(tensors[name], unit.get(name), merged.get(name)) for name in argument_names(model_plan)}


def _merged(model_plan: ModelPlan) -> dict[str, MergedArgument]:
    return {argument.declared.name: argument for argument in model_plan.merged}


def stored_argument(tensor: Tensor, unit: int | None, merged: MergedArgument | None = None) -> Stored:
    """Where an argument lies; elements of dimensions that are one are as far apart as those of the last of them."""
    dims = range(len(tensor.shape)) if merged is None else merged.last_dims()
    strides: list[IntegerExpression] = [1 if dim == unit else Variable(VariableKind.STRIDE, tensor.name, dim) for dim in dims]
    return Stored(BufferName(tensor.name), tuple(strides), (0,) * len(strides), dtype=tensor.dtype)


def extents_in(model_plan: ModelPlan) -> dict[str, SymbolicExtent]:
    """The run-time extents that generated code may speak of, by name: of tensors, of axes, in bodies and in guards."""
    graph = model_plan.graph
    operators = [*graph.operators, *(operator for plan in model_plan.plans for operator in plan.chain.operators)]
    tensors = [*graph.tensors, *(tensor for plan in model_plan.plans for tensor in plan.chain.tensors)]
    found = [*(extent for tensor in tensors for extent in tensor.shape), *(e for operator in operators for e in _of(operator))]
    return {extent.name: extent for extent in found if isinstance(extent, SymbolicExtent)}


def hints(graph: Graph) -> dict[Variable, int]:
    """The planned values of run-time extents."""
    shapes = [extent for tensor in graph.tensors for extent in tensor.shape]
    extents = [*shapes, *(extent for operator in graph.operators for extent in _of(operator))]
    return {Variable(VariableKind.EXTENT, extent.name): extent.hint for extent in extents if isinstance(extent, SymbolicExtent)}


def _of(operator: Operator) -> Iterator[Extent]:
    yield from (axis.extent for axis in operator.axes)
    yield from (node.extent for node in operator.scalars() if isinstance(node, Parameter) and node.extent is not None)
    yield from operator.guard_extents()


def value_of_formula(extent: Extent, dimensions: Mapping[str, IntegerExpression]) -> IntegerExpression:
    """The value of an extent, where dimensions have these values.

    >>> from tilewright.graph.expressions.extents import minimum, plus, quotient, times
    >>> s = SymbolicExtent("s", 1, 9, 9)
    >>> [value_of_formula(extent, {"s": 7}) for extent in (plus(times(s, 8), 1), quotient(s, 2), minimum(s, 4))]
    [57, 3, 4]
    """
    if isinstance(extent, int):
        return extent
    match extent.formula:
        case None:
            return dimensions[extent.name]
        case Sum(terms):
            return sum(coefficient * prod(value_of_formula(f, dimensions) for f in factors) for coefficient, factors in terms)
        case Operation(function, first, second):
            this, that = value_of_formula(first, dimensions), value_of_formula(second, dimensions)
            if function == "//":
                return _floor(first, this, that)
            return choose(less(this, that), *((this, that) if function == "min" else (that, this)))
        case _:
            assert_never(extent.formula)


def _floor(dividend: Extent, value: IntegerExpression, divisor: IntegerExpression) -> IntegerExpression:
    """Quotients have no negative dividends: floor(x / m) = -((m - 1 - x) / m) for x < 0."""
    if least_extent(dividend) >= 0:
        return quotient(value, divisor)
    above = divisor + -1 - value
    return choose(less(value, 0), 0 - quotient(above, divisor), quotient(value, divisor))
