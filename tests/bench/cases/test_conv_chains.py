from __future__ import annotations

import numpy as np
import pytest

from tests.support.bench_cases import CONV_CHAINS
from tilewright.tune.shapes import TABLE_V
from tilewright_bench.cases.conv_chain_shapes import CHIMERA, SHAPES, conv_chain
from tilewright_bench.cases.conv_chains import ConvChainCase, conv_chain_cases


def test_names_are_unique_and_tables_known() -> None:
    names = [shape.name for shape in SHAPES]
    assert len(names) == len(set(names)) == 24
    assert len({case.table for case in conv_chain_cases(names)}) == 3


def test_rows_of_table_v_have_its_figures() -> None:
    chain = conv_chain("C2")
    assert chain.result_shape == (1, 80, 74, 74)
    assert chain.flops == 2 * 74 * 74 * (64 * 32 * 9 + 80 * 64)
    assert chain.moved_bytes == 4 * (32 * 147 * 147 + 64 * 32 * 9 + 80 * 64 + 80 * 74 * 74)
    assert [one.name.partition("_")[0] for one in CHIMERA[: len(TABLE_V)]] == [shape.name for shape in TABLE_V]


def test_inverted_residuals_are_those_of_mobilenet_v2() -> None:
    block = conv_chain("residual_16_112")
    assert [one.name for one in block.convolutions] == ["1x1_16-96_112", "3x3_96-96_112_s2_g96", "1x1_96-24_56"]
    assert not block.residual
    assert conv_chain("residual_96_14").residual
    assert conv_chain("residual_96_14").flops == 2 * 14 * 14 * 576 * (2 * 96 + 9)


@pytest.mark.parametrize("name", CONV_CHAINS)
def test_results_of_another_shape_are_infinitely_wrong(name: str) -> None:
    case = ConvChainCase(CONV_CHAINS[name], "t")
    assert case.error(case.reference.astype(np.float32)) < 1e-6
    assert case.error(np.zeros((1, 2))) == float("inf")
    if name.startswith("inverted"):
        assert case.reference.shape == case.result_shape
