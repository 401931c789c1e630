"""What a price is made of: the counts, times their coefficients, give the price back."""

from __future__ import annotations

import pytest

from tests.support.chains import gemm_chain
from tilewright.kernels.registry import for_machine
from tilewright.machine import Machine
from tilewright.plan.features import features, unit_coefficients
from tilewright.plan.nesting import refine, works
from tilewright.plan.roles import contraction_roles
from tilewright.plan.search import search
from tilewright.plan.setting import DEFAULT, Setting, setting_of

MACHINE = Machine.named("x86-64-v4")


def setting(middle: str) -> Setting:
    """Of a ragged chain."""
    chain = gemm_chain({"b": 3, "m": 97, "n": 53, "k": 61, "l": 131}, batch=True, middle=middle)
    products = [operator for operator in chain.operators if operator.is_contraction()]
    kernel = for_machine(MACHINE)[0]
    roles = {operator.name: contraction_roles(operator) for operator in products}
    return setting_of(chain, MACHINE, dict.fromkeys(roles, kernel), roles, DEFAULT)


@pytest.mark.parametrize("middle", ["", "relu", "softmax"])
def test_counts_times_coefficients_are_the_seconds_of_the_price(middle: str) -> None:
    own = setting(middle)
    blocking = refine(own, search(own))
    found = features(own, blocking)
    cycles = {f"{name}_cycles": value for name, value in DEFAULT.function_cycles_per_vector}
    for operator, work in works(own, blocking):
        counts = found[operator.name]
        assert counts["arithmetic_s"] == work.arithmetic_s
        assert all(counts[f"bytes_into_{level}"] == size for level, size in work.traffic_bytes.items())
        paid = sum(n * cycles.get(name, getattr(DEFAULT, name, 0.0)) for name, n in counts.items() if "cycles" in name)
        expected = work.functions_s + work.packing_s + work.overhead_s
        assert paid / own.machine.frequency_hz == pytest.approx(float(expected), rel=1e-9)


def test_every_coefficient_in_cycles_has_its_unit() -> None:
    units = unit_coefficients(DEFAULT)
    assert {"tile_end_cycles", "transpose_cycles_per_vector", "exp_cycles"} <= units.keys()
    assert units["exp_cycles"].tile_end_cycles == 0.0
    assert dict(units["exp_cycles"].function_cycles_per_vector) == {
        name: float(name == "exp") for name, _ in DEFAULT.function_cycles_per_vector
    }
    assert units["page_cycles"].visible_traffic == DEFAULT.visible_traffic
