"""A block of a transformer: attention is one kernel, and so is the MLP with the norm before it and the addition behind it."""

from __future__ import annotations

from typing import Any

import pytest

import tilewright as tw

WIDTH, HEADS, ROWS = 64, 4, 48


def block(x: Any, g1: Any, b1: Any, q: Any, k: Any, v: Any, o: Any, g2: Any, b2: Any, w1: Any, c1: Any, w2: Any, c2: Any) -> Any:
    def heads(y: Any) -> Any:
        return tw.transpose(tw.reshape(y, (ROWS, HEADS, WIDTH // HEADS)), (1, 0, 2))

    normed = tw.layer_norm(x, (WIDTH,), g1, b1)
    queries, keys, values = heads(normed @ q), heads(normed @ k), heads(normed @ v)
    attended = tw.softmax(queries @ tw.swapaxes(keys, -1, -2) * 0.25, axis=-1) @ values
    x = x + tw.reshape(tw.transpose(attended, (1, 0, 2)), (ROWS, WIDTH)) @ o
    return x + tw.gelu(tw.layer_norm(x, (WIDTH,), g2, b2) @ w1 + c1) @ w2 + c2


@pytest.mark.parametrize("target", ["a100", "h100"])
def test_attention_and_mlp_are_one_kernel_each(target: str) -> None:
    square, row, wide = (WIDTH, WIDTH), (WIDTH,), (4 * WIDTH,)
    shapes = (
        (ROWS, WIDTH),
        row,
        row,
        square,
        square,
        square,
        square,
        row,
        row,
        (WIDTH, 4 * WIDTH),
        wide,
        (4 * WIDTH, WIDTH),
        row,
    )
    lowered = tw.jit(block, target=target).lower(*(tw.spec(shape, "float16") for shape in shapes))
    kinds = [tuple(operator.kind for operator in plan.chain.operators) for plan in lowered.model_plan.plans]
    products = [[kind for kind in of_chain if kind in ("matmul", "softmax", "layer_norm")] for of_chain in kinds]
    assert ["matmul", "softmax", "matmul"] in products
    assert ["layer_norm", "matmul", "matmul"] in products
    assert len(kinds) <= 7
