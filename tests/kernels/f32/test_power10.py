"""The kernels of POWER10's matrix unit: the instructions of their loops, and plans that take them."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

import tilewright as tw
from tests.support.emulated import is_available
from tests.support.kernel_build import CROSS
from tilewright.kernels import MicroKernel
from tilewright.kernels.f32.power10 import KERNELS
from tilewright.render.c.kernel_sources import rendered
from tilewright.runtime.compilation.flags import for_features

OUTER_PRODUCT = "xvf32gerpp"
LOOP = re.compile(r"^(\.L\d+):\n((?:(?!^\.L).*\n)*?\tbdnz \1\n)", re.MULTILINE)


def loops(kernel: MicroKernel, directory: Path) -> list[Counter[str]]:
    """How often the loops over k of the whole tile have which instruction: rows of A side by side last."""
    tile = frozenset({(kernel.rows, kernel.columns // kernel.lanes)})
    source, made = directory / "kernel.c", directory / "kernel.s"
    source.write_text(str(rendered(kernel.emit("product", tile)).content))
    machine = for_features("gcc", kernel.architecture, kernel.features)
    command = [CROSS[kernel.architecture], "-O2", "-ffp-contract=off", "-fno-unroll-loops", *machine, "-S", "-o", str(made)]
    subprocess.run([*command, str(source)], check=True)
    whole = made.read_text().split("_edge:")[0]
    bodies = (re.findall(r"^\t([a-z]\w+)", body, re.MULTILINE) for _, body in LOOP.findall(whole))
    return [found for found in map(Counter, bodies) if OUTER_PRODUCT in found]


@pytest.mark.emulated
@pytest.mark.skipif(not is_available("ppc64le"), reason="no emulator of ppc64le")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_a_step_is_eight_outer_products(kernel: MicroKernel, tmp_path: Path) -> None:
    """All eight accumulators stay where they are, and an operand that lies side by side is loaded in vectors."""
    found = loops(kernel, tmp_path)
    assert found
    for instructions in found:
        assert instructions[OUTER_PRODUCT] % 8 == 0
        assert not instructions.keys() & {"xxmfacc", "xxmtacc", "stxv"}
    steps = [instructions[OUTER_PRODUCT] // 8 for instructions in found]
    least = min(sum(instructions.values()) / count for instructions, count in zip(found, steps, strict=True))
    assert least <= 8 + (kernel.rows + kernel.columns) // 4 + 4


def test_plans_for_power10_take_the_matrix_unit() -> None:
    lowered = tw.jit(lambda a, b: a @ b, target="power10").lower(tw.spec((256, 128)), tw.spec((128, 256)))
    assert "matmul_power10_f32" in lowered.explain()
