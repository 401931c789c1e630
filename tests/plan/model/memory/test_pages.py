"""Cost of pages: left operands whose steps lie on pages of their own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.cases import CASCADE_LAKE, KERNELS, chain_of, contraction
from tilewright.coefficients import coefficients_for
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.types import Extent
from tilewright.plan.model.cost_context import CostContext, context_of
from tilewright.plan.model.memory.pages import left_column_seconds

LINES, LINE_BYTES = 1000, 64


def product(left: str, m: int, k: int) -> CostContext:
    extents: dict[str, Extent] = {"m": m, "k": k, "n": 4096}
    chain = replace(chain_of((contraction("C", f"{left},kn->mn", "AB", extents),)), constants=("B",))
    (operator,) = chain.operators
    kernels, roles = {operator.name: KERNELS[2]}, {operator.name: contraction_roles(operator)}
    return context_of(chain, CASCADE_LAKE, kernels, roles, coefficients_for(CASCADE_LAKE))


@pytest.mark.parametrize(
    ("left", "m", "k", "counts"),
    [("km", 4225, 512, True), ("mk", 4225, 512, False), ("km", 49, 512, False), ("km", 1024, 4, True)],
)
def test_lines_of_columns_on_pages_of_their_own_show(left: str, m: int, k: int, counts: bool) -> None:
    """Images [channel, pixel] of filters as columns: every channel of a tile is on another page."""
    context = product(left, m, k)
    (operator,) = context.chain.operators
    moved = {level.name: (LINES * LINE_BYTES, 0.0, 0.0) for level in context.cache_levels}
    cycles = LINES * context.coefficients.column_line_cycles if counts else 0.0
    assert left_column_seconds(context, operator, moved) * CASCADE_LAKE.frequency_hz == pytest.approx(cycles)
