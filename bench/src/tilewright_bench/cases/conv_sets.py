"""Sets of convolutions that `tilewright bench conv` measures: models, the yardsticks' shapes, and shapes drawn by a seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tilewright_bench.cases import conv_models
from tilewright_bench.cases.conv_drawn import COUNT, drawn
from tilewright_bench.cases.conv_shapes import ConvShape, named_shape
from tilewright_bench.cases.required import Required

if TYPE_CHECKING:
    from tilewright_bench.cases.conv import ConvCase

YARDSTICKS = ("3x3_64-64_56", "3x3_256-256_14", "1x1_256-64_56")
"""The shapes of the prototypes conv3x3_64_56, conv3x3_256_14 and conv1x1_256_56."""
SEED = 17
NAMES = (*conv_models.MODELS, "yardsticks", "drawn")


def cases(shapes: Sequence[ConvShape], names: Sequence[str], seed: int) -> list[ConvCase]:
    """Named shapes and those of some sets, each shape once, in the first table that has it."""
    found: dict[ConvShape, ConvCase] = {}
    for case in _all(shapes, names, seed):
        found.setdefault(case.shape, case)
    return list(found.values())


def _all(shapes: Sequence[ConvShape], names: Sequence[str], seed: int) -> Iterator[ConvCase]:
    from tilewright_bench.cases.conv import ConvCase, model_cases, named_cases

    yield from named_cases(shapes)
    yield from model_cases([name for name in names if name in conv_models.MODELS])
    if "yardsticks" in names:
        yield from named_cases([named_shape(name) for name in YARDSTICKS])
    if "drawn" in names:
        table = f"{COUNT} shapes of other models, drawn by seed {seed}"
        yield from (ConvCase(shape, table, Required(ratio=0.9)) for shape in drawn(seed))
