"""Maps that are computed where they are read.

Maps that follow each other point by point become one. Comparisons and integers move into the operators that use them: no tensor
of either is ever stored. A map of bytes to floats goes into the points that a weighted sum takes, and bytes become floats where
they are loaded. A map behind such a sum goes into what the sum finishes with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tilewright.graph.exactness import BYTES, exact_element_type
from tilewright.graph.expressions.index import Index
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Scalar, subexpressions, with_loads
from tilewright.graph.interpreter import Box, Environment, value_of_scalar
from tilewright.graph.licences import Licence
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import StoredParts
from tilewright.graph.rewrites.fusion.compose import composed, consumer_positions, is_invertible, largest_extents
from tilewright.graph.rewrites.fusion.lossless import WHOLE, in_floats, inlined_as_read, is_as_read
from tilewright.graph.rewrites.rebuild import with_joined, with_operators
from tilewright.graph.shapes import Shape
from tilewright.graph.types import Access, AxisKind, Graph, Guard, Operator, Tensor
from tilewright.records import record

MOST_NODES = 96
"""In a fused body, and in one that is computed again: operands that stand several times in a formula double it."""


class FuseMaps(Rewrite):
    """A map whose result another map alone reads, once and at every point, is computed inside of that one.

    Both must have the same points: what is broadcast is not computed again for each of its readers' points. Outputs stay, and so
    do maps of constants that are better stored. The steps in which a formula was written leave no trace: equal formulas are equal
    operators.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph with maps fused, until none is left that may be: what two maps have read may then be read by one."""
        fused = self._fused_once(graph)
        while len(fused.operators) < len(graph.operators):
            graph, fused = fused, self._fused_once(fused)
        return graph

    def _fused_once(self, graph: Graph) -> Graph:
        stored = StoredParts(graph)

        def fused(operator: Operator, access: Access, producer: Operator) -> Operator | None:
            """The map with a producer's body inside, unless that becomes too long or changes values."""
            is_able = operator.is_map() and _has_same_points(operator, access, producer)
            if not is_able or stored.keep_apart(producer, operator):
                return None
            reader = in_floats(operator, producer, graph.by_name)
            whole = inlined_as_read(reader, {access.tensor: producer}, graph.by_name)
            is_read = any(read.tensor == access.tensor for read in whole.reads)
            return None if is_read or len(subexpressions(whole.body)) > MOST_NODES else whole

        return with_joined(graph, fused)


def _has_same_points(operator: Operator, access: Access, producer: Operator) -> bool:
    """Whether a reader takes every element of a map's result exactly once."""
    guarded = any(read.guard is not None or read.lookups for read in (access, *producer.reads))
    positions = [read for read in access.indices if read.terms]
    wide = {axis.name for axis in operator.axes if axis.extent != 1}
    is_plain = is_invertible(producer) and not guarded and all(index.is_axis() for index in positions)
    return producer.is_map() and is_plain and wide <= access.axes()


class InlineConditions(Rewrite):
    """A map that writes truth values or integers, or that reads nothing (positions), is computed again inside each of its
    readers. It stays an operator where it is an output, where a reader would compute something else from it than from what is
    stored (see `lossless`), and where it has become long.

    A condition is cheaper to compute than to store and load, but for those of constants that are better stored.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph in which the readers of conditions compute these themselves."""
        conditions: dict[str, Operator] = {}
        operators = []
        stored = StoredParts(graph)
        for operator in graph.operators:
            near = {access.tensor: conditions[access.tensor] for access in operator.reads if access.tensor in conditions}
            near = {name: producer for name, producer in near.items() if not stored.keep_apart(producer, operator)}
            whole = operator if operator.is_product_sum() else inlined_as_read(operator, near, graph.by_name)
            if _is_condition(whole, graph.by_name) and len(subexpressions(whole.body)) <= MOST_NODES:
                conditions[whole.write.tensor] = whole
            operators.append(whole)
        read = {access.tensor for operator in operators for access in operator.reads} | set(graph.outputs)
        return with_operators(graph, [o for o in operators if o.write.tensor not in conditions or o.write.tensor in read])


def _is_condition(operator: Operator, tensors: Mapping[str, Tensor]) -> bool:
    plain = all(index.is_axis() or not index.terms for index in operator.write.indices)
    simple = plain and all(access.guard is None and not access.lookups for access in operator.reads)
    is_float = tensors[operator.write.tensor].dtype not in WHOLE
    return operator.is_map() and simple and not (is_float and operator.reads)


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

        def started(operator: Operator, access: Access, producer: Operator) -> Operator | None:
            is_image = access is operator.reads[0] and _slides(operator)
            return _started(producer, operator, graph.by_name) if is_image else None

        return with_joined(graph, started)


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


def _started(producer: Operator, sums: Operator, tensors: Mapping[str, Tensor]) -> Operator | None:
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


def _is_of_bytes(producer: Operator, tensors: Mapping[str, Tensor]) -> bool:
    """Whether a map makes floats of bytes, one of each, by a few steps."""
    if not producer.is_map() or len(producer.reads) != 1 or exact_element_type(producer, tensors):
        return False
    nodes, read = subexpressions(producer.body), producer.reads[0]
    has_leaves = all(isinstance(node, Apply | Literal) or node == Load(0) for node in nodes)
    has_types = (tensors[read.tensor].dtype in BYTES, tensors[producer.write.tensor].dtype) == (True, "float32")
    is_short = sum(isinstance(node, Apply) for node in nodes) <= MOST_STEPS and nodes.count(Load(0)) == 1
    return has_leaves and has_types and is_short and producer.accumulator == "float32" and read.is_affine()


def byte_of(body: Scalar, value: float, dtype: str) -> float | None:
    """The byte of which a body makes this value, in float32 and bit for bit; None if there is none.

    >>> from tilewright.graph.expressions.scalar import apply
    >>> byte_of(apply("subtract", Load(0), Literal(7.0)), 0.0, "uint8"), byte_of(Load(0), 0.5, "int8")
    (7.0, None)
    """
    limits = np.iinfo(dtype)
    every = np.arange(limits.min, limits.max + 1, dtype=np.float32)
    with np.errstate(all="ignore"):
        made = np.asarray(value_of_scalar(body, Environment(Box({}), [every], {}, every.dtype)), np.float32).view(np.int32)
    found = np.flatnonzero(made == np.float32(value).view(np.int32))
    return float(every[found[0]]) if found.size else None


class FinishWeightedSums(Rewrite):
    """A map that alone reads weighted sums (a bias, an activation, a shortcut), each once, becomes a part of their finish.

    Legal because the finish of a sum is computed once for every element of the result, as the map is.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph with all such maps in the sums before them."""

        def finished(operator: Operator, access: Access, producer: Operator) -> Operator | None:
            is_sum = operator.is_map() and is_weighted_sum(producer) and not _adds_channels(producer)
            is_sum = is_sum and is_as_read(producer, operator, graph.by_name)
            return _finished(producer, operator, access, graph.tensor(access.tensor).shape) if is_sum else None

        return with_joined(graph, finished)


def _adds_channels(operator: Operator) -> bool:
    """Whether an operator adds up a whole dimension of its image: blocks of filters store such sums as they are."""
    reduced = {axis.name for axis in operator.reduction_axes()}
    return any(index.terms and index.axes() <= reduced for index in operator.reads[0].indices)


@record
class FinishNorms(Rewrite):
    """A map that alone reads a norm (scale, shift, activation, shortcut), each element once, becomes a part of its finish.

    Legal because the finish of a norm is computed once for every element of the result, as the map is. What is stored between the
    two is a float32 in either case; but a norm divides and rounds as its kind does, so that marked results stay apart.
    """

    licence: Licence = Licence.ROUNDING

    def run(self, graph: Graph) -> Graph:
        """The graph with all such maps in the norms before them."""

        def finished(operator: Operator, access: Access, producer: Operator) -> Operator | None:
            if not producer.is_norm() or not all(_is_plain_float(one, graph) for one in (operator, producer)):
                return None
            shape = graph.tensor(access.tensor).shape
            whole = _finished(producer, operator, access, shape) if operator.is_map() else None
            return whole if whole is not None and len(whole.scalars()) <= MOST_NODES else None

        return with_joined(graph, finished)


def _is_plain_float(operator: Operator, graph: Graph) -> bool:
    """Whether everything is computed and stored in float32, and nobody needs the last bit."""
    tensors = [graph.tensor(access.tensor) for access in operator.accesses()]
    is_float = operator.accumulator == "float32" and all(tensor.dtype == "float32" for tensor in tensors)
    return is_float and not tensors[-1].needs_exact


def _finished(sums: Operator, reader: Operator, access: Access, shape: Shape) -> Operator | None:
    """The sums, of a shape, with the map that reads them in their finish; None where it is none of their points, or a part of
    them, or writes other columns."""
    positions = _positions(sums, reader, access)
    is_part = any(
        index.is_axis() and reader.axis(str(index)).extent != extent for index, extent in zip(access.indices, shape, strict=True)
    )
    if positions is None or is_part or reader.computed_axes() or any(read.guard or read.lookups for read in reader.reads):
        return None
    number = reader.reads.index(access)
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
    """The reader's axes by those of the sums, axes of one point by others or 0; None where it does not read every sum once."""
    pairs = [(read, made) for read, made in zip(access.indices, sums.write.indices, strict=True) if read.terms or made.terms]
    single = [made for read, made in pairs if not read.terms and all(sums.axis(name).extent == 1 for name in made.axes())]
    moved = [(read, made) for read, made in pairs if read.is_axis()]
    wide = {axis.name for axis in reader.axes if axis.extent != 1}
    free = [axis.name for axis in reader.axes if axis.name not in wide | access.axes()]
    is_plain = access.guard is None and not access.lookups and len(moved) + len(single) == len(pairs)
    if not is_plain or not wide <= access.axes() or len(single) > len(free):
        return None
    found = {str(read): made for read, made in moved} | dict(zip(free, single, strict=False))
    return {axis.name: Index() for axis in reader.axes} | found
