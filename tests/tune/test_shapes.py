from __future__ import annotations

import pytest

from tilewright.tune.shapes import TABLE_IV, ChainShape, chain_shape


def test_table_iv_is_the_papers() -> None:
    assert [shape.name for shape in TABLE_IV] == [f"G{number}" for number in range(1, 13)]
    assert chain_shape("G9") == ChainShape("G9", batch=16, m=208, n=80, k=80, l=208, network="ViT")
    assert chain_shape("G11") == ChainShape("G11", batch=1, m=768, n=64, k=64, l=384, network="MLP-Mixer")


def test_operands_chain() -> None:
    assert chain_shape("G6").operands == ((16, 256, 80), (16, 80, 256), (16, 256, 80))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(KeyError):
        chain_shape("G13")
