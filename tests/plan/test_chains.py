"""One name per axis across a chain, and the structure that fusion needs."""

from __future__ import annotations

import pytest

from tests.plan.cases import batch_operators, chain_of, contraction, elementwise
from tests.support.operators import access, graph_of
from tilewright.errors import PlanningError
from tilewright.graph.expressions.index import axis
from tilewright.graph.expressions.scalar import Load
from tilewright.graph.types import Access, Axis, Operator
from tilewright.plan.chains import equal_axes, make_chain
from tilewright.plan.permutations import upstream


def names(operator: Operator) -> str:
    return " ".join(own.name for own in operator.axes)


def test_attention_keeps_the_users_letters() -> None:
    chain = chain_of(batch_operators(12, 512, 64, 64, 512, with_softmax=True))
    assert [names(operator) for operator in chain.operators] == ["b m k l", "b m l", "b m l n"]
    assert chain.shared_axes == ("b", "m", "l")
    assert chain.inputs == ("A", "B", "D")


def test_a_consumers_axis_takes_the_producers_name_and_others_get_new_ones() -> None:
    extents = {"i": 4, "j": 5, "k": 6}
    first = contraction("C", "ij,jk->ik", "AB", extents)
    second = contraction("E", "ij,jk->ik", "CD", {"i": 4, "j": 6, "k": 7})
    chain = chain_of((first, second))
    assert [names(operator) for operator in chain.operators] == ["i j k", "i k k2"]
    assert str(chain.operators[1].reads[1].indices[1]) == "k2"


def test_two_axes_of_one_operator_stay_apart_even_if_they_read_one_dimension() -> None:
    extents = {"m": 4, "k": 5, "l": 6, "n": 4}
    chain = chain_of((contraction("C", "mk,kl->ml", "AB", extents), contraction("E", "ml,nl->mn", "CC", extents)))
    assert names(chain.operators[1]) == "m l n"
    assert equal_axes(chain, "C") == {"l"}


def test_a_slice_of_a_dimension_is_not_the_whole_axis() -> None:
    first = contraction("C", "mk,kl->ml", "AB", {"m": 4, "k": 5, "l": 6})
    part = Operator("S", "slice", (Axis("m", 4), Axis("l", 3)), (access("C:ml"),), access("S:ml"), Load(0))
    chain = chain_of((first, part))
    assert equal_axes(chain, "C") == {"m"}
    assert names(chain.operators[1]) == "m l2"


def test_a_strided_read_is_not_an_equal_axis() -> None:
    first = contraction("C", "mk,kl->ml", "AB", {"m": 4, "k": 5, "l": 6})
    read = Access("C", (axis("m"), axis("l") * 2))
    chain = chain_of((first, Operator("S", "slice", (Axis("m", 4), Axis("l", 3)), (read,), access("S:ml"), Load(0))))
    assert equal_axes(chain, "C") == {"m"}


def test_a_transposed_read_keeps_its_axes_equal() -> None:
    extents = {"m": 4, "k": 5, "l": 6}
    moved = Operator("T", "transpose", (Axis("p", 6), Axis("q", 4)), (access("C:qp"),), access("T:pq"), Load(0))
    chain = chain_of((contraction("C", "mk,kl->ml", "AB", extents), moved))
    assert names(chain.operators[1]) == "l m"


def test_a_chain_has_one_sink() -> None:
    extents = {"m": 4, "k": 5, "l": 6}
    operators = (contraction("C", "mk,kl->ml", "AB", extents), contraction("F", "mk,kl->ml", "AB", extents))
    with pytest.raises(PlanningError, match="exactly one sink") as caught:
        make_chain(graph_of(operators), operators)
    assert "C, F" in str(caught.value)


def test_upstream_is_what_an_operator_depends_on() -> None:
    extents = {"m": 4, "k": 5, "l": 6}
    chain = chain_of(
        (
            contraction("C", "mk,kl->ml", "AB", extents),
            elementwise("Q", "ml", [("X", "ml")], extents),
            elementwise("R", "ml", [("C", "ml"), ("Q", "ml")], extents),
        )
    )
    assert [op.name for op in upstream(chain, chain.operators[2])] == ["C", "Q"]
    assert upstream(chain, chain.operators[1]) == ()
