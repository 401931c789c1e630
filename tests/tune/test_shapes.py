from __future__ import annotations

import pytest

from tilewright.tune.shapes import TABLE_IV, TABLE_V, ChainShape, ConvChainShape, chain_shape, conv_chain_shape


def test_table_iv_is_the_papers() -> None:
    assert [shape.name for shape in TABLE_IV] == [f"G{number}" for number in range(1, 13)]
    assert chain_shape("G9") == ChainShape("G9", batch=16, m=208, n=80, k=80, l=208, network="ViT")
    assert chain_shape("G11") == ChainShape("G11", batch=1, m=768, n=64, k=64, l=384, network="MLP-Mixer")


def test_operands_chain() -> None:
    assert chain_shape("G6").operands == ((16, 256, 80), (16, 80, 256), (16, 256, 80))


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(KeyError):
        chain_shape("G13")


def test_table_v_is_the_papers() -> None:
    assert [shape.name for shape in TABLE_V] == [f"C{number}" for number in range(1, 9)]
    assert conv_chain_shape("C2") == ConvChainShape("C2", (32, 147, 147), channels=(64, 80), strides=(2, 1), kernels=(3, 1))
    assert conv_chain_shape("C6") == ConvChainShape("C6", (64, 56, 56), channels=(64, 64), strides=(1, 1), kernels=(1, 3))


def test_convolutions_chain() -> None:
    assert conv_chain_shape("C2").filters == ((64, 32, 3, 3), (80, 64, 1, 1))


def test_an_unknown_convolution_chain_is_refused() -> None:
    with pytest.raises(KeyError):
        conv_chain_shape("C9")
