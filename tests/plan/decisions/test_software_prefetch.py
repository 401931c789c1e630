"""Which inputs are fetched ahead."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.plan.model.operands.test_prefetch_gain import product
from tests.support.chains import gemm_chain
from tilewright.graph.types import Chain
from tilewright.machine.machine import Machine
from tilewright.plan.planner import plan_chain
from tilewright.tune.chain_functions import gemm_chain as written_chain

XEON = Machine.named("cascadelake-6240")


def _fetched(chain: Chain) -> tuple[str, ...]:
    return plan_chain(chain, XEON).prefetched_inputs


def test_what_every_block_reads_anew_from_behind_the_fusion_level_is_fetched() -> None:
    shapes = ((12, 512, 64), (12, 64, 512), (12, 512, 64))
    plan = tw.jit(written_chain, target="cascadelake-6240").lower(*map(tw.spec, shapes)).plan
    assert plan.prefetched_inputs == ("a", "b", "d")
    assert (
        "prefetch a, b, d for the next block"
        in tw.jit(written_chain, target="cascadelake-6240").lower(*map(tw.spec, shapes)).explain()
    )


def test_nothing_is_fetched_that_the_fusion_level_holds_or_that_all_blocks_share() -> None:
    assert _fetched(gemm_chain(dict.fromkeys("mkln", 64))) == ()
    plan = plan_chain(gemm_chain({"m": 4096, "k": 64, "l": 64, "n": 64}), XEON)
    assert set(plan.prefetched_inputs) <= {"A"}


def test_tiles_that_read_an_input_ask_for_it_alone_if_that_is_few_lines() -> None:
    extents = {"m": 65536, "k": 64, "l": 64, "n": 64}
    plan = plan_chain(gemm_chain(extents), XEON)
    (first, *_) = plan.chain.operators
    assert (plan.prefetched_inputs, plan.prefetching_operators) == (("A",), (first.name,))


def test_an_input_is_asked_for_by_the_read_that_blocks_cut() -> None:
    """The product of a matrix with some of its own rows, which all blocks read."""
    plan = tw.jit(lambda x: x @ x[532:958:2].T, target="cascadelake-6240").lower(tw.spec((2100, 129))).plan
    (product,) = plan.chain.operators
    assert (plan.prefetched_inputs, plan.prefetching_operators) == (("x",), (product.name,))


@pytest.mark.needs("avx512f", "avx512dq")
def test_the_product_of_a_matrix_with_some_of_its_rows_is_right() -> None:
    x = np.random.default_rng(0).standard_normal((2100, 129), np.float32)
    found = tw.jit(lambda x: x @ x[532:958:2].T, target="cascadelake-6240", threads=2)(x)
    np.testing.assert_allclose(found, x.astype(float) @ x[532:958:2].T.astype(float), atol=1e-4)


def test_long_rows_are_left_to_the_hardware() -> None:
    """A tile of six rows of 1024 steps would ask for 384 lines of the next block's."""
    assert "A" not in plan_chain(product(1632, 1024, 36548), XEON).prefetched_inputs
