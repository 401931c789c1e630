"""What a price is made of: the counts, times their coefficients, give the price back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.chains import gemm_chain
from tilewright.coefficients import DEFAULT, TERMS
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.kernels.registry import for_machine
from tilewright.machine import Machine
from tilewright.machine.fit_files import FITTED
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.model.price_features import features, unit_coefficients
from tilewright.plan.model.pricing import works
from tilewright.plan.search.exact_search import search
from tilewright.plan.search.inner_loops import refine

MACHINE = Machine.named("x86-64-v4")
FREE_OF_CONSTANTS = replace(DEFAULT, other_function_cycles=0.0)
"""So that every second of a price belongs to a coefficient that can be fitted, but for traffic."""


def context(middle: str) -> CostContext:
    """Of a ragged chain."""
    chain = gemm_chain({"b": 3, "m": 97, "n": 53, "k": 61, "l": 131}, batch=True, middle=middle)
    products = [operator for operator in chain.operators if operator.is_contraction()]
    kernel = for_machine(MACHINE)[0]
    roles = {operator.name: contraction_roles(operator) for operator in products}
    return context_of(chain, MACHINE, dict.fromkeys(roles, kernel), roles, FREE_OF_CONSTANTS)


@pytest.mark.parametrize("middle", ["", "relu", "softmax"])
def test_counts_times_coefficients_are_the_seconds_of_the_price(middle: str) -> None:
    own = context(middle)
    blocking = refine(own, search(own))
    found = features(own, blocking)
    values = {name: getattr(FREE_OF_CONSTANTS, name, 0.0) for name in FITTED} | {
        f"{name}_cycles": value for name, value in FREE_OF_CONSTANTS.function_cycles_per_vector
    }
    for operator, work in works(own, blocking):
        counts = found[operator.name]
        assert all(counts[f"bytes_into_{level}"] == size for level, size in work.traffic_bytes.items())
        paid = sum(counts.get(name, 0.0) * value for name, value in values.items() if name not in TERMS["traffic"])
        expected = work.arithmetic_s + work.functions_s + work.packing_s + work.overhead_s + work.line_buffer_s
        assert paid + counts["computing_s"] + counts["paid_s"] == pytest.approx(float(expected), rel=1e-9)


def test_work_that_no_fitted_coefficient_changes_counts_once_and_in_no_count() -> None:
    own = replace(context("relu"), coefficients=replace(DEFAULT, other_function_cycles=7.0))
    blocking = refine(own, search(own))
    with_functions, without = (features(replace(own, coefficients=c), blocking) for c in (own.coefficients, FREE_OF_CONSTANTS))
    assert any(counts["computing_s"] > 0 for counts in with_functions.values())
    for operator, counts in without.items():
        assert {name: with_functions[operator].get(name, 0.0) for name in FITTED} == pytest.approx(
            {name: counts.get(name, 0.0) for name in FITTED}
        )


def test_every_fitted_coefficient_that_traffic_lacks_has_its_unit() -> None:
    units = unit_coefficients(DEFAULT)
    assert units.keys() == FITTED.keys() - set(TERMS["traffic"])
    assert units["exp_cycles"].tile_end_cycles == 0.0
    assert dict(units["exp_cycles"].function_cycles_per_vector) == {
        name: 1.0 if name == "exp" else cycles for name, cycles in DEFAULT.function_cycles_per_vector
    }
    assert units["exp_cycles"].run_cycles == DEFAULT.run_cycles
