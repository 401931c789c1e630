"""Bytes per operand, of chains of several element types, against the literal walk of their loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import permutations

import pytest

from tests.plan.cases import CASCADE_LAKE, batch_chain, contraction, gemm_chain, kernel, typed
from tests.plan.search.test_exact_search import STRICT, machine_with
from tests.plan.walk import walked_movements, walked_working_set
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.exactness import computed_type
from tilewright.graph.types import Chain
from tilewright.machine import Machine
from tilewright.plan.element_types import held_bytes, held_type, product_type
from tilewright.plan.model.cost import floor
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.model.memory.traffic import bytes_into, chain_figures, footprints
from tilewright.plan.model.memory.working_set import working_set_bytes
from tilewright.plan.model.plan_figures import scratch_bytes
from tilewright.plan.regions.loop_views import view_schedule
from tilewright.plan.schedule import Schedule, fused_schedule

SIZES = {"m": 12, "k": 10, "l": 14, "n": 6}
TILES = {"m": 4, "k": 5, "l": 6, "n": 3}
INT8 = {"A": "uint8", "B": "int8", "C": "int32"}
BFLOAT16 = {"A": "bfloat16", "B": "bfloat16", "C": "bfloat16", "D": "bfloat16", "E": "float32"}


def product_chain() -> Chain:
    """C[m,l] = A[m,k] B[k,l], of u8 x s8 -> s32."""
    return typed(gemm_chain(*(SIZES[axis] for axis in "mnkl")), INT8, operators=1)


def half_chain() -> Chain:
    """C = A B in bfloat16, which code generation holds as float32, and E = C D."""
    return typed(gemm_chain(*(SIZES[axis] for axis in "mnkl")), BFLOAT16)


def context(chain: Chain, types: tuple[str, str, str], machine: Machine = CASCADE_LAKE) -> CostContext:
    contractions = [operator for operator in chain.operators if operator.is_contraction()]
    kernels = {operator.name: replace(kernel(2, 2), element_types=types) for operator in contractions}
    return context_of(chain, machine, kernels, {op.name: contraction_roles(op) for op in contractions}, STRICT)


def moved(case: CostContext, schedule: Schedule, level: str) -> dict[str, int]:
    """Bytes of inputs and outputs into a level, by the formulas."""
    view = view_schedule(case.chain, schedule)
    around = chain_figures(case, view)
    totals: dict[str, int] = {}
    for member in view.operators:
        sizes = bytes_into(case, around, member, footprints(case, member.operator, member.tiles))[level]
        for operand, size_bytes in zip(case.operands[member.operator.name], sizes, strict=True):
            if not operand.is_intermediate:
                totals[operand.access.tensor] = totals.get(operand.access.tensor, 0) + int(size_bytes)
    return totals


def in_bytes(chain: Chain, elements: Mapping[str, int]) -> dict[str, int]:
    sizes = {"uint8": 1, "int8": 1, "bfloat16": 2, "float32": 4, "int32": 4}
    return {tensor: sizes[chain.tensor(tensor).dtype] * count for tensor, count in elements.items()}


@pytest.mark.parametrize("order", list(permutations("mkl")))
def test_an_integer_product_moves_a_byte_for_each_operand_and_four_for_each_sum(order: tuple[str, ...]) -> None:
    chain = product_chain()
    schedule = fused_schedule(chain, (), {"C": order}, TILES)
    case = context(chain, ("uint8", "int8", "int32"))
    assert moved(case, schedule, "L2") == in_bytes(chain, walked_movements(chain, schedule))
    sizes = {"A": 1, "B": 1, "C": 4}
    assert working_set_bytes(view_schedule(chain, schedule)) == walked_working_set(chain, schedule, sizes)


@pytest.mark.parametrize("outer", ["", "m", "ml", "lm"])
def test_a_chain_of_halves_keeps_its_intermediate_in_float32(outer: str) -> None:
    chain = half_chain()
    schedule = fused_schedule(chain, outer, {"C": ("k",), "E": ("n",)}, TILES)
    case = context(chain, ("bfloat16", "bfloat16", "float32"))
    assert moved(case, schedule, "L2") == in_bytes(chain, walked_movements(chain, schedule))
    sizes = {"A": 2, "B": 2, "C": 4, "D": 2, "E": 4}
    assert working_set_bytes(view_schedule(chain, schedule)) == walked_working_set(chain, schedule, sizes)
    assert scratch_bytes(case, schedule) % 4 == 0
    assert (held_type(chain, "C"), held_bytes(chain, "C"), held_bytes(chain, "A")) == ("float32", 4, 2)


def test_an_output_lies_as_it_is_stored() -> None:
    chain = typed(gemm_chain(4, 4, 4, 4), {**BFLOAT16, "E": "bfloat16"})
    assert held_type(chain, "E") == "bfloat16"
    assert computed_type(chain.operators[-1]) == "float32"


def test_online_softmax_keeps_its_states_in_float32() -> None:
    chain = typed(batch_chain(1, 8, 4, 4, 16, with_softmax=True), dict.fromkeys("ABD", "bfloat16"))
    tiles = {"b": 1, "m": 4, "l": 8}
    schedule = fused_schedule(chain, "bml", {}, tiles)
    sizes = {"A": 2, "B": 2, "C": 4, "P": 4, "D": 2, "E": 4}
    assert working_set_bytes(view_schedule(chain, schedule)) >= walked_working_set(chain, schedule, sizes)


def test_l1_holds_four_times_the_elements_of_a_quarter_of_the_size() -> None:
    """Where L1 holds the left operand and a panel, the left operand comes in once; in float32 they do not fit."""
    chain, plain = product_chain(), typed(product_chain(), dict.fromkeys("ABC", "float32"))
    schedule = fused_schedule(chain, (), {"C": ()}, {})
    machine = machine_with(l1=2 * (12 * 10 + 10 * 2))
    assert moved(context(chain, ("uint8", "int8", "int32"), machine), schedule, "L1")["A"] == 12 * 10
    assert moved(context(plain, ("float32",) * 3, machine), schedule, "L1")["A"] > 4 * 12 * 10


@pytest.mark.parametrize(("target", "times"), [("x86-64-v3", 2), ("icelake", 4)])
def test_the_floor_of_a_product_has_the_peak_of_its_operands(target: str, times: int) -> None:
    """A lane takes four products of bytes where there are dot products, and two with `vpmaddubsw`."""
    machine, chain = Machine.named(target), product_chain()
    assert product_type(chain, chain.operators[0]) in ("int8", "uint8")
    found, plain = floor(chain, machine), floor(typed(chain, dict.fromkeys("ABC", "float32")), machine)
    assert found.flops == plain.flops == 2 * 12 * 10 * 14
    assert found.compute_s * times == pytest.approx(plain.compute_s)
    assert found.compulsory_bytes == 12 * 10 + 10 * 14 + 4 * 12 * 14


def test_operands_of_two_sizes_have_the_peak_of_the_wider() -> None:
    extents = {"m": 4, "k": 4, "l": 4}
    operator = contraction("C", "mk,kl->ml", "AB", extents)
    chain = typed(gemm_chain(4, 4, 4, 4), {"A": "int8", "B": "bfloat16"})
    assert product_type(chain, operator) == "bfloat16"
