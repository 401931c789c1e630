"""The coefficients of the price: files, families, switches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.cases import CASCADE_LAKE, KERNELS, batch_chain
from tests.support.table_iv import TABLE_IV
from tilewright.coefficients import TERMS, Coefficients, Fit, coefficients_for, family_fits, nearest, parse, to_text
from tilewright.errors import TilewrightError
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.machine import Machine
from tilewright.machine.fit_files import FITTED
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.model.price_features import features
from tilewright.plan.model.pricing import Blocking, price_blocking
from tilewright.plan.search.exact_search import search
from tilewright.plan.search.inner_loops import refine

FIT = Fit("x86_64", 512, "some machine", "2026-01-02", 7, 0.05, 0.2, 0.01, {"exp_cycles": 3.5, "block_cycles": 0.0})


def test_a_file_is_read_as_it_was_written() -> None:
    assert parse("some.toml", to_text(FIT)) == FIT


def test_fitted_values_replace_those_of_constants() -> None:
    found = FIT.coefficients
    assert found.block_cycles == 0.0
    assert dict(found.function_cycles_per_vector)["exp"] == 3.5
    assert dict(found.function_cycles_per_vector)["log"] == dict(Coefficients().function_cycles_per_vector)["log"]


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        ("coefficients.exp_cycles", "coefficients.sleep_cycles", "sleep_cycles"),
        ("value = 3.5", "value = -3.5", "exp_cycles must be at least 0"),
        ("date =", "day =", "Fit"),
    ],
)
def test_a_wrong_file_is_refused(before: str, after: str, complaint: str) -> None:
    with pytest.raises(TilewrightError, match=complaint):
        parse("some.toml", to_text(FIT).replace(before, after))


def test_the_nearest_family_is_of_the_same_architecture_then_of_the_nearest_width() -> None:
    narrow, wide, arm = (replace(FIT, vector_bits=256), FIT, replace(FIT, architecture="aarch64", vector_bits=128))
    assert nearest("x86_64", 512, (narrow, wide, arm)) is wide
    assert nearest("x86_64", 128, (narrow, wide, arm)) is narrow
    assert nearest("aarch64", 512, (narrow, wide, arm)) is arm
    assert nearest("ppc64le", 128, (narrow, wide, arm)) is arm


@pytest.mark.parametrize("target", ["zen5", "x86-64-v2", "neoverse-v2", "power10"])
def test_every_machine_has_coefficients(target: str) -> None:
    found = coefficients_for(Machine.named(target))
    assert all(getattr(found, name) >= 0 for name in FITTED if name != "exp_cycles")


def test_the_packaged_fits_say_where_they_come_from() -> None:
    for fit in family_fits():
        assert set(fit.values) == set(FITTED)
        assert fit.kernels >= 100
        assert 0 < fit.median_error <= 0.15
        assert 0 <= fit.regret <= 0.1


def test_an_unknown_term_is_refused() -> None:
    with pytest.raises(TilewrightError, match="choose from arithmetic"):
        Coefficients().without("luck")


def blocking_of(name: str) -> tuple[CostContext, Blocking]:
    chain = batch_chain(*TABLE_IV[name], with_softmax=True)
    roles = {operator.name: contraction_roles(operator) for operator in chain.operators if operator.is_contraction()}
    context = context_of(chain, CASCADE_LAKE, dict.fromkeys(roles, KERNELS[0]), roles, coefficients_for(CASCADE_LAKE))
    return context, refine(context, search(context))


@pytest.mark.parametrize("name", ["G2", "G9", "G12"])
def test_terms_are_switched_off_one_by_one_until_a_plan_costs_nothing(name: str) -> None:
    context, blocking = blocking_of(name)
    before = price_blocking(context, blocking).seconds
    for term in TERMS:
        context = replace(context, coefficients=context.coefficients.without(term))
        after = price_blocking(context, blocking).seconds
        assert 0 <= after <= before
        before = after
    assert before == 0.0


@pytest.mark.parametrize("name", ["G2", "G9"])
def test_a_price_is_the_sum_of_its_features_times_their_coefficients(name: str) -> None:
    context, blocking = blocking_of(name)
    found = features(context, blocking)
    own = replace(context.coefficients.without("traffic").without("call"), arithmetic=1.0)
    values = {**dict.fromkeys(FITTED, 0.0), **{name: getattr(own, name) for name in FITTED if hasattr(own, name)}}
    values["exp_cycles"] = dict(own.function_cycles_per_vector)["exp"]
    expected = sum(values[name] * count for one in found.values() for name, count in one.items() if name in values)
    others = own.with_values(dict.fromkeys(values, 0.0))
    constant = price_blocking(replace(context, coefficients=others), blocking).seconds
    got = price_blocking(replace(context, coefficients=own), blocking).seconds
    assert got == pytest.approx(expected + constant)
