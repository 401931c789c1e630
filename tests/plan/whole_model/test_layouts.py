"""Layouts of the tensors between chains, and what code generation makes of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.graphs import random
from tilewright import compiler
from tilewright.errors import InternalError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.index import axis
from tilewright.graph.types import Graph
from tilewright.lower.storage import elements_of, strides_of
from tilewright.lower.workspace import arena_bytes
from tilewright.machine import Machine
from tilewright.plan.layout import Layout, row_major
from tilewright.plan.types import ModelPlan
from tilewright.render.c.program import lower_program

MACHINE = Machine.named("zen5")


def two_products(rows: int = 48, width: int = 64) -> Graph:
    builder = Builder("layers")
    x = builder.input("x", (rows, width), "float32")
    for _ in range(2):
        x = builder.matmul(x, builder.constant(random(width, width)))
    return builder.graph((x.name,))


def planned(graph: Graph) -> ModelPlan:
    return compiler.plan(graph, MACHINE, fuse=False)


def test_rows_between_chains_that_fill_lines_are_padded_by_one() -> None:
    model_plan = planned(two_products())
    ((tensor, layout),) = model_plan.layouts
    assert tensor == model_plan.plans[0].chain.output
    assert layout == row_major(2, row_padding=16)
    assert arena_bytes(model_plan)[0] == 4 * layout.elements((48, 64)) == 4 * 48 * 80


def test_code_generation_lays_tensors_out_as_the_plan_says() -> None:
    model_plan = planned(two_products())
    wider = replace(model_plan, layouts=tuple((tensor, row_major(2, row_padding=32)) for tensor, _ in model_plan.layouts))
    assert arena_bytes(wider)[0] == 4 * 48 * 96
    assert lower_program(wider).workspace.size_words == 48 * 96


@pytest.mark.parametrize("layout", [row_major(3), row_major(3, 16), Layout((0, 2, 1)), Layout((2, 0, 1))])
def test_strides_are_those_of_the_layout(layout: Layout) -> None:
    shape, letters = (3, 4, 5), "abc"
    offset = layout.offset([axis(letter) for letter in letters], shape)
    assert strides_of(layout, shape) == tuple(offset.coefficient(letter) for letter in letters)
    assert elements_of(layout, shape) == layout.elements(shape)


def test_blocks_have_no_strides() -> None:
    with pytest.raises(InternalError, match="blocks"):
        strides_of(Layout((0, 1, 2, 3), ((1, 16),)), (1, 32, 4, 4))
