"""Fusion of maps with the sums of weighted points before or behind them.

A map of bytes to floats goes into the points that the sum weighs: bytes become floats where they are loaded. A map behind a
sum goes into what the sum finishes with.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilewright.graph.exactness import BYTES, scalar_element_type
from tilewright.graph.index import Index
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import Array
from tilewright.graph.rewrites.fusion.compose import composed, consumer_positions, is_invertible, largest_extents
from tilewright.graph.rewrites.fusion.lossless import is_as_read
from tilewright.graph.rewrites.rebuild import read_once, with_operators
from tilewright.graph.scalar import Apply, AxisValue, Literal, Load, Scalar, subexpressions, with_loads
from tilewright.graph.scalar_functions import FUNCTIONS
from tilewright.graph.types import Access, AxisKind, Graph, Guard, Operator, Tensor


def is_weighted_sum(operator: Operator) -> bool:
    """Whether an operator adds up products of its points and another read."""
    reduction = operator.reduction
    if reduction is None or len(reduction.states) != 1 or reduction.states[0].combine != "add":
        return False
    weighs = any(isinstance(node, Load) for node in subexpressions(reduction.states[0].contribution))
    return weighs and not operator.write.axes() & {axis.name for axis in operator.reduction_axes()}


MOST_STEPS = 2
"""Functions of a byte that every window that sees it computes again: less a zero point, times a scale."""


class StartWeightedSums(Rewrite):
    """A map of bytes to floats that a weighted sum over windows alone reads becomes the body of that sum.

    Legal because a body is computed for every point that is read, as the map is for every element. Outside of the image the sum
    reads a byte of which the map makes what the guard gave there; there has to be such a byte.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph with all such maps in the sums behind them."""
        alone = read_once(graph)
        tensors = {tensor.name: tensor for tensor in graph.tensors}
        operators: dict[str, Operator] = {}
        for operator in graph.operators:
            image = operator.reads[0].tensor if operator.reads else ""
            producer = operators.get(image) if image in alone and _slides(operator) else None
            started = _started(producer, operator, tensors) if producer is not None else None
            if started is not None:
                del operators[image]
            operators[operator.write.tensor] = started or operator
        return with_operators(graph, operators.values())


def _slides(operator: Operator) -> bool:
    """Whether an operator weighs the elements of an image as they are, by windows that move."""
    if not is_weighted_sum(operator) or operator.body != Load(0):
        return False
    outputs = {axis.name for axis in operator.axes if axis.kind is AxisKind.PARALLEL}
    image, reduction = operator.reads[0], operator.reduction
    assert reduction is not None
    parts = (reduction.finish, *(state.contribution for state in reduction.states))
    is_read_again = any(Load(0) in subexpressions(part) for part in parts)
    moves = any(index.axes() & outputs and index.axes() - outputs for index in image.indices)
    return moves and not is_read_again and not image.lookups


def _started(producer: Operator, sums: Operator, tensors: dict[str, Tensor]) -> Operator | None:
    """The sums with the map that makes their image in their body; None where that is not legal."""
    if not _is_of_bytes(producer, tensors) or sums.accumulator != "float32" or not is_invertible(producer):
        return None
    access = sums.reads[0]
    read = composed(producer.reads[0], consumer_positions(producer, access), largest_extents(sums))
    if access.guard is not None:
        outside = byte_of(producer.body, access.guard.otherwise, tensors[read.tensor].dtype)
        if outside is None:
            return None
        read = replace(read, guard=Guard(access.guard.constraints, outside))
    return replace(sums, reads=(read, *sums.reads[1:]), body=producer.body)


def _is_of_bytes(producer: Operator, tensors: dict[str, Tensor]) -> bool:
    """Whether a map makes floats of bytes, one of each, by a few steps."""
    if not producer.is_map() or len(producer.reads) != 1 or scalar_element_type(producer, tensors):
        return False
    nodes, read = subexpressions(producer.body), producer.reads[0]
    has_leaves = all(isinstance(node, Apply | Literal) or node == Load(0) for node in nodes)
    has_types = (tensors[read.tensor].dtype in BYTES, tensors[producer.write.tensor].dtype) == (True, "float32")
    is_short = sum(isinstance(node, Apply) for node in nodes) <= MOST_STEPS and _loads(producer.body) == 1
    return has_leaves and has_types and is_short and producer.accumulator == "float32" and _is_plain(read)


def _loads(body: Scalar) -> int:
    """How often an expression loads."""
    if isinstance(body, Apply):
        return sum(map(_loads, body.operands))
    return int(isinstance(body, Load))


def _is_plain(read: Access) -> bool:
    return read.guard is None and not read.lookups and read.is_affine()


def byte_of(body: Scalar, value: float, dtype: str) -> float | None:
    """The byte of which a body makes this value, in float32 and bit for bit; None if there is none.

    >>> from tilewright.graph.scalar import apply
    >>> byte_of(apply("subtract", Load(0), Literal(7.0)), 0.0, "uint8"), byte_of(Load(0), 0.5, "int8")
    (7.0, None)
    """
    limits = np.iinfo(dtype)
    every = np.arange(limits.min, limits.max + 1, dtype=np.float32)
    made = np.broadcast_to(_of_bytes(body, every), every.shape).astype(np.float32).view(np.int32)
    found = np.flatnonzero(made == np.float32(value).view(np.int32))
    return float(every[found[0]]) if found.size else None


def _of_bytes(body: Scalar, every: Array) -> Array:
    """What a body makes of all bytes."""
    match body:
        case Literal(value):
            return np.asarray(value, np.float32)
        case Apply(function, operands):
            with np.errstate(all="ignore"):
                return np.asarray(FUNCTIONS[function].numpy(*(_of_bytes(operand, every) for operand in operands)), np.float32)
    return every


class FinishWeightedSums(Rewrite):
    """A map that alone reads weighted sums (a bias, an activation, a shortcut), each once, becomes a part of their finish.

    Legal because the finish of a sum is computed once for every element of the result, as the map is.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph with all such maps in the sums before them."""
        alone = read_once(graph)
        tensors = {tensor.name: tensor for tensor in graph.tensors}
        operators: dict[str, Operator] = {}
        for operator in graph.operators:
            sums = [operators[access.tensor] for access in operator.reads if access.tensor in operators.keys() & alone]
            sums = [producer for producer in sums if is_weighted_sum(producer) and is_as_read(producer, operator, tensors)]
            finished = next((found for producer in sums if (found := _finished(producer, operator)) is not None), None)
            if finished is not None:
                operators = {tensor: made for tensor, made in operators.items() if made.name != finished.name}
            operators[operator.write.tensor] = finished or operator
        return with_operators(graph, operators.values())


def _finished(sums: Operator, reader: Operator) -> Operator | None:
    """The sums with their reader in their finish; None where the reader is no map of their points, or writes other columns."""
    if not reader.is_map() or any(isinstance(node, AxisValue) for node in subexpressions(reader.body)):
        return None
    number = next(number for number, access in enumerate(reader.reads) if access.tensor == sums.write.tensor)
    positions = _positions(sums, reader, reader.reads[number])
    if positions is None or reader.looked_up() or any(access.guard or access.lookups for access in reader.reads):
        return None
    others = [read.mapped(lambda index: index.substitute(positions)) for read in reader.reads]
    first = len(sums.reads)
    reduction = sums.reduction
    assert reduction is not None
    values: dict[int, Scalar] = {read: Load(first + read - (read > number)) for read in range(len(others))}
    finish = with_loads(reader.body, values | {number: reduction.finish})
    reads = (*sums.reads, *others[:number], *others[number + 1 :])
    write = reader.write.mapped(lambda index: index.substitute(positions))
    if write.innermost() != sums.write.innermost():
        return None  # lanes run along it, and the image lies as they do
    return replace(sums, reads=reads, write=write, reduction=replace(reduction, finish=finish))


def _positions(sums: Operator, reader: Operator, access: Access) -> dict[str, Index] | None:
    """The reader's axes by those of the sums, axes of one point by 0; None where it does not read every sum once."""
    pairs = [(read, made) for read, made in zip(access.indices, sums.write.indices, strict=True) if read.terms or made.terms]
    wide = {axis.name for axis in reader.axes if axis.extent != 1}
    is_plain = access.guard is None and not access.lookups and all(read.is_axis() for read, _ in pairs)
    if not is_plain or not wide <= access.axes():
        return None
    return {axis.name: Index() for axis in reader.axes if axis.name not in wide} | {str(read): made for read, made in pairs}
