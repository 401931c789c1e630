"""The generated C of copies of windows: whole vectors of rows of the image, and every other element by one permutation."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.support.algorithms import forced
from tests.support.onnx_operators import operator
from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.graph.types import Graph
from tilewright.machine import Machine

HERE = Path(__file__).parent
FORMS = {
    "codegen/windows_by_columns.c": ("windows by columns", 1),
    "codegen/windows_step_2.c": ("im2col", 2),
}
"""The algorithm, and by how much windows move."""
BEGIN, END = "static void unfold_task(", "\n}\n"


def emitted(name: str) -> str:
    """The function that copies, of 3x3 windows over 64 channels of 56 x 56 points."""
    algorithm, step = FORMS[name]
    with forced(algorithm):
        text = compiler.generate(compiler.plan(_convolution(step), Machine.named("x86-64-v4"))).text
    begin = text.index(BEGIN)
    return text[begin : text.index(END, begin) + len(END)]


def _convolution(step: int) -> Graph:
    builder = Builder("convolution")
    image = builder.input("x", (1, 64, 56, 56), "float32")
    filters = builder.constant(np.zeros((64, 64, 3, 3), np.float32))
    y = operator("Conv", 21, pads=[1, 1, 1, 1], strides=[step, step]).lower(builder, image, filters)
    return builder.graph((y.name,))


def contents() -> dict[str, str]:
    """Every file of this kind by its name."""
    return {name: emitted(name) for name in FORMS}


def golden(name: str) -> str:
    """What was reviewed."""
    return (HERE / name).read_text()
