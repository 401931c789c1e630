"""Programs of the simulated device: chains with their tiles, as data of an artifact, and the kernel that simulates them.

The device's memory holds every tensor densely. A call copies its inputs there, runs one launch for each chain, and copies its
results.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import numpy as np

from tilewright.backends.npu_simulator.figures import Figures
from tilewright.backends.npu_simulator.lowering import lower_chain
from tilewright.backends.npu_simulator.simulator import Counts, Report, simulate
from tilewright.backends.npu_simulator.tiles import Tiles
from tilewright.block.memory import BufferName
from tilewright.block.printer import to_text
from tilewright.block.program import Region
from tilewright.dtypes import dtype_named
from tilewright.entry_point import Signature
from tilewright.errors import TilewrightError
from tilewright.graph.data_format import decode, encode
from tilewright.graph.interpreter import Array
from tilewright.graph.types import Chain, Tensor
from tilewright.lower.storage import Stored, dense_strides
from tilewright.records import record
from tilewright.runtime.binding import bind, check_counts
from tilewright.runtime.pool import MemoryStats


@record
class Launch:
    """A chain as one kernel."""

    chain: Chain
    tiles: Tiles

    def region(self) -> Region:
        """Its block program."""
        names = (*self.chain.inputs, self.chain.output)
        return lower_chain(self.chain, self.tiles, {name: _stored(self.chain.tensor(name)) for name in names})


@record
class Program:
    """The launches of a graph, in order."""

    launches: tuple[Launch, ...]
    figures: Figures
    signature: Signature

    def listing(self) -> str:
        """The block program, for people."""
        return to_text([launch.region() for launch in self.launches])

    def text(self) -> str:
        """What an artifact holds: the block program for people, and behind it a line of data."""
        return f"{self.listing()}\n{encode(self, Program).decode()}\n"

    @staticmethod
    def of(text: str) -> Program:
        """The program of an artifact. Raises `Unreadable` for other texts."""
        return decode(text.rstrip("\n").rpartition("\n")[2].encode(), Program)


class Simulated:
    """A kernel that runs in the simulator. Calls are safe from several threads; `report` tells of the last one."""

    def __init__(self, program: Program, source: str) -> None:
        self._program, self._source = program, source
        self._regions = [launch.region() for launch in program.launches]
        self._report: Report | None = None

    @property
    def signature(self) -> Signature:
        """As `Runnable`."""
        return self._program.signature

    @property
    def source(self) -> str:
        """As `Runnable`: the block program."""
        return self._source

    def report(self) -> Report:
        """What the last call did: bytes by way, buffers, instructions, predicted cycles and seconds.

        Raises `TilewrightError` before the first call.
        """
        if self._report is None:
            raise TilewrightError("nothing was counted yet", why="no call has run", hint="call the kernel first")
        return self._report

    def new_outputs(self, inputs: Sequence[object]) -> list[Array]:
        """As `Runnable`."""
        bind(self.signature, [np.asarray(one) for one in inputs])
        return [np.empty([int(size) for size in slot.shape], dtype_named(slot.dtype)) for slot in self.signature.outputs]

    def run(self, inputs: Sequence[object], outputs: Sequence[Array]) -> None:
        """As `Runnable`."""
        self.profile(inputs, outputs)

    def compute(self, inputs: tuple[object, ...]) -> list[Array]:
        """As `Runnable`."""
        outputs = self.new_outputs(inputs)
        self.run(inputs, outputs)
        return outputs

    def run_repeatedly(self, count: int, inputs: Sequence[object], outputs: Sequence[Array]) -> None:
        """As `Runnable`."""
        for _ in range(count):
            self.run(inputs, outputs)

    def profile(self, inputs: Sequence[object], outputs: Sequence[Array]) -> tuple[tuple[str, float], ...]:
        """As `Runnable`: the seconds that the simulator took, which say nothing of the device."""
        check_counts(self.signature, len(inputs), len(outputs))
        given = [np.asarray(one) for one in inputs]
        bind(self.signature, [*given, *outputs])
        memory = {
            BufferName(slot.name): np.ascontiguousarray(one) for slot, one in zip(self.signature.inputs, given, strict=True)
        }
        counted: list[Counts] = []
        times = []
        for launch, region in zip(self._program.launches, self._regions, strict=True):
            begin = perf_counter()
            result = launch.chain.tensor(launch.chain.output)
            memory[BufferName(result.name)] = np.empty(_shape(result), dtype_named(result.dtype))
            used = {BufferName(name): memory[BufferName(name)] for name in (*launch.chain.inputs, launch.chain.output)}
            counted += simulate([region], used, {}, self._program.figures).launches
            times.append((launch.chain.name, perf_counter() - begin))
        for slot, output in zip(self.signature.outputs, outputs, strict=True):
            np.copyto(output, memory[BufferName(slot.name)])
        self._report = Report(tuple(counted))
        return tuple(times)

    def memory_stats(self) -> MemoryStats:
        """As `Runnable`: nothing is pooled."""
        return MemoryStats(0, 0)


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tuple(extent for extent in tensor.shape if isinstance(extent, int))


def _stored(tensor: Tensor) -> Stored:
    """Where a tensor lies in the device's memory."""
    shape = _shape(tensor)
    return Stored(BufferName(tensor.name), dense_strides(shape), (0,) * len(shape), dtype=tensor.dtype)
