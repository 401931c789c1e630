"""Loads and stores: addresses by views or by gathered indices, masks of ragged axes and guards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tilewright.block.integers import IntegerExpression
from tilewright.block.memory import BufferName, Gather, Range, View
from tilewright.graph.expressions.index import Index, constant
from tilewright.render.triton.addresses import index_text, linear
from tilewright.render.triton.positions import Position, Positions
from tilewright.render.triton.refusals import refused
from tilewright.render.triton.scalars import is_float, number
from tilewright.render.triton.sizes import axes_of
from tilewright.render.triton.tiles import Dim, Tile, spread, type_text

Box = tuple[tuple[str, Range], ...]


class Memory:
    """The arguments of a kernel, by the name of their buffer."""

    def __init__(self, positions: Positions, arguments: Iterable[str]) -> None:
        self.positions, self.scopes = positions, positions.scopes
        self.pointers = {BufferName(name): self.scopes.fresh(f"p_{name}") for name in arguments}

    def load(self, place: View | Gather, box: Box, order: Sequence[str] = ()) -> Tile:
        """A tile of an argument over the axes on which it depends, those of `order` first."""
        spans = self.positions_of(place, box, order)
        dims = _dims(spans.values())
        mask = mask_of(place, spans, dims)
        otherwise = place.guard.otherwise if isinstance(place, Gather) and place.guard is not None else 0.0
        other = number(otherwise, is_whole=not is_float(place.dtype))
        name = self.scopes.fresh("x")
        masked = f", mask={mask}, other={other}" if mask else ""
        self.scopes.put(f"{name} = tl.load({self._address(place, spans, dims)}{masked})")
        zero = frozenset(dim.axis for dim in dims) if otherwise == 0 else frozenset()
        return Tile(name, dims, place.dtype, zero)

    def store(self, view: View, box: Box, tile: Tile) -> None:
        """Store a tile of the elements of a box."""
        order = [dim.axis for dim in tile.dims]
        spans = self.positions_of(view, box, order)
        dims = _dims(spans.values())
        mask = mask_of(view, spans, dims)
        masked = f", mask={mask}" if mask else ""
        value = f"{spread(tile, dims)}.to({type_text(view.dtype)})" if tile.dtype != view.dtype else spread(tile, dims)
        self.scopes.put(f"tl.store({self._address(view, spans, dims)}, {value}{masked})")

    def positions_of(self, place: View | Gather, box: Box, order: Sequence[str]) -> dict[str, Position]:
        """Where the blocks are of the axes on which an operand depends, those of `order` first."""
        axes, ranges = axes_of(place), dict(box)
        first = [axis for axis in order if axis in axes]
        rest = [axis for axis, _ in box if axis in axes and axis not in first]
        return {axis: self.positions.of(axis, ranges[axis]) for axis in (*first, *rest)}

    def _address(self, place: View | Gather, spans: Mapping[str, Position], dims: Sequence[Dim]) -> str:
        if place.buffer not in self.pointers:
            raise refused(f"a read of {place.buffer} element by element", "it is a register tile, which has no addresses")
        text = self._of_gather(place, spans, dims) if isinstance(place, Gather) else self._of_view(place, spans, dims)
        return f"{self.pointers[place.buffer]} + {text}"

    def _of_view(self, view: View, spans: Mapping[str, Position], dims: Sequence[Dim]) -> str:
        """Positions count from the first point of an axis, strides of a view from where its box starts."""
        base: IntegerExpression = view.offset
        parts = []
        for axis, position in spans.items():
            if position.dim is not None:
                stride = view.stride(axis)
                base = base - position.start * stride
                text = spread(position.tile, dims)
                parts.append(text if stride == 1 else f"{text} * {self.scopes.text(stride)}")
        return " + ".join([*([] if base == 0 and parts else [self.scopes.text(base)]), *parts])

    def _of_gather(self, gather: Gather, spans: Mapping[str, Position], dims: Sequence[Dim]) -> str:
        if gather.lookups:
            raise refused(f"positions in {gather.buffer} that data gives", "nobody could be told of those outside of a dimension")
        strides = [stride for stride in gather.dim_strides if isinstance(stride, int)]
        if len(strides) != len(gather.dim_strides):
            raise refused(f"the strides of {gather.buffer}", "they are known at run time only")
        index = linear(gather.indices, strides).substitute(_known(spans))
        offset = [] if gather.offset == 0 else [self.scopes.text(gather.offset)]
        parts = (index_text(part, position_text(spans, dims)) for part in _by_dims(index, spans))
        return " + ".join([*offset, *(f"({part})" for part in parts)])


def _by_dims(index: Index, spans: Mapping[str, Position]) -> list[Index]:
    """An index as a sum: what is the same for the whole tile, then parts by the dimensions along which they differ.

    Added to a pointer in this order, all but the last sums are of few elements.
    """
    found: dict[tuple[str, ...], Index] = {(): constant(index.constant)}
    for atom, coefficient in index.terms:
        term = Index(((atom, coefficient),))
        axes = tuple(sorted(axis for axis in term.axes() if spans[axis].dim is not None))
        found[axes] = found.get(axes, constant(0)) + term
    return [part for axes, part in sorted(found.items(), key=lambda pair: len(pair[0])) if part != constant(0) or len(found) == 1]


def _known(spans: Mapping[str, Position]) -> dict[str, Index]:
    """The positions that are numbers, as along an axis of one point."""
    known = ((axis, position) for axis, position in spans.items() if position.dim is None)
    return {axis: constant(position.start) for axis, position in known if isinstance(position.start, int)}


def mask_of(place: View | Gather, spans: Mapping[str, Position], dims: Sequence[Dim]) -> str:
    """What must hold for an element to be there: its point lies in the block, and the guard holds. Empty if all are there."""
    tests = [spread(position.mask, dims) for position in spans.values() if position.mask is not None]
    return " & ".join([*tests, *guard_tests(place, spans, dims)])


def guard_tests(place: View | Gather, spans: Mapping[str, Position], dims: Sequence[Dim]) -> list[str]:
    """The constraints of a guard over some dimensions.

    Tests of scalars are made truth values: the interpreter of Triton 3.9.0 spreads the result of a comparison in the type of what
    is compared, which no mask may have.
    """
    guard = place.guard if isinstance(place, Gather) else None
    constraints = [one.substitute(_known(spans)) for one in (guard.constraints if guard is not None else ())]
    found = []
    for constraint in constraints:
        if constraint.terms or constraint.constant < 0:
            test = f"({index_text(constraint, position_text(spans, dims))} >= 0)"
            is_scalar = all(spans[axis].dim is None for axis in constraint.axes())
            found.append(f"tl.where({test}, True, False)" if is_scalar else test)
    return found


def position_text(spans: Mapping[str, Position], dims: Sequence[Dim]) -> Callable[[str], str]:
    """The text of the position along an axis, over some dimensions."""
    return lambda axis: spread(spans[axis].tile, dims)


def _dims(spans: Iterable[Position]) -> tuple[Dim, ...]:
    return tuple(position.dim for position in spans if position.dim is not None)
