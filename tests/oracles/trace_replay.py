"""Replay the memory accesses of a lowered program: into simulated caches, or into a list.

Nothing is computed and no tensor is allocated: tensors, workspace and scratch are places in an address space that only the replay
knows. What a leaf touches there follows from the block program (see `memory_runs`).

A touch is one 64-bit word: bit 0 for a write, then the line, and from bit `49 - log2(line_bytes)` upwards the buffer, numbered
from 1. Buffers are told apart by the upper 16 bits of their addresses; the lower 48 are where they lie.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tests.oracles.cache_simulator import LINE_BITS, CacheLevel, Simulation, SimulationResult, Touches, compiled
from tests.oracles.memory_runs import Runs
from tilewright.block.integers import Variable, VariableKind, evaluated
from tilewright.block.memory import WORD_BYTES, Buffer, BufferName
from tilewright.block.program import Region
from tilewright.c_text.names import buffer_name
from tilewright.entry_point import TensorSlot
from tilewright.errors import TilewrightError
from tilewright.graph.expressions.extents import value_of
from tilewright.graph.types import element_bytes
from tilewright.lower.arguments import extents_in
from tilewright.lower.storage import dense_strides
from tilewright.render.c.program import Program

SINK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long)
TAG_SHIFT = 48
RunsT = TypeVar("RunsT", bound=Runs)
_one_at_a_time = threading.Lock()
"""The library of runs keeps touches in static memory."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a replayed program's memory lies: arguments one after the other, then the workspace, packed constants, the scratch.

    Each starts at the next multiple of `alignment_bytes` after a gap of `gap_bytes`. Arguments are row-major, and their rows are
    `row_padding` elements longer than their last dimension. The scratch begins `scratch_gap_bytes` further on: threads have their
    own.
    """

    alignment_bytes: int = 4096
    gap_bytes: int = 0
    row_padding: int = 0
    scratch_gap_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """A place in the address space of a replay: plain address, and size."""

    start: int
    size_bytes: int


def simulate(
    program: Program,
    levels: Sequence[CacheLevel],
    *,
    sizes: Mapping[str, int] | None = None,
    placement: Placement | None = None,
    flush: bool = True,
    every_step: bool = False,
) -> SimulationResult:
    """What crosses between the levels when a program runs once, on one thread, with caches that are empty at first.

    `sizes` gives values to symbolic extents. With `flush`, what is dirty at the end is written back; with `every_step`, rows of A
    are touched at every step of K, not when they enter a line. Raises `ToolchainError` without a working C compiler.
    """
    replay = Replay(program, levels[0].line_bytes, sizes or {}, placement or Placement(), every_step)
    simulation = Simulation(levels, replay.buffers, replay.buffer_shift, first_buffer=1)
    replay.run(ctypes.cast(simulation.library.tw_simulate, SINK), simulation.address)
    return simulation.result(flush=flush)


def record(
    program: Program,
    *,
    line_bytes: int = 64,
    sizes: Mapping[str, int] | None = None,
    placement: Placement | None = None,
    every_step: bool = False,
) -> Touches:
    """The touches of a program in order, for small ones. Arguments as for `simulate`."""
    replay = Replay(program, line_bytes, sizes or {}, placement or Placement(), every_step)
    parts = [np.empty(0, np.int64)]

    def keep(_state: int | None, touches: int, count: int) -> None:
        parts.append(np.array((ctypes.c_int64 * count).from_address(touches)))

    replay.run(SINK(keep), None)
    words, shift = np.concatenate(parts), replay.buffer_shift
    lines = (words >> 1) & ((1 << (shift - 1)) - 1)
    assert int(lines.max(initial=0)) < 1 << LINE_BITS
    return Touches(lines, (words & 1).astype(np.bool_), (words >> shift) - 1, replay.buffers)


class Replay:
    """The places of a program's buffers, and what its blocks touch there, in order.

    `buffers` names what is told apart: inputs, constants and outputs, tensors between chains, then the scratch buffers and the
    packed constants of every chain. What packs constants is not replayed.
    """

    def __init__(
        self, program: Program, line_bytes: int, sizes: Mapping[str, int], placement: Placement, every_step: bool
    ) -> None:
        self.program, self.every_step, self.line_shift = program, every_step, line_bytes.bit_length() - 1
        slots = (*program.signature.inputs, *program.signature.outputs)
        strides = [_strides(slot, sizes, placement.row_padding) for slot in slots]
        symbols = {symbol.name: _size(symbol.name, sizes) for symbol in program.signature.symbols}
        self.variables = {
            Variable(VariableKind.EXTENT, name): value_of(extent, symbols)
            for name, extent in extents_in(program.model_plan).items()
        }
        for slot, steps in zip(slots, strides, strict=True):
            self.variables |= {Variable(VariableKind.STRIDE, slot.name, d): step for d, step in enumerate(steps)}
        spans = [_span_bytes(slot, sizes, tensor_strides) for slot, tensor_strides in zip(slots, strides, strict=True)]
        workspace_bytes = self._words(program.workspace.size_words)
        constants = list(accumulate((self._words(one.buffers[0].size_words) for one in program.constants), initial=0))
        starts = _places([*spans, workspace_bytes, constants[-1], 0], placement)
        self.places = {slot.name: Address(start, size) for slot, start, size in zip(slots, starts, spans, strict=False)}
        self._names: list[str] = []
        shared = {BufferName(slot.name): self._tagged(slot.name, start) for slot, start in zip(slots, starts, strict=False)}
        for name, offset in program.workspace.places:
            shared[name] = self._tagged(buffer_name(name), starts[-3] + self._words(offset))
        scratch_start = starts[-1] + placement.scratch_gap_bytes
        scratch = [dict(self._scratch(nest, scratch_start)) for nest in program.regions]
        packed = dict(zip((constant.buffers[0].name for constant in program.constants), constants, strict=False))
        self._nests = [
            shared | more | dict(self._constants(nest, packed, starts[-2]))
            for nest, more in zip(program.regions, scratch, strict=True)
        ]

    @property
    def buffers(self) -> tuple[str, ...]:
        """What is told apart, in the order of numbers from 1."""
        return tuple(self._names)

    @property
    def buffer_shift(self) -> int:
        """The lowest bit of a touch that belongs to the buffer's number."""
        return TAG_SHIFT + 1 - self.line_shift

    def run(self, sink: Any, state: int | None) -> None:
        """Send every touch to a sink, which is called with `state`."""

        def every_region() -> None:
            for number, nest in enumerate(self.program.regions):
                self.runs(number, Runs).region(nest)

        self.stepwise(sink, state, every_region)

    def runs(self, number: int, kind: type[RunsT]) -> RunsT:
        """A walk over the region of that number."""
        lanes, every_step = self.program.dialect.lanes("float32"), self.every_step
        return kind(library(), self._nests[number], self.variables, self.program.kernels, lanes, every_step=every_step)

    def stepwise(self, sink: Any, state: int | None, step: Callable[[], object]) -> None:
        """Send to a sink what walks touch in a step."""
        with _one_at_a_time:
            library().tw_begin(ctypes.cast(sink, ctypes.c_void_p), state, self.line_shift)
            step()
            library().tw_end()

    def _words(self, words: Any) -> int:
        return evaluated(words, self.variables) * WORD_BYTES

    def _tagged(self, name: str, start: int) -> int:
        """The address of a new buffer."""
        self._names.append(name)
        return (len(self._names) << TAG_SHIFT) + start

    def _of(self, nest: Region, buffer: Buffer) -> str:
        name = buffer_name(buffer.name)
        return f"{nest.name}.{name}" if len(self.program.regions) > 1 else name

    def _constants(self, nest: Region, offsets: Mapping[BufferName, int], start: int) -> Iterator[tuple[BufferName, int]]:
        for constant in nest.constants:
            (buffer,) = constant.buffers
            yield buffer.name, self._tagged(self._of(nest, buffer), start + offsets[buffer.name])

    def _scratch(self, nest: Region, start: int) -> Iterator[tuple[BufferName, int]]:
        """The scratch of a thread: one group behind the other."""
        groups: dict[Any, int] = {}
        of = [buffer.name if buffer.reuse_group is None else buffer.reuse_group for buffer in nest.scratch]
        for buffer, group in zip(nest.scratch, of, strict=True):
            groups[group] = max(groups.get(group, 0), self._words(buffer.size_words))
        offsets = dict(zip(groups, accumulate(groups.values(), initial=start), strict=False))
        for buffer, group in zip(nest.scratch, of, strict=True):
            yield buffer.name, self._tagged(self._of(nest, buffer), offsets[group])


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL:
    """The compiled `runs.c`. Raises `ToolchainError` or `CacheError`."""
    loaded = compiled(Path(__file__).with_name("runs.c"), ("tw_begin", "tw_end", "tw_elements", "tw_product"))
    pointer = ctypes.c_void_p
    loaded.tw_begin.argtypes = (pointer, pointer, ctypes.c_long)
    loaded.tw_elements.argtypes = (pointer, pointer, ctypes.c_long)
    loaded.tw_product.argtypes = (pointer,) * 4
    for name in ("tw_begin", "tw_end", "tw_elements", "tw_product"):
        getattr(loaded, name).restype = None
    return loaded


def _size(extent: int | str, sizes: Mapping[str, int]) -> int:
    if isinstance(extent, int):
        return extent
    if extent not in sizes:
        raise TilewrightError(f"the size of {extent} is not given", hint="name it in `sizes`")
    return sizes[extent]


def _strides(slot: TensorSlot, sizes: Mapping[str, int], row_padding: int) -> list[int]:
    shape = tuple(_size(extent, sizes) for extent in slot.shape)
    return [stride for stride in dense_strides(shape, row_padding) if isinstance(stride, int)]


def _span_bytes(slot: TensorSlot, sizes: Mapping[str, int], strides: list[int]) -> int:
    last = sum((_size(extent, sizes) - 1) * stride for extent, stride in zip(slot.shape, strides, strict=True))
    return (last + 1) * element_bytes(slot.dtype)


def _places(sizes_bytes: list[int], placement: Placement) -> list[int]:
    starts = []
    cursor = placement.alignment_bytes
    for size in sizes_bytes:
        start = -(-(cursor + placement.gap_bytes) // placement.alignment_bytes) * placement.alignment_bytes
        starts.append(start)
        cursor = start + size
    assert cursor < 1 << TAG_SHIFT, cursor
    return starts
