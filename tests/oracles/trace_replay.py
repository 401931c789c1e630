"""Replay the memory accesses of a lowered program: into simulated caches, or into a list.

Nothing is computed and no tensor is allocated: tensors, workspace and scratch are places in an address space that only the trace
knows (see `memory_trace.emit_trace`).
"""

from __future__ import annotations

import ctypes
import platform
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.oracles.cache_simulator import LINE_BITS, CacheLevel, Simulation, SimulationResult, Touches
from tests.oracles.memory_trace import TAG_SHIFT, Trace, emit_trace, tag
from tilewright.artifact import TensorSlot
from tilewright.errors import TilewrightError
from tilewright.graph.types import element_bytes
from tilewright.lower.storage import dense_strides
from tilewright.render.c.program import Program
from tilewright.runtime.compilation import libraries, toolchain
from tilewright.runtime.launcher import longs

SINK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long)
_one_at_a_time = threading.Lock()
"""Traces keep their buffer of touches in static memory, and one library may be loaded twice."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a replayed program's memory lies: arguments one after the other, then the workspace, packed constants, the scratch.

    Each starts at the next multiple of `alignment_bytes` after a gap of `gap_bytes`. Arguments are row-major, and their rows are
    `row_padding` elements longer than their last dimension.
    """

    alignment_bytes: int = 4096
    gap_bytes: int = 0
    row_padding: int = 0


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

    `sizes` gives values to symbolic extents. With `flush`, what is dirty at the end is written back. `every_step`: see
    `memory_trace.emit_trace`. Buffers are named as in `Trace.buffers`. Raises `ToolchainError` without a working C compiler.
    """
    replay = Replay(program, levels[0].line_bytes, sizes or {}, placement or Placement(), every_step)
    simulation = Simulation(levels, replay.trace.buffers, replay.trace.buffer_shift, first_buffer=1)
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
    words, shift = np.concatenate(parts), replay.trace.buffer_shift
    lines = (words >> 1) & ((1 << (shift - 1)) - 1)
    assert int(lines.max(initial=0)) < 1 << LINE_BITS
    return Touches(lines, (words & 1).astype(np.bool_), (words >> shift) - 1, replay.trace.buffers)


class Replay:
    """A trace, compiled, with all that it is called with. `places` says where every argument lies."""

    def __init__(
        self, program: Program, line_bytes: int, sizes: Mapping[str, int], placement: Placement, every_step: bool
    ) -> None:
        self.trace = emit_trace(program, line_bytes=line_bytes, every_step=every_step)
        self._library = _compiled(self.trace)
        signature = self.trace.signature
        slots = (*signature.inputs, *signature.outputs)
        strides = [_strides(slot, sizes, placement.row_padding) for slot in slots]
        symbols = [_size(symbol.name, sizes) for symbol in signature.symbols]
        self._sizes = longs([*symbols, *(stride for tensor_strides in strides for stride in tensor_strides)])
        workspace_bytes = self._library.tilewright_run_workspace_bytes(self._sizes)
        spans = [_span_bytes(slot, sizes, tensor_strides) for slot, tensor_strides in zip(slots, strides, strict=True)]
        starts = _places([*spans, workspace_bytes, self.trace.constant_bytes, 0], placement)
        self.places = {slot.name: Address(start, size) for slot, start, size in zip(slots, starts, spans, strict=False)}
        self._tensors = longs([tag(number) + start for number, start in enumerate(starts[:-3], start=1)])
        self._plain = starts[-3:]

    def run(self, sink: Any, state: int | None) -> None:
        """Send every touch to a sink, which is called with `state`."""
        with _one_at_a_time:
            self._library.tw_trace(sink, state, self._tensors, self._sizes, *self._plain)


def _compiled(trace: Trace) -> ctypes.CDLL:
    """Traces are many and used once, so they are not kept in the kernel cache."""
    content = toolchain.find().compile(trace.text, architecture=platform.machine())
    with tempfile.TemporaryDirectory(prefix="tilewright-trace-") as directory:
        path = Path(directory, "trace.so")
        path.write_bytes(content)
        loaded = libraries.load(path, ctypes.CDLL)
    pointer = ctypes.c_void_p
    loaded.tw_trace.argtypes = (SINK, *[pointer] * 6)
    loaded.tw_trace.restype = None
    loaded.tilewright_run_workspace_bytes.argtypes = (pointer,)
    loaded.tilewright_run_workspace_bytes.restype = ctypes.c_long
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
    assert cursor < 1 << TAG_SHIFT
    return starts
