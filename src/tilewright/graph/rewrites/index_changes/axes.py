"""Axes of operators that are split, dropped, or shared by two products.

Splits axes that maps read by quotient and remainder: t[p] = x[p // W, p % W] is t[h * W + w] = x[h, w], row by row.

Products of a single column lose its axis, so that rows lie side by side in the result: lanes then run along them.

`y[m, 0] = sum(k) a[m, k] * x[k, 0]` is a product of a matrix and a vector. With an axis of one point for its columns, a tile
would have one useful lane in eight. Maps of such results follow: operators that have their axes in common fuse. Results of other
types than float32 stay as they are: their micro kernels store columns of the last dimension only.

Readers walk the blocks of what they read: t[148 block + p] is t[block, p], and a product behind it has an axis of blocks, too.

Algorithms that copy windows for a few rows of outputs at a time write their sums block by block into one dimension, the pixels of
an image. Who reads these by one axis, or by rows and columns, would need all of them before it can begin: no loop is common
to both. With a dimension of blocks, and the reader's axis as blocks and a rest, both are one chain over blocks.

Maps behind a product of groups walk these as it does: t[32 group + m, p] is t[group, m, p].

Of several channels a grouped convolution writes channel 32 group + m. Bias and activation walk channels, which are no axis of its
own: with a dimension of groups they have its axes, and its micro tiles apply them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilewright.graph.expressions.index import FloorDiv, Index, Mod, constant, floordiv, mod
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.rebuild import with_operators, with_tensors
from tilewright.graph.types import Access, Axis, AxisKind, Graph, Operator, Tensor
from tilewright.records import record, replace


class SplitAxes(Rewrite):
    """An axis of a map becomes two wherever fewer divisions are left then.

    The divisor divides the extent, so that quotient and remainder together take every value of the axis once; the body does not
    compute with the position along it, and no read is guarded.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph with the axes of all maps split that can be."""
        return with_operators(graph, map(_split, graph.operators))


def _split(operator: Operator) -> Operator:
    if not operator.is_map():
        return operator
    divisions = _divisions(operator)
    for name, divisor in sorted(set(_candidates(operator))):
        split = with_digits(operator, name, divisor)
        if _divisions(split) < divisions:
            return _split(split)
    return operator


def _divisions(operator: Operator) -> int:
    """How many quotients and remainders its reads have."""
    return sum(not isinstance(atom, str) for access in operator.reads for index in access.indices for atom, _ in index.terms)


def _candidates(operator: Operator) -> Iterator[tuple[str, int]]:
    """The axes of which a read has the quotient or the remainder by a divisor of their extents."""
    used = operator.computed_axes()
    for access in operator.reads if not any(access.guard is not None for access in operator.reads) else ():
        for index in access.indices:
            for atom, _ in index.terms:
                if isinstance(atom, FloorDiv | Mod) and atom.dividend.is_axis() and str(atom.dividend) not in used:
                    extent = operator.axis(str(atom.dividend)).extent
                    if isinstance(extent, int) and extent % atom.divisor == 0 and 1 < atom.divisor < extent:
                        yield str(atom.dividend), atom.divisor


def with_digits(operator: Operator, name: str, divisor: int) -> Operator:
    """The operator with two axes in place of one, whose extent is known: its quotient by a divisor, which keeps the name, and its
    remainder."""
    extent = operator.axis(name).extent
    assert isinstance(extent, int)
    taken = {axis.name for axis in operator.axes}
    inner = next(free for free in (f"{name}_{number}" for number in range(len(taken) + 1)) if free not in taken)
    axes: list[Axis] = []
    for axis in operator.axes:
        axes += [Axis(name, extent // divisor), Axis(inner, divisor)] if axis.name == name else [axis]
    extents = {axis.name: axis.extent for axis in axes if isinstance(axis.extent, int)}
    values = {name: axis_index(name) * divisor + axis_index(inner)}
    return replace(operator, axes=tuple(axes)).with_indices(lambda index: index.substitute(values, extents))


class SingleColumns(Rewrite):
    """Legal for axes whose extent is known to be 1: their only position is 0. Tensors keep their shapes."""

    def run(self, graph: Graph) -> Graph:
        """The graph in which no contraction writes an axis of one point last, nor a map of what such a contraction wrote."""
        changed: dict[str, Operator] = {}
        for operator in graph.operators:
            follows = operator.is_map() and any(access.tensor in changed for access in operator.reads)
            begins = operator.is_contraction() and graph.tensor(operator.write.tensor).dtype == operator.accumulator == "float32"
            without = _without_single_columns(operator) if begins or follows else operator
            if without is not operator:
                changed[operator.write.tensor] = without
        return with_operators(graph, (changed.get(operator.write.tensor, operator) for operator in graph.operators))


def _without_single_columns(operator: Operator) -> Operator:
    last = operator.write.innermost()
    if last is None or operator.axis(last).extent != 1 or len(operator.write.axes()) == 1:
        return operator
    if any(access.lookups for access in operator.reads) or last in operator.computed_axes():
        return operator
    axes = tuple(axis for axis in operator.axes if axis.name != last)
    moved = operator.with_indices(lambda index: index.substitute({last: constant(0)}))
    return _without_single_columns(replace(moved, axes=axes))


@record
class _Blocks:
    """A dimension of a tensor whose writer walks blocks of so many elements."""

    tensor: str
    dimension: int
    elements: int


@record
class ShareBlocks(Rewrite):
    """Gives a tensor a dimension of blocks from the product that writes it to the product that reads it, and to maps around; or
    to maps behind it alone, which its micro tiles then apply.

    Legal where the tensor has one reader, which sees a block after the other: elements of a block are all values of the rest of
    its index, in other tensors too that only these operators meet. Results keep their shapes.
    """

    least_elements: int = 64
    """Of a block. Results of Winograd's tiles are blocks of 2 or 4, for which a reader would give up long rows of pixels."""

    def run(self, graph: Graph) -> Graph:
        """The graph with the blocks of every such product shared."""
        for operator in graph.operators:
            blocks = _written(operator)
            if blocks is not None and blocks.elements >= self.least_elements:
                shared = _shared(graph, blocks)
                graph = shared if shared is not graph else _shared_by_maps(graph, blocks)
        return graph


class ShareGroups(Rewrite):
    """Gives what a product of groups writes, and maps behind it make, a dimension of groups, up to where others read it.

    Legal as `ShareBlocks` is. Of one channel each, groups stay channels: other leaves compute them.
    """

    def run(self, graph: Graph) -> Graph:
        """The graph with the groups of every such product shared."""
        for operator in graph.operators:
            blocks = _written(operator)
            if blocks is not None and _is_grouped(operator, operator.write.indices[blocks.dimension]):
                graph = _shared_by_maps(graph, blocks)
        return graph


def _is_grouped(operator: Operator, written: Index) -> bool:
    """Whether one axis of a dimension is a group of both operands of a contraction, whose depth is a channel of that group."""
    groups = [name for name in written.axes() if all(name in read.axes() for read in operator.reads)]
    reduced = {axis.name for axis in operator.reduction_axes()}
    indices = (index for read in operator.reads for index in read.indices)
    return operator.is_contraction() and len(groups) == 1 and any(groups[0] in i.axes() and reduced & i.axes() for i in indices)


def _written(operator: Operator) -> _Blocks | None:
    """The dimension into which a product writes two axes, the inner one as digits of one number."""
    if not operator.is_product_sum():
        return None
    for dimension, index in enumerate(operator.write.indices):
        terms = dict(index.terms)
        if len(terms) == 2 and not index.constant and terms.keys() <= operator.axis_names:
            outer, inner = sorted(terms, key=lambda atom: -terms[atom])
            if terms[inner] == 1 and operator.axis(str(inner)).extent == terms[outer]:
                return _Blocks(operator.write.tensor, dimension, terms[outer])
    return None


def _shared(graph: Graph, blocks: _Blocks) -> Graph:
    """The graph with a dimension of blocks in all tensors from here to a product, and in the maps behind it.

    As it was if there is no product that can walk them.
    """
    changed: dict[str, Operator] = {}
    found: dict[str, _Blocks] = {}
    has_product = False
    while (reader := _only_reader(graph, blocks.tensor)) is not None and not (has_product and reader.is_product_sum()):
        walking = _in_blocks(reader, blocks)
        if walking is None:
            break
        operator, axis = walking
        changed[reader.write.tensor], found[blocks.tensor] = operator, blocks
        has_product = has_product or reader.is_product_sum()
        following = _blocks_of(operator, axis)
        if following is None:
            break
        blocks = following
    return _with_blocks(graph, changed, found) if has_product else graph


def _shared_by_maps(graph: Graph, blocks: _Blocks) -> Graph:
    """The graph with a dimension of groups in all tensors that maps alone read, from here on."""
    changed: dict[str, Operator] = {}
    found: dict[str, _Blocks] = {}
    following: _Blocks | None = blocks
    while following is not None and (reader := _only_reader(graph, following.tensor)) is not None and reader.is_map():
        walking = _in_blocks(reader, following)
        if walking is None:
            break
        operator, axis = walking
        changed[reader.write.tensor], found[following.tensor] = operator, following
        following = _blocks_of(operator, axis)
    return _with_blocks(graph, changed, found) if found else graph


def _only_reader(graph: Graph, tensor: str) -> Operator | None:
    """The map or the product that alone reads a tensor between operators, once."""
    readers = [operator for operator in graph.operators for access in operator.reads if access.tensor == tensor]
    if tensor in graph.outputs or len(readers) != 1 or any(access.lookups for access in readers[0].reads):
        return None
    return readers[0] if readers[0].is_map() or readers[0].is_product_sum() else None


def _in_blocks(operator: Operator, blocks: _Blocks) -> tuple[Operator, str] | None:
    """An operator that walks the blocks of what it reads, and its axis of blocks; None if it cannot."""
    access = next(access for access in operator.reads if access.tensor == blocks.tensor)
    index = access.indices[blocks.dimension]
    if access.guard is not None or not index.is_affine() or index.constant or index.extents() or not index.terms:
        return None
    outer, step = max(index.terms, key=lambda term: term[1])
    axis = operator.axis(str(outer))
    if axis.kind is not AxisKind.PARALLEL or not isinstance(axis.extent, int) or axis.name in operator.computed_axes():
        return None
    if step < blocks.elements:
        count = blocks.elements // step
        if blocks.elements % step or axis.extent % count or axis.extent == count:
            return None
        operator = with_digits(operator, axis.name, count)
    read = next(access for access in operator.reads if access.tensor == blocks.tensor).indices[blocks.dimension]
    block, rest = _digits(read, blocks.elements, operator)
    return (operator, axis.name) if block == Index(((axis.name, 1),)) and rest.is_affine() else None


def _digits(index: Index, elements: int, operator: Operator) -> tuple[Index, Index]:
    extents = {axis.name: axis.extent for axis in operator.axes if isinstance(axis.extent, int)}
    return floordiv(index, elements, extents), mod(index, elements, extents)


def _blocks_of(operator: Operator, axis: str) -> _Blocks | None:
    """The dimension of an operator's result that an axis of blocks is a part of; None if it is one of its own."""
    places = ((d, index) for d, index in enumerate(operator.write.indices) if index.coefficient(axis) and not index.is_axis())
    return next((_Blocks(operator.write.tensor, d, index.coefficient(axis)) for d, index in places), None)


def _with_blocks(graph: Graph, changed: Mapping[str, Operator], found: Mapping[str, _Blocks]) -> Graph:
    """The graph with these operators, by their results, and dimensions of blocks in these tensors."""

    walking = replace(graph, operators=tuple(changed.get(operator.write.tensor, operator) for operator in graph.operators))
    tensors = {name: _tensor(graph.tensor(name), blocks) for name, blocks in found.items()}
    return with_tensors(walking, tensors, lambda access, operator: _in_two_dimensions(access, found[access.tensor], operator))


def _in_two_dimensions(access: Access, blocks: _Blocks, operator: Operator) -> Access:
    before, index, behind = access.indices[: blocks.dimension], access.indices[blocks.dimension], blocks.dimension + 1
    return replace(access, indices=(*before, *_digits(index, blocks.elements, operator), *access.indices[behind:]))


def _tensor(tensor: Tensor, blocks: _Blocks) -> Tensor:
    extent = tensor.shape[blocks.dimension]
    assert isinstance(extent, int), "blocks are of extents that are known"
    split = (extent // blocks.elements, blocks.elements)
    return replace(tensor, shape=(*tensor.shape[: blocks.dimension], *split, *tensor.shape[blocks.dimension + 1 :]))
