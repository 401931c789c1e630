"""A simulated core: overflow, ways and instructions that the device lacks, and when instructions run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.npu_chains import Case, chain_of, figures, npu, planned, region_of
from tilewright.backends.npu_simulator.core import BufferOverflow, copies_of
from tilewright.backends.npu_simulator.figures import Pipe, way_name
from tilewright.backends.npu_simulator.planner import plan_chain
from tilewright.backends.npu_simulator.simulator import simulate
from tilewright.backends.npu_simulator.tiles import Order, Tiles
from tilewright.backends.npu_simulator.timeline import Timeline
from tilewright.block.memory import BufferName
from tilewright.block.program import Region
from tilewright.errors import UnsupportedOperation

CHAIN = chain_of(Case(0, 64, 32, 48, 32))
FITTING = region_of(plan_chain(CHAIN, npu()))


def count(region: Region) -> None:
    simulate([region], {}, {}, figures(), computes=False)


def test_buffers_that_do_not_fit_are_one_error() -> None:
    chain = chain_of(Case(0, 512, 64, 512, 512))
    region = region_of(planned(chain, Tiles(Order.STREAM, 256, 256, 16, 256, 16)))
    with pytest.raises(BufferOverflow, match="do not fit L0C") as caught:
        count(region)
    assert "524288 bytes of 262144" in caught.value.why
    assert caught.value.hint


@pytest.mark.parametrize(("space", "why"), [("L0A", "memory>L0A"), ("DRAM", "a core has L1")])
def test_ways_and_spaces_that_the_device_lacks_are_refused(space: str, why: str) -> None:
    buffers = tuple(replace(one, space=space) if one.space == "L1" else one for one in FITTING.buffers)
    with pytest.raises(UnsupportedOperation) as caught:
        count(replace(FITTING, buffers=buffers))
    assert why.split(">")[-1] in f"{caught.value} {caught.value.why}"


def test_products_and_vectors_have_their_spaces() -> None:
    buffers = tuple(replace(one, space="L1") if one.space == "L0C" else one for one in FITTING.buffers)
    with pytest.raises(UnsupportedOperation, match="mad takes float32 from L0C"):
        count(replace(FITTING, buffers=buffers))


def test_buffers_exist_as_often_as_blocks_are_in_flight() -> None:
    chain = chain_of(Case(0, 64, 32, 96, 32))
    region = region_of(planned(chain, Tiles(Order.STREAM, 32, 48, 16, 32, 16, 1, middle=1, outer=2)))
    spaces = {buffer.name: buffer.space for buffer in region.buffers}
    copies = {(spaces[name], name.tensor): number for name, number in copies_of(region).items()}
    assert copies["L1", "A"] == 2
    assert copies["L0A", "A"] == copies["L1", "B"] == 2
    sums = [buffer.name for buffer in region.buffers if buffer.space == "L0C"]
    assert [copies_of(region)[name] for name in sums] == [1, 2]


X, Y = BufferName("x"), BufferName("y")


def test_two_buffers_let_pipes_work_beside_each_other() -> None:
    """Load, then compute, four times: with one buffer one after the other, with two the longer pipe decides."""
    ends = []
    for copies in (1, 2):
        timeline = Timeline({X: copies})
        for _ in range(4):
            timeline.run(Pipe.LOAD, 10, [], X)
            timeline.run(Pipe.CUBE, 20, [X], Y)
        ends.append(timeline.cycles)
    assert ends == [4 * 30, 10 + 4 * 20]
    assert timeline.busy[Pipe.LOAD] == 40


def test_sums_go_on_in_place_and_blocks_in_flight_pass_each_other() -> None:
    timeline = Timeline({X: 1, Y: 2})
    timeline.run(Pipe.CUBE, 5, [], Y)
    timeline.run(Pipe.CUBE, 5, [], Y, adds=True)
    timeline.run(Pipe.VECTOR, 30, [Y], X)
    timeline.run(Pipe.CUBE, 5, [X], BufferName("z"))
    timeline.run(Pipe.CUBE, 5, [], Y)
    assert timeline.cycles == 45
    assert timeline.busy[Pipe.CUBE] == 20


def test_names_of_ways() -> None:
    assert way_name("L1", "L0A") == "L1>L0A"
    with pytest.raises(UnsupportedOperation, match="no DMA goes from L0A to L1"):
        figures().way("L0A", "L1")
