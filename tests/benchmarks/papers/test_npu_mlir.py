"""The `mad` lowering as MLIR of the vendor: its instructions, and the bytes that the vendor's memory planner gives to buffers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.papers.npu_chains import cases_of, gemm_chain
from benchmarks.papers.npu_mlir import Text, apart_bytes, launch_of, machine, planned_bytes
from tilewright.backends.npu_simulator.lowering import tiles_of
from tilewright.backends.npu_simulator.planner import made_plan, plan_chain
from tilewright.block.program import Region
from tilewright.block.statements import MatrixTiles, Transfer
from tilewright.errors import TilewrightError
from tilewright.graph.types import Chain

CASES = ("G1", "G11", "S2")


def planned(name: str) -> tuple[Chain, Region]:
    plan = plan_chain(gemm_chain(cases_of(name)[0]), machine())
    return plan.chain, launch_of(plan).region()


@pytest.mark.parametrize("name", CASES)
def test_every_dma_and_every_mad_is_an_instruction(name: str) -> None:
    chain, region = planned(name)
    text = Text(chain, region).module()
    spaces = {buffer.name: buffer.space for buffer in region.buffers}
    moves = [node for node in region.nodes() if isinstance(node, Transfer)]
    loads = [node for node in moves if node.source.buffer not in spaces]
    assert text.count("hivm.hir.nd2nz") == len(loads) == 3
    assert text.count("hivm.hir.mmadL1") == sum(isinstance(node, MatrixTiles) for node in region.nodes()) == 2
    assert text.count("hivm.hir.fixpipe") == sum(spaces.get(node.source.buffer) == "L0C" for node in moves) == 2


@pytest.mark.parametrize("name", CASES)
def test_the_vendor_gives_buffers_the_bytes_of_the_plan(name: str) -> None:
    """It shares no places between buffers that take turns."""
    pytest.importorskip("ascendnpuir", reason="without the vendor's tool: pip install ascendnpu-ir")
    chain, region = planned(name)
    assert planned_bytes(Text(chain, region).module()) == apart_bytes(region)


def test_the_vendor_refuses_buffers_that_do_not_fit() -> None:
    pytest.importorskip("ascendnpuir", reason="without the vendor's tool: pip install ascendnpu-ir")
    chain = gemm_chain(cases_of("S2")[0])
    tiles = replace(tiles_of(plan_chain(chain, machine())), rows=256, columns=256, depth=16, middle=2)
    with pytest.raises(TilewrightError, match="refuses") as caught:
        planned_bytes(Text(chain, launch_of(made_plan(chain, machine(), tiles)).region()).module())
    assert "overflow" in caught.value.why
