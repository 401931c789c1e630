"""Unfused price: every operator of a chain planned alone, intermediates written to memory and read back."""

from __future__ import annotations

from tilewright.kernels.contract import MicroKernel
from tilewright.plan.chains import single_operator_chains
from tilewright.plan.decisions.prefetching_kernels import choose_prefetches
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.model.pricing import price_blocking, separate_price
from tilewright.plan.search.exact_search import search
from tilewright.plan.search.inner_loops import refine
from tilewright.plan.types import Price


def price_unfused(context: CostContext, available: tuple[MicroKernel, ...]) -> Price:
    """The price of the operators one after the other in one call, each with the micro kernel of the chain's context."""
    prices = []
    for alone in single_operator_chains(context.chain):
        (operator,) = alone.operators
        alone_context = context_of(
            alone,
            context.machine,
            {name: kernel for name, kernel in context.kernels.items() if name == operator.name},
            {name: roles for name, roles in context.roles.items() if name == operator.name},
            context.coefficients,
        )
        blocking = refine(alone_context, search(alone_context))
        chosen = choose_prefetches(alone_context, blocking, available)
        prices.append(price_blocking(chosen.context, blocking, chosen.works))
    return separate_price(prices)
