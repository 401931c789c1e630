from __future__ import annotations

import random

import numpy as np
import pytest

from tests.support.bench_cases import ATTENTIONS
from tilewright_bench.cases import attention_shapes, mlp_shapes
from tilewright_bench.cases.attention import AttentionCase, attention_cases
from tilewright_bench.cases.attention_shapes import AttentionShape, attention_shape
from tilewright_bench.cases.mlp import mlp_cases
from tilewright_bench.cases.mlp_shapes import MlpShape
from tilewright_bench.cases.required import NOTHING


def test_the_reference_of_attention_is_a_walk_over_rows() -> None:
    tested = AttentionCase(ATTENTIONS["causal"], "t")
    q, k, v = (operand[0].astype(np.float64) for operand in tested.operands)
    for head in range(4):
        for row in range(7):
            powers = np.exp(k[head, : row + 1] @ q[head, row] / 4)
            np.testing.assert_allclose(tested.reference[0, head, row], powers @ v[head, : row + 1] / powers.sum(), rtol=1e-9)


def test_padded_keys_do_not_count_and_heads_share_keys() -> None:
    padded = AttentionCase(ATTENTIONS["mask"], "t")
    kept = np.arange(7) < 5
    assert padded.valid.ravel().tolist() == kept.tolist()
    k, v = (operand[0, 3, kept].astype(np.float64) for operand in padded.operands[1:])
    powers = np.exp(padded.operands[0][0, 3, 2] @ k.T / 4)
    np.testing.assert_allclose(padded.reference[0, 3, 2], powers @ v / powers.sum(), rtol=1e-6)
    grouped = AttentionCase(ATTENTIONS["grouped"], "t")
    assert [operand.shape[1] for operand in grouped.operands] == [4, 2, 2]


def test_work_is_that_of_the_pairs_that_are_left() -> None:
    causal = attention_shape("causal_4096")
    assert causal.flops == 4 * 8 * 64 * 4096 * 4097 // 2
    assert attention_shape("block_128_lengths").pairs == 128 * 96
    assert attention_shape("block_128_mask").pairs == 128 * 128
    assert attention_shape("decode_4096").moved_bytes == 4 * 32 * 128 * (2 + 2 * 4096)
    assert mlp_shapes.mlp_shape("ffn_1").flops == 4 * 768 * 3072


@pytest.mark.parametrize("shape", [*attention_shapes.SHAPES, *mlp_shapes.SHAPES], ids=lambda shape: shape.name)
def test_odd_sizes_are_odd_and_nearly_as_much_work(shape: AttentionShape | MlpShape) -> None:
    odd = shape.odd(random.Random(7))
    assert odd == shape.odd(random.Random(7))
    extents = (
        [odd.queries, odd.keys, odd.width] if isinstance(odd, AttentionShape) else [odd.rows, odd.width, odd.hidden, odd.out]
    )
    assert all(extent % 2 for extent in extents if extent)
    assert 0.7 * shape.flops < odd.flops <= shape.flops


def test_odd_cases_follow_in_a_table_that_says_their_seed() -> None:
    for cases in (attention_cases(("block_128",), 11), mlp_cases(("ffn_16",), 11)):
        even, odd = cases
        assert (odd.even, odd.table, odd.required) == (even.name, "odd sizes, seed 11", NOTHING)
        assert even.even == ""
