"""The prelude of a file: what nodes declare, against the words of the text that is emitted for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.typed import Graphs
from tilewright import compiler
from tilewright.c_text.integer_expressions import FLOOR_DIVIDE
from tilewright.c_text.software_prefetch import CURSORS
from tilewright.c_text.statements import words
from tilewright.graph.builders.einsum import matmul
from tilewright.graph.builders.elementwise import body_of, elementwise, reduce
from tilewright.graph.builders.reshape import gather
from tilewright.graph.expressions.index import axis
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.types import SUM, Access, Axis, AxisKind, Operator, Tensor
from tilewright.kernels.helpers import Helper, closure
from tilewright.leaves.tile_programs.reports import REPORTS
from tilewright.machine import Machine
from tilewright.render.c.c_file import nest_text
from tilewright.render.c.inlined_tiles import DEFINITION
from tilewright.render.c.library import preparation, preparation_helpers
from tilewright.render.c.nest import WHOLE_ABOVE, WHOLE_BELOW, routine_of
from tilewright.render.c.program import c_file, lower_program

KNOWN = closure(
    [
        *(CURSORS, *REPORTS.values(), FLOOR_DIVIDE, WHOLE_BELOW, WHOLE_ABOVE),
    ]
)
DEFINED = re.compile(r"^(?:TW_INLINE|static) [^;{]*?\b(tw_\w+)\(", re.MULTILINE)


def defined(found: Iterable[Helper]) -> set[str]:
    """The functions that these helpers define."""
    return {name for helper in found for name in DEFINED.findall(helper.text)}


def test_every_helper_names_the_helpers_that_it_calls() -> None:
    for helper in KNOWN:
        called = words([helper.text]) & defined(KNOWN)
        assert called <= defined(closure([helper])), helper.name


def test_helpers_stand_behind_those_that_they_use() -> None:
    for position, helper in enumerate(KNOWN):
        assert set(helper.uses) <= set(KNOWN[:position])


def _halves(graphs: Graphs) -> None:
    graphs.add(elementwise, body_of("add"), [graphs.input(np.ones((40, 50), "float16"))] * 2)


def _integers(graphs: Graphs) -> None:
    graphs.add(elementwise, body_of("mod"), [graphs.input(np.ones((40, 50), "int16"))] * 2)


def _lookups(graphs: Graphs) -> None:
    graphs.add(gather, graphs.input(np.ones((40, 50), "float32")), graphs.input(np.ones(7, "int64")), 0)


def _windows(graphs: Graphs) -> None:
    graphs.add(_sums_of_three, graphs.input(np.ones((40, 101), "float32")))


def _sums_of_three(x: Tensor, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """Of neighbours in every other place."""
    axes = Axis("m", 40), Axis("n", 50), Axis("k", 3, AxisKind.REDUCTION)
    read = Access(x.name, (axis("m"), axis("n") * 2 + axis("k")))
    return Operator(name, "sum", axes, (read,), Access(result, (axis("m"), axis("n"))), Load(0), SUM), Tensor(result, (40, 50))


def _rounding(graphs: Graphs) -> None:
    graphs.add(elementwise, body_of("floor_divide"), [graphs.input(np.ones((40, 50), "float32"))] * 2)


def _long_sum(graphs: Graphs) -> None:
    graphs.add(reduce, "sum", graphs.input(np.ones((8, 100_000), "float32")), 1)


def _lanes(graphs: Graphs) -> None:
    graphs.add(elementwise, body_of("sin"), [graphs.input(np.ones((40, 50), "float32"))])


def _product(graphs: Graphs) -> None:
    graphs.add(matmul, graphs.input(np.ones((300, 200), "float32")), graphs.input(np.ones((200, 300), "float32")))


def _nothing(graphs: Graphs) -> None:
    graphs.add(elementwise, body_of("exp"), [graphs.input(np.ones((40, 50), "float32"))])


EXPECTED = {
    _nothing: set[str](),
    _product: {"tw_fetch"},
    _halves: set[str](),
    _integers: set[str](),
    _lookups: {"tw_report_position"},
    _windows: set[str](),
    _rounding: set[str](),
    _long_sum: set[str](),
    _lanes: set[str](),
}


@pytest.mark.parametrize("build", EXPECTED, ids=lambda build: build.__name__)
def test_a_prelude_holds_what_the_text_calls(build: Callable[[Graphs], None]) -> None:
    graphs = Graphs()
    build(graphs)
    file = c_file(lower_program(compiler.plan(graphs.graph(), Machine.named("x86-64-v4"))))
    routines = [routine_of(file, source) for source in file.nests]
    declared = closure(preparation_helpers(file).union(*(routine.helpers for routine in routines)))
    nests = [nest for routine in routines for nest in routine.nests.values()]
    called = words([*(routine.text for routine in routines), *map(nest_text, nests), *preparation(file)]) & defined(KNOWN)
    assert called <= defined(declared)
    assert {helper.name for helper in declared if not helper.name.startswith(DEFINITION)} == EXPECTED[build]


def test_masks_of_data_are_rounded() -> None:
    """Lengths of keys that a call gives: where keys end is a value of the data."""

    def attention(q: Any, k: Any, v: Any, lengths: Any) -> Any:
        mask = tw.arange(k.shape[-2]) < lengths[:, None, None]
        return tw.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    operands = [tw.spec((2, 300, 64))] * 3
    plan = tw.jit(attention, target="x86-64-v4").lower(*operands, tw.spec((2,), "int32")).model_plan
    file = c_file(lower_program(plan))
    declared = {helper.name for source in file.nests for helper in closure(routine_of(file, source).helpers)}
    assert "tw_whole_above" in declared
