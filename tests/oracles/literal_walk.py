"""The line accesses of a fused GEMM chain, written down loop by loop: what the generated code does, without generating any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tilewright.kernels.contract import MicroKernel

LINE_BYTES = 64
LANES = 16
FLOAT_BYTES = 4
Touch = tuple[str, int, bool]
"""Buffer, line, whether it is written."""


@dataclass
class Walker:
    """Records touches; `starts` are the addresses of the buffers."""

    starts: Mapping[str, int]
    touches: list[Touch] = field(default_factory=list)

    def touch(self, buffer: str, element: int, count: int = 1, *, write: bool = False) -> None:
        first = self.starts[buffer] + element * FLOAT_BYTES
        for line in range(first // LINE_BYTES, (first + count * FLOAT_BYTES - 1) // LINE_BYTES + 1):
            last = self.touches[-1] if self.touches else None
            if last is None or last[:2] != (buffer, line) or (write and not last[2]):
                self.touches.append((buffer, line, write))

    def pack_panels(
        self, target: str, source: str, origin: int, row: int, rows: int, columns: int, width: int, panel: int
    ) -> None:
        for number, j in enumerate(range(0, columns, width)):
            for p in range(rows):
                for i in range(0, width, LANES):
                    lanes = min(columns - j - i, LANES)
                    if lanes > 0:
                        self.touch(source, origin + p * row + j + i, lanes)
                    self.touch(target, number * panel + p * width + i, LANES, write=True)

    def micro_tile(self, k: int, a: Operand, b: Operand, c: Operand, m: int, n: int, *, accumulate: bool) -> None:
        seen: dict[int, int] = {}
        for p in range(k):
            self.touch(b.buffer, b.origin + p * b.row, n)
            for i in range(m):
                element = a.origin + i * a.row + p
                line = (self.starts[a.buffer] + element * FLOAT_BYTES) // LINE_BYTES
                if seen.get(i) != line:
                    seen[i] = line
                    self.touch(a.buffer, element)
        for write in (False, True)[0 if accumulate else 1 :]:
            for i in range(m):
                self.touch(c.buffer, c.origin + i * c.row, n, write=write)


@dataclass(frozen=True)
class Operand:
    """Where a tile starts, and the elements between its rows."""

    buffer: str
    origin: int
    row: int


def blocks(extent: int, tile: int) -> Iterator[tuple[int, int]]:
    """(start, size) of every block."""
    return ((start, min(tile, extent - start)) for start in range(0, extent, tile))


def fused_chain(
    walker: Walker, extents: Mapping[str, int], tiles: Mapping[str, int], kernel: MicroKernel, c_row: int, d_panel: int
) -> None:
    """Order m, l; then k with C = A B, B in place, then n with E += C D, D's tile in panels. Dense arguments."""
    m_size, n_size, k_size, l_size = (extents[axis] for axis in "mnkl")
    columns = kernel.columns
    for m, m_block in blocks(m_size, tiles["m"]):
        for length, l_block in blocks(l_size, tiles["l"]):
            for k, k_block in blocks(k_size, tiles["k"]):
                for j, width in blocks(l_block, columns):
                    for i, height in blocks(m_block, kernel.rows_for(width)):
                        a = Operand("A", (m + i) * k_size + k, k_size)
                        b = Operand("B", k * l_size + length + j, l_size)
                        c = Operand("C", i * c_row + j, c_row)
                        walker.micro_tile(k_block, a, b, c, height, width, accumulate=k > 0)
            for n, n_block in blocks(n_size, tiles["n"]):
                walker.pack_panels("packed_D", "D", length * n_size + n, n_size, l_block, n_block, columns, d_panel)
                for number, (j, width) in enumerate(blocks(n_block, columns)):
                    for i, height in blocks(m_block, kernel.rows_for(width)):
                        a = Operand("C", i * c_row, c_row)
                        b = Operand("packed_D", number * d_panel, columns)
                        e = Operand("E", (m + i) * n_size + n + j, n_size)
                        walker.micro_tile(l_block, a, b, e, height, width, accumulate=length > 0)
