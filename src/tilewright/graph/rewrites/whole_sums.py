"""Sums of bytes that are whole numbers in float32 stay in it where they would become int32 for readers that compute in float32.

ConvInteger's result is int32. Filters of one channel are summed in float32, and a reader that scales the sums would read them
through an int32 tensor, which is a pass of its own over the image.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from tilewright.graph.exactness import BYTES, LARGEST_WHOLE
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_operators
from tilewright.graph.scalar import Apply, Load, apply, rewrite
from tilewright.graph.types import Access, Graph, Operator

LARGEST_CENTRED = 255
"""Of the magnitude of a byte less another one of its type."""


@dataclass(frozen=True, slots=True)
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
    is_short = len(known) == len(steps) and prod(known) * LARGEST_CENTRED**2 <= LARGEST_WHOLE
    return is_short and all(_is_centred(read, made, types) for read in sums.reads)


def _is_centred(read: Access, made: Mapping[str, Operator], types: Mapping[str, str]) -> bool:
    """Whether a tensor has bytes, less a zero point of their type or as they are, and what is around it is 0."""
    map_ = made.get(read.tensor)
    if map_ is None or not map_.is_map() or types[read.tensor] != "float32" or (read.guard and read.guard.otherwise):
        return False
    of = [types[each.tensor] for each in map_.reads if each.guard is None]
    match map_.body:
        case Load() | Apply("subtract", (Load(), Load())):
            return len(of) == len(map_.reads) and len(set(of)) == 1 and of[0] in BYTES
    return False


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
