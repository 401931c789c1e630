"""Shapes drawn by a seed from the layers of models (`conv_layers.txt`) that convolutions are not tuned with."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

from tilewright_bench.cases import conv_models
from tilewright_bench.cases.conv_shapes import ConvShape, named_shape

LAYERS = Path(__file__).with_name("conv_layers.txt")
COUNT = 120
LayerT = TypeVar("LayerT")


@cache
def layer_lists() -> dict[str, tuple[ConvShape, ...]]:
    """The distinct layers of each model, by its name.

    >>> len(layer_lists()), sum(map(len, layer_lists().values()))
    (25, 468)
    """
    return layers_in(LAYERS, lambda text: (named_shape(text),))


def layers_in(file: Path, layers_of: Callable[[str], Iterable[LayerT]]) -> dict[str, tuple[LayerT, ...]]:
    """The layers of a file by model: a model's name and a colon, then lines with its layers; # begins a comment."""
    lists: dict[str, tuple[LayerT, ...]] = {}
    model = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text.endswith(":"):
            model = text.removesuffix(":")
        elif text:
            lists[model] = (*lists.get(model, ()), *layers_of(text))
    return lists


def drawn(seed: int, count: int = COUNT) -> tuple[ConvShape, ...]:
    """Different shapes, none of them of SConv's models: a layer of every model in turn, each model's in random order.

    >>> drawn(1) == drawn(1), drawn(1) == drawn(2), len(set(drawn(1)))
    (True, False, 120)
    """
    generator = random.Random(seed)
    shuffled = [generator.sample(layers, len(layers)) for layers in layer_lists().values()]
    left_out = {shape for model in conv_models.MODELS for shape in conv_models.layers(model)}
    turns = (shape for turn in zip_longest(*shuffled) for shape in turn if shape is not None)
    return tuple(dict.fromkeys(shape for shape in turns if shape not in left_out))[:count]
