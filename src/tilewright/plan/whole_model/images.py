"""Images between the operators of a graph: tensors with a dimension of channels, and which of them must lie alike.

A convolution says which dimension of its image and of its result has the channels. Maps, pools and reductions carry it on: the
dimension that the same axis walks. Tensors that a map reads and writes lie alike, as maps are no place to transpose in: they are
epilogues of sums, and parts of concatenations that are written in place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from tilewright.graph.convolution_form import ConvolutionForm
from tilewright.graph.types import Access, Graph, Operator, Tensor, planned_extent

LEAST_RANK = 3
"""Of an image: batch, channels, and a dimension of space."""


@dataclass(frozen=True, slots=True)
class Images:
    """The images of a graph."""

    channels: Mapping[str, int]
    """The dimension of channels, by tensor."""
    groups: Mapping[str, str]
    """The first of the images that lie alike, by tensor."""


def images_of(graph: Graph, constants: Collection[str]) -> Images:
    """The images that operators of a graph leave to each other: no inputs, outputs or constants."""
    known, outside = _channels(graph), {*graph.outputs, *constants}
    made = dict.fromkeys(operator.write.tensor for operator in graph.operators)
    between = (name for name in made if name in known and name not in outside)
    channels = {name: known[name] for name in between if _is_image(graph.tensor(name), known[name])}
    return Images(channels, _groups(graph, channels))


def _is_image(tensor: Tensor, channel: int) -> bool:
    """Whether the order of dimensions matters: there are several channels and several points of space."""
    extents = [planned_extent(extent) for extent in tensor.shape]
    return len(extents) >= LEAST_RANK and extents[channel] > 1 and prod(extents[1:]) > extents[channel]


def _channels(graph: Graph) -> dict[str, int]:
    """The dimension of channels of every tensor for which an operator tells it, or carries it on."""
    found: dict[str, int] = {}
    for operator in graph.operators:
        for name, dimension in _of_convolution(operator):
            found.setdefault(name, dimension)
    changed = bool(found)
    while changed:
        size = len(found)
        for operator in graph.operators:
            for name, dimension in _carried(operator, found):
                found.setdefault(name, dimension)
        changed = len(found) > size
    return found


def _of_convolution(operator: Operator) -> Iterator[tuple[str, int]]:
    form = ConvolutionForm.of(operator)
    if form is None:
        return
    for access, layout in ((form.image_access, form.image_layout()), (operator.write, form.result_layout() or "")):
        if "C" in layout:
            yield access.tensor, layout.index("C")


def _carried(operator: Operator, known: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """The dimensions of channels of what a map, a pool or a reduction reads and writes, from those that are known."""
    if operator.is_product_sum():
        return
    accesses = [access for access in (*operator.reads, operator.write) if not access.lookups]
    for access in accesses:
        if access.tensor in known:
            axes = access.indices[known[access.tensor]].axes()
            for other in accesses:
                place = _place(other, axes) if len(other.indices) == len(access.indices) else None
                if place is not None and other.tensor not in known:
                    yield other.tensor, place


def _place(access: Access, axes: frozenset[str]) -> int | None:
    """The only dimension that these axes walk, if there is one."""
    places = [place for place, index in enumerate(access.indices) if index.axes() & axes]
    return places[0] if len(places) == 1 else None


def _groups(graph: Graph, images: Mapping[str, int]) -> dict[str, str]:
    """The first image of those that maps join, by image."""
    first = {name: name for name in images}

    def of(name: str) -> str:
        while first[name] != name:
            name = first[name]
        return name

    order = {name: number for number, name in enumerate(images)}
    for operator in graph.operators:
        joined = [access.tensor for access in (*operator.reads, operator.write) if access.tensor in images]
        for one, other in pairwise(joined) if operator.is_map() else ():
            low, high = sorted((of(one), of(other)), key=order.__getitem__)
            first[high] = low
    return {name: of(name) for name in images}
