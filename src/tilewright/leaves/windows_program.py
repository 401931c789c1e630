"""Tile programs of direct convolutions: where an image begins and ends, what lanes see of it, and sums that are finished."""

from __future__ import annotations

from tilewright.block.integers import IntegerExpression, Variable, VariableKind
from tilewright.block.leaf_binding import Window
from tilewright.block.memory import Gather, View
from tilewright.block.statements import VectorLoops
from tilewright.graph.expressions.index import Index as Position
from tilewright.graph.expressions.scalar import Load, Scalar, State
from tilewright.graph.expressions.scalar_functions import REPORT_NOT_FINITE
from tilewright.leaves.tile_programs.integers import less
from tilewright.leaves.tile_programs.lanes import Lanes
from tilewright.leaves.tile_programs.maps import MapProgram
from tilewright.leaves.tile_programs.positions import conditions
from tilewright.leaves.tile_programs.values import Values
from tilewright.tile.index import IndexLike
from tilewright.tile.program import Value

IMAGES = frozenset(("float32", "int8", "uint8"))
"""Element types of images: bytes become floats where they are loaded."""


def strides_of(loops: VectorLoops) -> dict[str, IntegerExpression]:
    """Elements of the image between neighbours along every axis."""
    image = loops.reads[0]
    if isinstance(image, View):
        return {axis: image.stride(axis) for axis, _ in loops.box}
    dims = list(zip(image.indices, image.dim_strides, strict=True))
    return {axis: sum(stride * index.coefficient(axis) for index, stride in dims) for axis, _ in loops.box}


def first_window(loops: VectorLoops) -> IntegerExpression:
    """The element at the start of all ranges and at the first tap, from where the image is, were it inside of the image."""
    image = loops.reads[0]
    if isinstance(image, View):
        return 0
    strides = strides_of(loops)
    starts = (block.start * strides[axis] for axis, block in loops.box)
    constants = (index.constant * stride for index, stride in zip(image.indices, image.dim_strides, strict=True))
    return sum(starts) + sum(constants)


class WindowProgram(MapProgram):
    """The sums of a leaf over windows. `total` is the one that is finished."""

    def __init__(self, loops: VectorLoops, otherwise: float) -> None:
        """Of a leaf all of whose windows are known; what is read outside of the image."""
        super().__init__(loops)
        self.total: Value | None = None
        self.image: View | Gather = loops.reads[0]
        self.otherwise = otherwise
        self.strides = {axis: self.arguments.index(stride) for axis, stride in strides_of(loops).items()}
        self.first = self.arguments.index(first_window(loops))

    # The image.

    def image_place(self, moving: frozenset[str]) -> IndexLike:
        """Where the first window is at the present point, but along axes that are `moving`."""
        _, start = self.arguments.buffer(self.image)
        total = start + self.first
        for axis, stride in self.strides.items():
            if axis not in moving:
                total = total + self.at[axis] * stride
        return total

    def limit(self, limit: int | Position) -> IndexLike:
        """A limit of positions, of integers or of an extent known at run time."""
        if isinstance(limit, int):
            return limit
        extents = [self.arguments.index(Variable(VariableKind.EXTENT, extent.name)) for extent in limit.extents()]
        return sum(extents, limit.constant)

    def is_inside(self, slide: Window, first: IndexLike, last: IndexLike) -> IndexLike:
        """Whether the image has positions between two: 1 or 0 where that is known."""
        holds = self.limits(slide, first, last)
        return 0 if 0 in holds else conditions(self, *holds)

    def limits(self, slide: Window, first: IndexLike, last: IndexLike) -> list[IndexLike]:
        """What must hold for the image to have positions between two: 0 of what does not, none of what does."""
        holds = [less(self.builder, slide.first - 1, first)] if slide.first is not None else []
        holds += [less(self.builder, last, self.limit(slide.last) + 1)] if slide.last is not None else []
        return [one for one in holds if one != 1]

    def outside(self) -> Value:
        """What lanes see outside of the image."""
        return self.points_of(self.builder.constant(self.otherwise, self.type))

    def seen(self, place: IndexLike, first: IndexLike, end: IndexLike) -> Value:
        """What lanes from one to before another see of the image from a place on; others see what is outside."""
        if isinstance(first, int) and isinstance(end, int):
            if first >= min(end, self.lanes) or end <= 0:
                return self.outside()
            if first <= 0 and end >= self.lanes:
                return self.points_of(self.elements(self.image, place, 1))
        lanes = self.between(first, end)
        found = self.elements(self.image, place, 1, lanes=lanes)
        if repr(float(self.otherwise)) != "0.0" and (mask := lanes.mask(self.builder, self.type)) is not None:
            found = self.builder.select(mask, found, self.otherwise)
        return self.points_of(found)

    def between(self, first: IndexLike, end: IndexLike) -> Lanes:
        """Lanes from one to before another."""
        is_first = isinstance(first, int) and first <= 0
        is_last = isinstance(end, int) and end >= self.lanes
        return Lanes(() if is_first else (first,), () if is_last else (end,))

    def points_of(self, image: Value) -> Value:
        """Points, of a body that reads the image alone, once."""
        body = self.loops.operator.body
        return image if body == Load(0) else Values(self.builder, self.type, self.leaf, {Load(0): image}).value(body)

    # Sums.

    def nothing(self) -> Value:
        """Of a sum of no products."""
        return self.builder.constant(0, self.type)

    def finish(self, total: Value) -> None:
        """Finish the sums of the points that lanes are at, and store them."""
        self.total = total
        values = Values(self.builder, self.type, self.leaf, own={REPORT_NOT_FINITE: self.reported})
        self.store(values.value(self.loops.reduction.finish))

    def leaf(self, scalar: Scalar) -> Value:
        """The value of what is read, of a sum, or of what follows from where the point is."""
        if isinstance(scalar, State):
            assert self.total is not None
            return self.total
        return super().leaf(scalar)
