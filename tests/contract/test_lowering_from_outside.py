"""A user's lowering, registered from outside the package, runs the contract suite; lowerings with one fault each are caught."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.test_lowerings import check_refusals, check_results
from tests.contract.test_matmul_kernels import check_products, loaded
from tests.support.guarded import in_child
from tests.support.lowerings import skip_if_missing
from tests.support.scalar_kernels import TEXT, scalar_kernel
from tilewright.errors import UnsupportedOperation
from tilewright.kernels import MicroKernel
from tilewright.kernels.contract import OperandRole
from tilewright.kernels.replaceable import COLUMN, DEPTH, PRODUCT_16X16, ROW, Edges, KernelText, Lowering, Operand, Resources
from tilewright.leaves import lowerings
from tilewright.machine import Machine

FAULTS = {
    "forgets a step": ("p < k", "p < k - (k > 16)"),
    "drops C": ("accumulate ?", "0 && accumulate ?"),
    "writes a column more": ("float sum = 0;", "float sum = 0; c[i * c_row + n] = 0;"),
}


def users(old: str = "", new: str = "") -> Lowering:
    """Plain C for any machine of this device."""
    text = TEXT.replace(old, new) if old else TEXT
    kernel = scalar_kernel("users_scalar_5x7", 5, 7, text)
    return Lowering(
        "users_scalar_5x7",
        PRODUCT_16X16,
        "cpu",
        (5, 7, 1),
        Operand(OperandRole.LEFT, "float32", (ROW, DEPTH)),
        Operand(OperandRole.RIGHT, "float32", (DEPTH, COLUMN)),
        Operand(OperandRole.TARGET, "float32", (ROW, COLUMN)),
        Edges.MASKED,
        Resources("scalar", registers=1, most_registers=16),
        kernel,
    )


@pytest.fixture
def registered() -> Iterator[Lowering]:
    lowering = users()
    lowerings.register(lowering)
    yield lowering
    lowerings.unregister(lowering.name)


def test_a_users_lowering_keeps_the_contract_and_is_chosen(registered: Lowering) -> None:
    skip_if_missing(registered)
    assert registered in lowerings.registered()
    in_child(check_results, registered)
    assert isinstance(registered.code, MicroKernel)
    in_child(check_products, loaded(registered.code, "gcc"), registered.code)
    check_refusals(registered)
    assert lowerings.for_machine(Machine.named("x86-64-v2"), PRODUCT_16X16, ("float32", "float32")) is registered


def test_it_is_gone_when_it_is_unregistered() -> None:
    with pytest.raises(UnsupportedOperation):
        lowerings.for_machine(Machine.named("x86-64-v2"), PRODUCT_16X16, ("float32", "float32"))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_c_is_found(fault: str) -> None:
    lowering = users(*FAULTS[fault])
    skip_if_missing(lowering)
    with pytest.raises(AssertionError, match=r"above the bound|was written|killed"):
        in_child(check_results, lowering)


MAD = lowerings.named("mad_16x16x16")
MAD_FAULTS: dict[str, Any] = {
    "forgets a block of the depth": lambda c, a, b: mad(c, a[:, :-1], b[:-1]),
    "counts one instruction": lambda c, a, b: min(1, mad(c, a, b)),
    "swaps rows and steps of A": lambda c, a, b: mad(c, a.swapaxes(2, 3).copy(), b),
}


def mad(c: Any, a: Any, b: Any) -> int:
    function: Any = MAD.code
    return int(function(c, a, b))


@pytest.mark.parametrize("fault", MAD_FAULTS)
def test_a_fault_in_a_function_is_found(fault: str) -> None:
    with pytest.raises(AssertionError, match=r"above the bound|instructions|are not equal"):
        in_child(check_results, replace(MAD, code=MAD_FAULTS[fault]))


FRAGMENTS = lowerings.named("fragments_2x2_float16")
TEXT_FAULTS = {
    "no mask along the depth": (" & (k[None, :] < K)", ""),
    "no mask in the store": ("mask=here)\n", "mask=m < M)\n"),
}


@pytest.mark.parametrize(
    "fault", [pytest.param(fault, marks=[pytest.mark.rest] if number else []) for number, fault in enumerate(TEXT_FAULTS)]
)
def test_a_fault_in_triton_is_found(fault: str) -> None:
    skip_if_missing(FRAGMENTS)
    assert isinstance(FRAGMENTS.code, KernelText)
    old, new = TEXT_FAULTS[fault]
    text = FRAGMENTS.code.text.replace(old, new)
    assert text != FRAGMENTS.code.text
    with pytest.raises(AssertionError, match=r"above the bound|are not equal|was written"):
        check_results(replace(FRAGMENTS, code=replace(FRAGMENTS.code, text=text)))
