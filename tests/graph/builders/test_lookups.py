"""Reads at positions that other reads give: what they mean, which ones are refused, and that rewrites keep them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.support.graphs import random, run, single
from tilewright import compiler
from tilewright.errors import DTypeError, InternalError, PositionError, ShapeError
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.reshape import gather, gather_elements, gather_nd
from tilewright.graph.expressions.index import axis, constant
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.interpreter import evaluate
from tilewright.graph.printer import operator_lines
from tilewright.graph.rewrites.rebuild import with_used_reads
from tilewright.graph.types import Guard, Tensor
from tilewright.graph.verifier import verify
from tilewright.plan.chains import make_chain
from tilewright.plan.regions.footprint import distinct_elements
from tilewright.plan.regions.gathered_reads import without_lookups

WORDS, IDS = Tensor("words", (10, 4)), Tensor("ids", (2, 3), "int64")


@pytest.mark.parametrize("axis", [0, 1])
def test_a_row_is_read_where_an_index_says(axis):
    x, ids = random(10, 4), np.array([[0, 3, -1], [-4, 2, 1]])
    built = gather(WORDS, IDS, axis, name="gather", result="y")
    np.testing.assert_array_equal(run(built, [WORDS, IDS], {"words": x, "ids": ids}), np.take(x, ids, axis))


@pytest.mark.parametrize("position", [10, -11, 2**62, -(2**63)])
def test_positions_outside_of_the_dimension_are_refused(position):
    x, ids = random(10, 4), np.array([[9, -10, position], [10, 10, 10]])
    with pytest.raises(PositionError, match=f"position {position} is out of range") as caught:
        run(gather(WORDS, IDS, 0, name="gather", result="y"), [WORDS, IDS], {"words": x, "ids": ids})
    assert caught.value.why == "dimension 0 of words, looked up by ids, has 10 elements"


def test_positions_are_not_looked_at_where_a_guard_does_not_hold():
    """A guarded read is real up to the third row only."""
    operator, y = gather(WORDS, Tensor("ids", (5,), "int64"), 0, name="gather", result="y")
    ids, words = operator.reads
    guarded = replace(words, guard=Guard((constant(2) - axis("d0"),), 0.5))
    built = replace(operator, reads=(ids, guarded)), y
    x, at = random(10, 4), np.array([9, 0, -10, 10, 77])
    found = run(built, [WORDS, Tensor("ids", (5,), "int64")], {"words": x, "ids": at})
    np.testing.assert_array_equal(found, np.concatenate([x[[9, 0, 0]], np.full((2, 4), 0.5)]))


def test_the_printer_shows_what_is_added():
    operator, _ = gather(WORDS, IDS, 0, name="gather", result="y")
    assert operator_lines(operator)[1] == "  y[d0, d1, d2] <- ids[d0, d1], words[0 + #0, d2]"


def test_the_verifier_refuses_lookups_that_mean_nothing():
    operator, y = gather(WORDS, IDS, 0, name="gather", result="y")
    ids, words = operator.reads
    floats = replace(IDS, dtype="float32")
    broken = {
        "dimensions": replace(operator, reads=(ids, replace(words, lookups=((2, 0),)))),
        "by read 5": replace(operator, reads=(ids, replace(words, lookups=((0, 5),)))),
        "no plain read": replace(operator, reads=(ids, replace(words, lookups=((0, 1),)))),
    }
    for message, one in broken.items():
        with pytest.raises(InternalError, match=message):
            verify(single(one, y, [WORDS, IDS]))
    with pytest.raises(InternalError, match="no plain read of integers"):
        verify(single(operator, y, [WORDS, floats]))


def test_operands_that_do_not_fit_are_refused():
    with pytest.raises(DTypeError, match="positions of type float32"):
        gather(WORDS, replace(IDS, dtype="float32"), 0, name="g", result="y")
    with pytest.raises(ShapeError, match="axis 2"):
        gather(WORDS, IDS, 2, name="g", result="y")
    with pytest.raises(ShapeError, match="over each other"):
        gather_elements(WORDS, replace(IDS, shape=(11, 5)), 0, name="g", result="y")
    with pytest.raises(ShapeError, match="3 positions"):
        gather_nd(WORDS, IDS, name="g", result="y")


def test_what_lookups_read_stays_when_reads_are_dropped():
    operator, _ = gather(WORDS, IDS, 0, name="gather", result="y")
    ids, words = operator.reads
    spare = replace(operator, reads=(words, ids, replace(words, lookups=((0, 1),))), body=Load(2))
    assert with_used_reads(spare) == replace(operator, body=Load(1))


def test_rewrites_leave_lookups_as_they_are():
    """Positions that are computed, a table that is transposed, a map behind: the results stay, and so do the lookups."""
    builder = Builder("f")
    table, ids = builder.input("table", (4, 10), "float32"), builder.input("ids", (2, 3), "int64")
    moved = builder.map("add", ids, 1.0)
    rows = builder.record(gather, builder.transpose(table, (1, 0)), moved, 0, kind="gather")
    graph = builder.graph((builder.map("add", builder.map("negative", rows), 1.0).name,))
    rewritten = compiler.rewrite(graph)
    assert any(access.lookups for operator in rewritten.operators for access in operator.reads)
    feeds = {"table": random(4, 10), "ids": np.array([[0, 3, -1], [-4, 2, 1]])}
    (expected,), (found,) = evaluate(graph, feeds).values(), evaluate(rewritten, feeds).values()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(expected, 1 - feeds["table"].T[feeds["ids"] + 1])


def test_planning_counts_a_row_for_every_position():
    operator, y = gather(WORDS, IDS, 0, name="gather", result="y")
    chain = without_lookups(make_chain(single(operator, y, [WORDS, IDS]), (operator,)))
    assert distinct_elements(chain.operators[0].reads[1], {"d0": 2, "d1": 3, "d2": 4}) == 24
    assert not chain.operators[0].looked_up()
