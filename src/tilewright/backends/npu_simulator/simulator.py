"""Simulation of regions on all cores of a device, and what was counted.

Blocks are dealt one by one: core c gets blocks c, c + cores, ... A region is one launch; the next begins when all cores are done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from tilewright.backends.npu_simulator.core import Core
from tilewright.backends.npu_simulator.figures import SPACES, Figures, Pipe
from tilewright.block.integers import Variable
from tilewright.block.memory import BufferName
from tilewright.block.program import Region
from tilewright.block.statements import Transfer
from tilewright.block.walk import block_count
from tilewright.graph.interpreter import Array
from tilewright.records import record


@record
class Counts:
    """What one launch did. Bytes, instructions and buffers are exact; cycles and seconds are predicted."""

    name: str
    moved: tuple[tuple[str, str, int], ...]
    """(tensor, way, bytes), of all cores."""
    peak_bytes: tuple[tuple[str, int, int], ...]
    """(space, bytes that buffers take, bytes of the space), of one core."""
    cubes: int
    """Cube instructions of 16 x 16 x 16."""
    products: int
    """Calls of `mad`."""
    vectors: int
    """Vector operators on a block."""
    vector_bytes: int
    busy: tuple[tuple[str, float], ...]
    """(pipe, cycles that it works) of the core that ends last."""
    cycles: float
    """Until the last core is done."""
    cores: int
    """That had a block."""
    predicted_seconds: float
    """The larger of the cycles and of compulsory bytes at the bandwidth of memory, plus the launch."""

    def way(self, name: str) -> int:
        """Bytes of a way, of all tensors."""
        return sum(size for _, way, size in self.moved if way == name)

    @property
    def ways(self) -> dict[str, int]:
        """Bytes by way."""
        return {way: self.way(way) for _, way, _ in self.moved}


@record
class Report:
    """What the launches of a call did, one after the other."""

    launches: tuple[Counts, ...]

    @property
    def predicted_seconds(self) -> float:
        """Of all launches."""
        return sum(one.predicted_seconds for one in self.launches)

    def __str__(self) -> str:
        return "\n".join(line for one in self.launches for line in _lines(one))


def simulate(
    regions: Iterable[Region],
    arrays: Mapping[BufferName, Array],
    variables: Mapping[Variable, int],
    figures: Figures,
    *,
    computes: bool = True,
) -> Report:
    """Run regions on simulated cores; results are written into `arrays`, which hold the tensors by their buffers.

    Without `computes` everything is counted, and nothing computed: then only the shapes of arrays matter. Raises `BufferOverflow`
    where buffers do not fit their space, `UnsupportedOperation` for what the device has no way or instruction for.
    """
    memory = {name: array.reshape(-1).view(np.uint8) for name, array in arrays.items()} if computes else {}
    sizes = {name: array.nbytes for name, array in arrays.items()}
    with np.errstate(all="ignore"):
        return Report(tuple(_launch(one, memory, sizes, variables, figures, computes=computes) for one in regions))


def _launch(
    region: Region,
    memory: Mapping[BufferName, Array],
    sizes: Mapping[BufferName, int],
    variables: Mapping[Variable, int],
    figures: Figures,
    *,
    computes: bool,
) -> Counts:
    blocks = block_count(region, variables)
    cores = [Core(region, memory, variables, figures, computes=computes) for _ in range(max(1, min(figures.cores, blocks)))]
    for number, core in enumerate(cores):
        core.blocks(region, range(number, blocks, len(cores)))
    moved: Counter[tuple[str, str]] = sum((core.moved for core in cores), start=Counter())
    slowest = max(cores, key=lambda core: core.timeline.cycles)
    compulsory_s = sum(sizes[name] for name in _tensors(region)) / figures.memory_bytes_per_s
    cycles = slowest.timeline.cycles
    return Counts(
        region.name,
        tuple((tensor, way, size) for (tensor, way), size in moved.items()),
        tuple((space, slowest.used[space], figures.size(space)) for space in SPACES),
        sum(core.cubes for core in cores),
        sum(core.products for core in cores),
        sum(core.vectors for core in cores),
        sum(core.vector_bytes for core in cores),
        tuple((pipe.value, slowest.timeline.busy[pipe]) for pipe in Pipe),
        cycles,
        len(cores),
        max(cycles / figures.frequency_hz, compulsory_s) + figures.launch_s,
    )


def _tensors(region: Region) -> set[BufferName]:
    """What lies in memory."""
    scratch = {buffer.name for buffer in region.buffers}
    moves = [node for node in region.nodes() if isinstance(node, Transfer)]
    return {view.buffer for node in moves for view in (node.source, node.target)} - scratch


def _lines(counts: Counts) -> list[str]:
    """A launch, for people."""
    ways = ", ".join(f"{way} {size}" for way, size in counts.ways.items())
    peaks = ", ".join(f"{space} {used} of {size}" for space, used, size in counts.peak_bytes)
    pipes = ", ".join(f"{pipe} {cycles:.0f}" for pipe, cycles in counts.busy)
    return [
        f"{counts.name}: {counts.predicted_seconds * 1e6:.2f} us predicted, {counts.cores} cores",
        f"  bytes moved: {ways}",
        f"  bytes of buffers: {peaks}",
        f"  instructions: {counts.cubes} cube in {counts.products} mad, {counts.vectors} vector operators",
        f"  cycles of the last core (predicted): {counts.cycles:.0f}; busy {pipes}",
    ]
