"""Products of integers that a model computes in floats.

Products of dequantised bytes become products of the bytes, and their scales multiply the sums.

With bytes a and b, zero points za and zb, and scales sa and sb, which are the same at all steps of the sum,

    sum (a - za) sa (b - zb) sb  =  sa sb sum (a - za)(b - zb)

The left side is what DequantizeLinear in front of a product says; the right side sums integers, exactly. Filters of one channel
have no micro kernel: theirs are whole numbers in float32, as long as it holds every sum.

Sums of bytes that are whole numbers in float32 stay in it where they would become int32 for readers that compute in float32.

ConvInteger's result is int32. Filters of one channel are summed in float32, and a reader that scales the sums would read them
through an int32 tensor, which is a pass of its own over the image.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from math import isfinite, prod

import numpy as np

from tilewright.graph.builders.zero_points import (
    LARGEST_INT32,
    are_exact_in_float32,
    centred,
    centred_reads,
    largest_centred,
    with_zero_points,
)
from tilewright.graph.exactness import BYTES, LARGEST_WHOLE
from tilewright.graph.expressions.scalar import Apply, Load, Scalar, apply, rewrite
from tilewright.graph.licences import Licence
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import Array
from tilewright.graph.rewrites.fusion.compose import composed, consumer_positions, is_invertible, largest_extents
from tilewright.graph.rewrites.rebuild import Expansion, with_operators
from tilewright.graph.types import Access, AxisKind, Graph, Guard, Operator
from tilewright.records import record

SMALLEST_FACTOR, LARGEST_RESULT = 2.0**-126, 2.0**127
"""Within these no scale and no scaled sum of float32 leaves the normal numbers."""


@record
class Dequantised:
    """An operand that is (number - zero) * scale: how a product reads the three."""

    number: Access
    zero: Access | None
    scale: Access
    largest: int
    """Of |number - zero|."""


class IntegerProducts(Rewrite):
    """Legal where no sum can leave int32 (for filters of one channel: what float32 holds of whole numbers), where scales are
    constants, finite and normal, and where both operands are bytes whose scales and zero points do not change along the sum. Sums
    are then those of exact arithmetic, rounded once more or less than sums of float32. Padding of images (guards that give 0)
    becomes padding with the zero point, which has to be a constant.
    """

    licence = Licence.QUANTISED

    def run(self, graph: Graph) -> Graph:
        """The graph with products of bytes, each with a map that scales behind it."""
        return _Rewriting(graph).expanded()


class _Rewriting(Expansion):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.values = {name: constant.array for name, constant in graph.constants if constant.has_values}
        self.producers = {operator.write.tensor: operator for operator in graph.operators}

    def parts(self, operator: Operator) -> Iterator[Operator]:
        """An operator, or the product of integers and the scaling that stand for it."""
        found = self.operands(operator)
        is_matrix_product = bool(found) and _is_matrix_product(operator)
        if not found or not self.is_legal(operator, found, LARGEST_INT32 if is_matrix_product else LARGEST_WHOLE):
            yield operator
            return
        sums = self.declared(f"{operator.write.tensor}_sums", operator.write.tensor, "int32" if is_matrix_product else "float32")
        write = replace(operator.write, tensor=sums.name)
        if is_matrix_product:
            product = replace(operator, reads=tuple(operand.number for operand in found), write=write)
            yield with_zero_points(product, [operand.zero for operand in found], "int32")
        else:
            numbers = [self.centred(access) for access in operator.reads]
            yield from numbers
            pairs = zip(operator.reads, numbers, strict=True)
            reads = tuple(replace(access, tensor=number.write.tensor) for access, number in pairs)
            yield replace(operator, reads=reads, write=write)
        yield _scaling(operator, found, write, Load(0) if is_matrix_product else apply("round", Load(0)))

    def centred(self, access: Access) -> Operator:
        """The map that makes what a dequantisation makes, but for its scale: numbers less their zero point, in float32."""
        producer = self.producers[access.tensor]
        reads = _parts(producer.body)
        assert reads is not None
        number, zero, _ = reads
        tensor = self.declared(f"{access.tensor}_centred", access.tensor)
        name, write = f"{producer.name}_{tensor.name}", replace(producer.write, tensor=tensor.name)
        return replace(producer, name=name, write=write, body=centred(number, zero))

    def operands(self, operator: Operator) -> tuple[Dequantised, ...]:
        """Both operands of a product in float32, if both are dequantised bytes."""
        is_float = operator.accumulator == "float32" == self.tensors[operator.write.tensor].dtype
        if not operator.is_product_sum() or not is_float:
            return ()
        found = [self.dequantised(operator, access) for access in operator.reads]
        return tuple(operand for operand in found if operand is not None) if None not in found else ()

    def dequantised(self, reader: Operator, access: Access) -> Dequantised | None:
        """How a reader gets at the bytes behind an operand."""
        producer = self.producers.get(access.tensor)
        if producer is None or not producer.is_map() or not is_invertible(producer):
            return None
        if producer.accumulator != "float32" or self.tensors[access.tensor].dtype != "float32":
            return None  # halves are rounded where they are stored
        reads = _parts(producer.body)
        if reads is None or self.tensors[producer.reads[reads[0]].tensor].dtype not in BYTES:
            return None
        if access.lookups or not all(read.is_affine() for read in producer.reads):
            return None
        positions, extents = consumer_positions(producer, access), largest_extents(reader)
        accesses = [composed(read, positions, extents) for read in producer.reads]
        number, scale = accesses[reads[0]], accesses[reads[2]]
        zero = None if reads[1] is None else accesses[reads[1]]
        zeros = self.values.get(zero.tensor) if zero is not None else None
        if zeros is not None and not np.any(zeros):
            zero = None
        if access.guard is not None:
            outside = _outside(access.guard, zero, zeros, scale)
            if outside is None:
                return None
            number = replace(number, guard=outside)
        largest = largest_centred(self.tensors[number.tensor].dtype, np.zeros(1, np.int32) if zero is None else zeros)
        return Dequantised(number, zero, scale, largest)

    def is_legal(self, operator: Operator, found: Collection[Dequantised], largest: int) -> bool:
        """Whether integers up to a largest one give what float32 would give, but for rounding."""
        steps = [axis.extent for axis in operator.reduction_axes()]
        summed = frozenset(axis.name for axis in operator.reduction_axes())
        parameters = [access for operand in found for access in (operand.zero, operand.scale) if access is not None]
        if not all(isinstance(extent, int) for extent in steps) or any(access.axes() & summed for access in parameters):
            return False
        scales = [self.values.get(operand.scale.tensor) for operand in found]
        if any(values is None or not values.size for values in scales):
            return False
        largest_sum = prod(extent for extent in steps if isinstance(extent, int)) * prod(operand.largest for operand in found)
        sizes = [np.abs(values.astype(np.float64)) for values in scales if values is not None]
        low, high = prod(float(size.min()) for size in sizes), prod(float(size.max()) for size in sizes)
        return largest_sum <= largest and low >= SMALLEST_FACTOR and isfinite(high) and high * largest_sum <= LARGEST_RESULT


def _is_matrix_product(operator: Operator) -> bool:
    """Whether elements of both operands are used again, or there is one such product alone: micro kernels of bytes gain there.

    Depthwise convolutions are faster in float32, in which sums of few taps are whole numbers, too.
    """
    left, right = (access.axes() for access in operator.reads)
    walked = {axis.name for axis in operator.axes if axis.kind is AxisKind.PARALLEL and axis.extent != 1}
    shared, alone = walked & left & right, (walked & (left - right), walked & (right - left))
    return all(alone) or not shared


def _parts(body: Scalar) -> tuple[int, int | None, int] | None:
    """The reads of (number, zero point, scale) in the body of a dequantisation."""
    match body:
        case Apply("multiply", (factor, Load(scale))) if reads := centred_reads(factor):
            return *reads, scale
    return None


def _outside(guard: Guard, zero: Access | None, zeros: Array | None, scale: Access) -> Guard | None:
    """The guard of bytes whose dequantised numbers are 0 where a guard does not hold: there, they are the zero point.

    None where that is not known, or where numbers outside have a zero point or a scale that their place decides.
    """
    is_plain = guard.otherwise == 0 and not scale.axes() and (zero is None or not zero.axes())
    if not is_plain or (zero is not None and zeros is None):
        return None
    return replace(guard, otherwise=0.0 if zero is None or zeros is None else float(zeros.reshape(-1)[0]))


def _scaling(operator: Operator, found: Collection[Dequantised], sums: Access, total: Scalar) -> Operator:
    """The map that multiplies sums by both scales. Whole numbers of float32 are rounded, which changes none of them: no pass may
    then multiply the filters by the scales."""
    axes = tuple(axis for axis in operator.axes if axis.kind is AxisKind.PARALLEL)
    reads = (sums, *(operand.scale for operand in found))
    body = apply("multiply", total, apply("multiply", Load(1), Load(2)))
    return Operator(f"{operator.name}_scaled", "scale", axes, reads, operator.write, body)


class WholeSums(Rewrite):
    """Legal where the sums are whole numbers that float32 holds, up to 2^24, in any order of their terms: sums of products of
    bytes less zero points of their types, of 258 taps at most. Such a number is the same in int32 and back in float32.

    Readers round what they read, which changes none of it, so that no pass moves a factor of theirs into the filters. Guards and
    lookups of readers keep the int32 tensor, as do readers in other types.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph whose maps in float32 read such sums where they are summed."""
        types = {tensor.name: tensor.dtype for tensor in graph.tensors}
        made = {operator.write.tensor: operator for operator in graph.operators}
        casts = {name: operator.reads[0].tensor for name, operator in made.items() if _casts_whole_sums(operator, made, types)}
        return with_operators(graph, [_reading_sums(operator, casts) for operator in graph.operators]) if casts else graph


def _casts_whole_sums(operator: Operator, made: Mapping[str, Operator], types: Mapping[str, str]) -> bool:
    """Whether a map writes whole sums as int32, element by element and in the same places."""
    if not operator.is_map() or operator.body != Load(0) or types[operator.write.tensor] != "int32":
        return False
    (read,) = operator.reads
    in_place = read.indices == operator.write.indices and read.guard is None and not read.lookups
    is_whole = all(index.is_axis() or not index.terms for index in read.indices)
    sums = made.get(read.tensor)
    return in_place and is_whole and sums is not None and _are_whole(sums, made, types)


def _are_whole(sums: Operator, made: Mapping[str, Operator], types: Mapping[str, str]) -> bool:
    """Whether an operator sums products of centred bytes in float32, few enough of them."""
    if not sums.is_product_sum() or (sums.accumulator, types[sums.write.tensor]) != ("float32", "float32"):
        return False
    steps = [axis.extent for axis in sums.reduction_axes()]
    known = [extent for extent in steps if isinstance(extent, int)]
    is_short = len(known) == len(steps) and are_exact_in_float32(prod(known))
    return is_short and all(_is_centred(read, made, types) for read in sums.reads)


def _is_centred(read: Access, made: Mapping[str, Operator], types: Mapping[str, str]) -> bool:
    """Whether a tensor has bytes, less a zero point of their type or as they are, and what is around it is 0."""
    map_ = made.get(read.tensor)
    if map_ is None or not map_.is_map() or types[read.tensor] != "float32" or (read.guard and read.guard.otherwise):
        return False
    of = [types[each.tensor] for each in map_.reads if each.guard is None]
    are_bytes = len(of) == len(map_.reads) and len(set(of)) == 1 and of[0] in BYTES
    return are_bytes and centred_reads(map_.body) is not None


def _reading_sums(operator: Operator, casts: Mapping[str, str]) -> Operator:
    """A map in float32 that reads sums where they are summed; any other operator as it is."""
    numbers = {number for number, read in enumerate(operator.reads) if read.tensor in casts and _is_plain(operator, number)}
    if not operator.is_map() or operator.accumulator != "float32" or not numbers:
        return operator
    reads = tuple(replace(read, tensor=casts[read.tensor]) if n in numbers else read for n, read in enumerate(operator.reads))
    body = rewrite(operator.body, lambda node: apply("round", node) if isinstance(node, Load) and node.read in numbers else None)
    return replace(operator, reads=reads, body=body)


def _is_plain(operator: Operator, number: int) -> bool:
    read = operator.reads[number]
    return read.guard is None and not read.lookups and number not in operator.looked_up()
