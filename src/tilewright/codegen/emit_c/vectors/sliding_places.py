"""Where windows that slide over an image lie in memory: strides between neighbours, the first window, and ends of the image."""

from __future__ import annotations

from tilewright.codegen import names
from tilewright.codegen.expressions import Value, add, multiply
from tilewright.codegen.loop_nest import VectorLoops, View
from tilewright.graph.index import Index

IMAGES = frozenset(("float32", "int8", "uint8"))
"""Element types of images: bytes become floats where they are loaded."""


def strides_of(loops: VectorLoops) -> dict[str, Value]:
    """Elements of the image between neighbours along every axis."""
    image = loops.reads[0]
    if isinstance(image, View):
        return {axis: image.stride(axis) for axis, _ in loops.box}
    dims = list(zip(image.indices, image.dim_strides, strict=True))
    return {axis: add(*(multiply(stride, index.coefficient(axis)) for index, stride in dims)) for axis, _ in loops.box}


def first_window(loops: VectorLoops) -> Value:
    """The element of the image at the start of all ranges and at the first tap, were it inside of the image."""
    image = loops.reads[0]
    if isinstance(image, View):
        return image.offset
    strides = strides_of(loops)
    starts = (multiply(block.start, strides[axis]) for axis, block in loops.box)
    constants = (multiply(index.constant, stride) for index, stride in zip(image.indices, image.dim_strides, strict=True))
    return add(image.offset, *starts, *constants)


def limit_value(limit: int | Index) -> Value:
    """A limit of positions, of integers or of an extent known at run time."""
    if isinstance(limit, int):
        return limit
    return add(*(names.extent(extent.name) for extent in limit.extents()), limit.constant)
