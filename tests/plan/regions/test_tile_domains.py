"""Keys that masks leave to blocks of rows, against masks point by point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.support.gpu_chains import chain_of
from tilewright.graph.types import Chain
from tilewright.plan.regions.tile_domains import tile_domain

Condition = Callable[[Any], Any]
MASKS: dict[str, Condition] = {
    "causal": lambda ahead: ahead >= 0,
    "shifted": lambda ahead: ahead + 5 >= 0,
    "window": lambda ahead: (ahead >= 0) & (ahead < 40),
    "anticausal": lambda ahead: ahead <= 3,
}


def masked(condition: Condition, rows: int, keys: int) -> Chain:
    def attention(q: Any, k: Any, v: Any) -> Any:
        ahead = tw.arange(rows)[:, None] - tw.arange(keys)[None, :]
        return tw.softmax(tw.where(condition(ahead), q @ tw.swapaxes(k, -1, -2), -np.inf), axis=-1) @ v

    return chain_of(attention, (rows, 8), (keys, 8), (keys, 8))


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize(("rows", "keys", "row_tile", "key_tile"), [(100, 100, 16, 16), (90, 130, 32, 64), (130, 70, 64, 16)])
def test_all_keys_that_a_block_sees_and_few_others(name: str, rows: int, keys: int, row_tile: int, key_tile: int) -> None:
    domain = tile_domain(masked(MASKS[name], rows, keys))
    assert domain is not None
    seen = MASKS[name](np.arange(rows)[:, None] - np.arange(keys)[None, :])
    for first in range(0, rows, row_tile):
        needed = np.flatnonzero(seen[first : first + row_tile].any(0))
        start, count = domain.keys(first, min(first + row_tile, rows) - 1, keys, key_tile)
        assert start % key_tile == 0
        assert start + count == keys or count % key_tile == 0
        if needed.size:
            assert start <= needed[0]
            assert start + count > needed[-1]
            assert needed[0] - start < key_tile
            assert start + count - needed[-1] <= key_tile
        else:
            assert 0 < count <= key_tile


def test_masks_of_data_bound_nothing() -> None:
    def attention(q: Any, k: Any, v: Any, mask: Any) -> Any:
        return tw.softmax(tw.where(mask > 0, q @ tw.swapaxes(k, -1, -2), -np.inf), axis=-1) @ v

    assert tile_domain(chain_of(attention, (60, 8), (70, 8), (70, 8), (60, 70))) is None
