"""Rows that no core holds: softmax alone is no kernel of them, attention over them is one."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.plan.reasons import Unplannable

LENGTH = 65536


def attention(q: object, k: object, v: object) -> object:
    return tw.softmax(q @ k, axis=-1) @ v  # type: ignore[operator]


def test_attention_over_long_rows_is_one_kernel() -> None:
    shapes = ((128, 64), (64, LENGTH), (LENGTH, 64))
    text = tw.jit(attention, target="a100").lower(*(tw.spec(shape, "float16") for shape in shapes)).explain()
    assert "online over" in text
    assert "inf " not in text


def test_softmax_of_long_rows_is_refused_alone_and_behind_a_product() -> None:
    rows, columns = tw.spec((8, 64), "float16"), tw.spec((64, LENGTH), "float16")
    with pytest.raises(Unplannable, match="softmax is no kernel"):
        tw.jit(lambda x: tw.softmax(x, axis=-1), target="a100").lower(columns).explain()
    with pytest.raises(Unplannable, match="softmax is no kernel"):
        tw.jit(lambda x, y: tw.softmax(x @ y, axis=-1), target="a100").lower(rows, columns).explain()
