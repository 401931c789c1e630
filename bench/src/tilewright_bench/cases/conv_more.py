"""Convolutions of other kinds, drawn by a seed: of one and three dimensions, transposed, depthwise, and of several images.

They are layers of the seven models of the SConv paper, of the 25 of `conv_layers.txt`, and of eight more, in
`conv_more_layers.txt`, which has the sources.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import zip_longest
from pathlib import Path

from tilewright_bench.cases import conv_models
from tilewright_bench.cases.conv_drawn import layer_lists, layers_in
from tilewright_bench.cases.conv_list import ListedConv
from tilewright_bench.cases.conv_sets import SEED
from tilewright_bench.cases.conv_shapes import ConvShape, named_shape

LAYERS = Path(__file__).with_name("conv_more_layers.txt")
OF_KIND = 12
MOST_FLOPS = 4_000_000_000
BATCHES = (2, 4, 8, 16)
SMALL_IMAGE = 28
"""Points of each dimension, at most, of a convolution of several images."""


def _has_batches(conv: ListedConv) -> bool:
    return max(conv.image) <= SMALL_IMAGE and conv.flops * BATCHES[0] <= MOST_FLOPS


KINDS: Mapping[str, Callable[[ListedConv], bool]] = {
    "1-D": lambda conv: len(conv.image) == 1 and not conv.transposed,
    "3-D": lambda conv: len(conv.image) == 3 and not conv.transposed,
    "transposed": lambda conv: conv.transposed,
    "depthwise": lambda conv: len(conv.image) == 2 and conv.groups == conv.channels > 1,
    "batched": lambda conv: len(conv.image) == 2 and not conv.transposed and _has_batches(conv),
}


def drawn_more(seed: int = SEED) -> list[ListedConv]:
    """Twelve of each kind, of every network in turn; the same for a seed.

    >>> found = drawn_more()
    >>> len(found), found == drawn_more(), max(conv.flops for conv in found) <= MOST_FLOPS
    (60, True, True)
    """
    generator = random.Random(seed)
    return [conv for kind in KINDS for conv in _of_kind(kind, generator)]


def _of_kind(kind: str, generator: random.Random) -> Iterator[ListedConv]:
    lists = [[conv for conv in layers if KINDS[kind](conv) and conv.flops <= MOST_FLOPS] for layers in networks().values()]
    shuffled = [generator.sample(layers, len(layers)) for layers in generator.sample(lists, len(lists))]
    turns = dict.fromkeys(conv for turn in zip_longest(*shuffled) for conv in turn if conv is not None)
    for conv in [*turns][:OF_KIND]:
        batches = [batch for batch in BATCHES if conv.flops * batch <= MOST_FLOPS] if kind == "batched" else [1]
        yield replace(conv, kind=kind, batch=generator.choice(batches))


@cache
def networks() -> dict[str, tuple[ListedConv, ...]]:
    """The distinct layers of each network.

    >>> len(networks())
    40
    """
    found = {model: tuple(map(_plain, dict.fromkeys(conv_models.layers(model)))) for model in conv_models.MODELS}
    found.update((model, tuple(map(_plain, shapes))) for model, shapes in layer_lists().items())
    for model, convs in layers_in(LAYERS, lambda text: (_named(text),)).items():
        found[model] = (*found.get(model, ()), *convs)
    return found


def _named(text: str) -> ListedConv:
    if not text.startswith("t"):
        return _plain(named_shape(text))
    plain = _plain(named_shape(text[1:]))
    given = plain if "_p" in text else replace(plain, begin=(0,) * len(plain.image), end=(0,) * len(plain.image))
    return replace(given, transposed=True)


def _plain(shape: ConvShape) -> ListedConv:
    return ListedConv(
        "",
        shape.channels,
        shape.filters,
        shape.image,
        shape.kernel,
        shape.stride,
        shape.padding,
        shape.padding,
        shape.dilation,
        shape.groups,
    )
