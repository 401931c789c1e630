"""Tile programs in C: every operation, type and number of lanes, in every dialect that runs here, by each compiler.

And in assembly, as far as that is rendered, and on POWER10 under emulation.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.emulated import is_available
from tests.support.emulated_tiles import differences
from tests.support.kernel_build import COMPILERS, command
from tests.support.tile_operations import cases
from tests.support.tiles import Case, InAssembly, InC, check, here
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.dialects.registry import dialects
from tilewright.tile.program import Buffer
from tilewright.tile.rounding import from_bfloat16

pytestmark = pytest.mark.sweep


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("compiler", [one for one in COMPILERS if command(one)])
@pytest.mark.parametrize("dialect", here(), ids=lambda dialect: dialect.name)
def test_operations(dialect: Dialect, compiler: str, lanes: int) -> None:
    check(cases(lanes), InC(dialect, compiler))


@pytest.mark.parametrize("lanes", [4, 8, 16, 32, 64])
@pytest.mark.parametrize("dialect", [one for one in here() if "fma" in one.features], ids=lambda dialect: dialect.name)
def test_operations_in_assembly(dialect: Dialect, lanes: int) -> None:
    rendering = InAssembly(dialect)
    check([one for one in cases(lanes) if rendering.assembles(one.program)], rendering)


@pytest.mark.emulated
@pytest.mark.skipif(not is_available("ppc64le"), reason="no emulator of ppc64le")
@pytest.mark.parametrize("lanes", [1, 2, 4, 8])
def test_operations_on_power10(lanes: int, tmp_path: Path) -> None:
    found = cases(lanes)
    for case in found:
        if case.program.name.startswith(("cast", "saturate")):
            spare_nan(case)
    assert not differences(found, dialects()["power10"], tmp_path)


def spare_nan(case: Case) -> None:
    """QEMU until 8.1 converts the neighbour of a NaN wrongly in `xvcvdpsxds` and `xvcvdpsxws` ("Fix bugs in VSX_CVT_FP_TO_INT",
    qemu-devel, November 2023)."""
    for parameter, array in zip(case.program.parameters, case.arguments, strict=True):
        if isinstance(parameter, Buffer) and isinstance(array, np.ndarray) and not parameter.is_written:
            values = from_bfloat16(array) if parameter.dtype == "bfloat16" else array
            array[values != values] = 0
