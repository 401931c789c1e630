"""Micro kernels by the element types of a contraction, and exact operators where no kernel fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from tests.plan.cases import KERNELS, chain_of, contraction, kernel, typed
from tilewright.errors import PlanningError
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.types import Chain
from tilewright.kernels.contract import MicroKernel
from tilewright.machine import Machine
from tilewright.plan.decisions.exact_operators import is_exact_operator
from tilewright.plan.decisions.micro_kernel import tiles
from tilewright.plan.planner import plan_chain
from tilewright.plan.schedule import Loop, Node, Pack
from tilewright.plan.types import Plan, TermKind

MACHINE = Machine.named("zen5")
INT8 = replace(kernel(4, 16, 256, 0.3), name="u8s8", element_types=("uint8", "int8", "int32"), interleave=4)
BFLOAT16 = replace(kernel(4, 16, 256, 0.3), name="bf16", element_types=("bfloat16", "bfloat16", "float32"), interleave=2)
DOUBLES = replace(kernel(4, 8, 512), name="f64", element_types=("float64", "float64", "float64"))
ALL = (*KERNELS, INT8, BFLOAT16, DOUBLES)
U8_S8 = {"A": "uint8", "B": "int8", "C": "int32"}
EXTENTS = {"b": 3, "m": 256, "k": 510, "l": 304}


def product_of(types: Mapping[str, str], spec: str = "mk,kl->ml") -> Chain:
    return typed(chain_of((contraction("C", spec, "AB", EXTENTS),)), types)


def planned(types: Mapping[str, str], spec: str = "mk,kl->ml", kernels: Sequence[MicroKernel] = ALL) -> Plan:
    return plan_chain(product_of(types, spec), MACHINE, kernels=tuple(kernels))


def loops(nodes: tuple[Node, ...]) -> list[Loop]:
    return [inner for node in nodes if isinstance(node, Loop) for inner in (node, *loops(node.body))]


@pytest.mark.parametrize(
    ("types", "chosen"),
    [
        (U8_S8, "u8s8"),
        ({"A": "bfloat16", "B": "bfloat16", "C": "float32"}, "bf16"),
        (dict.fromkeys("ABC", "float64"), "f64"),
        ({}, "test_6x64"),
    ],
)
def test_a_contraction_gets_the_kernel_of_its_types(types: Mapping[str, str], chosen: str) -> None:
    plan = planned(types)
    assert plan.operator_plan("C").micro_kernel == chosen
    assert not any(term.kind is TermKind.EXACT_ARITHMETIC for term in plan.price.terms)
    assert plan.floor.compulsory_bytes == sum(
        product_of(types).tensor(name).element_bytes * rows * columns
        for name, rows, columns in (("A", 256, 510), ("B", 510, 304), ("C", 256, 304))
    )


@pytest.mark.parametrize(
    "types",
    [
        {"A": "int8", "B": "int8", "C": "int32"},
        {"A": "int8", "B": "uint8", "C": "int32"},
        {**U8_S8, "C": "int64"},
        dict.fromkeys("ABC", "int32"),
    ],
)
def test_an_integer_contraction_that_no_kernel_computes_is_exact(types: Mapping[str, str]) -> None:
    plan = planned(types)
    assert plan.operator_plan("C").micro_kernel is None
    assert any(term.kind is TermKind.EXACT_ARITHMETIC for term in plan.price.terms)


def test_without_the_kernel_it_is_exact() -> None:
    assert planned(U8_S8, kernels=KERNELS).operator_plan("C").micro_kernel is None
    assert is_exact_operator(product_of(U8_S8), KERNELS)
    assert not is_exact_operator(product_of(U8_S8), ALL)
    assert not is_exact_operator(product_of({}), ALL)


def test_columns_that_lie_apart_are_staged_in_float32_alone() -> None:
    assert _fitting(product_of({}, "bmk,bkl->mlb")) == KERNELS
    assert _fitting(product_of(U8_S8, "bmk,bkl->mlb")) == ()
    assert _fitting(product_of(U8_S8, "bmk,bkl->bml")) == (INT8,)


def test_operands_that_exchange_their_roles_exchange_their_types() -> None:
    chain = product_of(U8_S8, "mk,kl->lm")
    assert contraction_roles(chain.operators[0]).right == 0
    assert _fitting(chain) == ()


def _fitting(chain: Chain) -> tuple[MicroKernel, ...]:
    return tuple(tiles(chain, chain.operators[0], ALL))


def test_interleaved_operands_are_always_packed_in_whole_groups_of_steps() -> None:
    plan = planned(U8_S8)
    packs = [leaf for _, leaf in plan.schedule.leaves() if isinstance(leaf, Pack)]
    assert [pack.operator for pack in packs] == ["C"]
    assert all(loop.tile % 4 == 0 for loop in loops(plan.schedule.body) if loop.axis == "k")
    short = plan_chain(
        typed(chain_of((contraction("C", "mk,kl->ml", "AB", {"m": 9, "k": 5, "l": 7}),)), U8_S8), MACHINE, kernels=ALL
    )
    assert any(isinstance(leaf, Pack) for _, leaf in short.schedule.leaves()), "narrow rows, too"


def test_sums_of_integers_are_not_split() -> None:
    """Parts are combined in float32, which does not hold all sums of int32."""
    extents = {"m": 4, "k": 1 << 16, "l": 16}
    chain = chain_of((contraction("C", "mk,kl->ml", "AB", extents),))
    assert plan_chain(chain, MACHINE).schedule.split == "k"
    assert plan_chain(typed(chain, U8_S8), MACHINE, kernels=ALL).schedule.split == ""


def test_a_kernel_of_dot_products_exceeds_the_peak_of_its_sums() -> None:
    dots = replace(INT8, peak_share=2.4)
    lanes, summed = (plan_chain(product_of(U8_S8), MACHINE, kernels=(one,)).price.seconds for one in (INT8, dots))
    assert summed < lanes / 2


def test_halves_without_a_kernel_have_no_plan() -> None:
    with pytest.raises(PlanningError, match="no micro kernel can compute C"):
        planned({"A": "float16", "B": "float16", "C": "float32"})
