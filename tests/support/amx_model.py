"""A Python model of AMX's tile instructions, and kernels whose instructions it executes where no machine has them.

C runs as it is emitted, and every tile instruction in it calls the model. Source: Intel 64 and IA-32 Architectures Software
Developer's Manual, volume 1, chapter 18, and the pages of LDTILECFG, TILELOADD, TILESTORED, TDPBUSD and TDPBF16PS in volume 2.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

TILES, MOST_ROWS, ROW_BYTES = 8, 16, 64
OPERANDS: Mapping[str, tuple[str, str, str]] = {
    "tdpbusd": ("uint8", "int8", "int32"),
    "tdpbsud": ("int8", "uint8", "int32"),
    "tdpbssd": ("int8", "int8", "int32"),
    "tdpbuud": ("uint8", "uint8", "int32"),
    "tdpbf16ps": ("bfloat16", "bfloat16", "float32"),
}
"""Types of the elements of a product's two operands and of its sums, by its name."""
PRODUCTS = tuple(OPERANDS)
CONFIGURE, LOAD, STORE, ZERO, RELEASE, MULTIPLY = range(6)
"""What the emitted C asks the model for; products are numbered from the last on, in the order of `OPERANDS`."""

CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_long)
PROLOGUE = "void (*tw_model)(long what, long to, long first, long second, const void *memory, long stride);\n"


class Fault(Exception):
    """An instruction that a CPU refuses (#UD, #GP), or that reads or writes outside of the arrays that it was given."""


@dataclass
class Tiles:
    """The state: a configuration, and eight tiles of up to 16 rows of 64 bytes. `arrays` are what loads and stores may touch."""

    arrays: list[Any] = field(default_factory=list)
    rows: list[int] = field(default_factory=lambda: [0] * TILES)
    row_bytes: list[int] = field(default_factory=lambda: [0] * TILES)
    data: Any = field(default_factory=lambda: np.zeros((TILES, MOST_ROWS, ROW_BYTES), np.uint8))
    is_configured: bool = False
    executed: int = 0
    fault: str = ""

    def configure(self, memory: bytes) -> None:
        """LDTILECFG of 64 bytes: palette 1, bytes of a row at 16, rows at 48. All tiles become 0."""
        palette, start, reserved = memory[0], memory[1], memory[2:16]
        sizes = np.frombuffer(memory, np.uint16, 16, 16).tolist()
        rows = list(memory[48:64])
        if palette != 1 or start or any(reserved) or any(sizes[TILES:]) or any(rows[TILES:]):
            raise Fault("palette or reserved bytes")
        for size, count in zip(sizes[:TILES], rows[:TILES], strict=True):
            if size > ROW_BYTES or count > MOST_ROWS or (size == 0) != (count == 0):
                raise Fault(f"a tile of {count} rows of {size} bytes")
        self.rows, self.row_bytes, self.is_configured = rows[:TILES], sizes[:TILES], True
        self.data[:] = 0

    def release(self) -> None:
        """TILERELEASE."""
        self.is_configured = False
        self.data[:] = 0

    def load(self, tile: int, address: int, stride: int) -> None:
        """TILELOADD: rows `stride` bytes apart; the rest of the tile becomes 0."""
        rows, size = self._size(tile)
        self.data[tile] = 0
        for row in range(rows):
            self._check(address + row * stride, size)
            self.data[tile, row, :size] = np.frombuffer(ctypes.string_at(address + row * stride, size), np.uint8)

    def store(self, tile: int, address: int, stride: int) -> None:
        """TILESTORED."""
        rows, size = self._size(tile)
        for row in range(rows):
            self._check(address + row * stride, size)
            ctypes.memmove(address + row * stride, self.data[tile, row, :size].tobytes(), size)

    def zero(self, tile: int) -> None:
        """TILEZERO."""
        self._size(tile)
        self.data[tile] = 0

    def multiply(self, name: str, to: int, first: int, second: int) -> None:
        """A product of tiles, added: of groups of 4 bytes of a row of the first with those of a column of the second."""
        (rows, size), (first_rows, first_size), (second_rows, second_size) = map(self._size, (to, first, second))
        if len({to, first, second}) < 3 or rows != first_rows or first_size != 4 * second_rows or size != second_size:
            raise Fault(f"{name} of tiles {first_rows} x {first_size} and {second_rows} x {second_size} to {rows} x {size}")
        left, right, result = (np.dtype(getattr(ml_dtypes, one, one)) for one in OPERANDS[name])
        a = self.data[first, :rows, :first_size].copy().view(left).reshape(rows, second_rows, -1)
        b = self.data[second, :second_rows, :second_size].copy().view(right).reshape(second_rows, size // 4, -1)
        sums = self.data[to, :rows, :size].copy().view(result)
        found = _whole_sums(sums, a, b) if result == np.int32 else _short_sums(sums, a, b)
        self.data[to] = 0
        self.data[to, :rows, :size] = np.ascontiguousarray(found).view(np.uint8)

    def _size(self, tile: int) -> tuple[int, int]:
        if not self.is_configured or not self.rows[tile]:
            raise Fault(f"tile {tile} is not configured")
        return self.rows[tile], self.row_bytes[tile]

    def _check(self, address: int, size: int) -> None:
        """Rows that begin in the memory of an array end there; others are on the stack."""
        for array in self.arrays:
            place = address - array.ctypes.data
            if -size <= place <= array.nbytes and not 0 <= place <= array.nbytes - size:
                raise Fault(f"{size} bytes at {place} of an array of {array.nbytes}")

    def execute(self, what: int, to: int, first: int, second: int, memory: int | None, stride: int) -> None:
        """One instruction of the emitted C; after a fault, none."""
        if self.fault:
            return
        self.executed += 1
        try:
            if what == CONFIGURE:
                self.configure(ctypes.string_at(memory or 0, 64))
            elif what == LOAD:
                self.load(to, memory or 0, stride)
            elif what == STORE:
                self.store(to, memory or 0, stride)
            elif what == ZERO:
                self.zero(to)
            elif what == RELEASE:
                self.release()
            else:
                self.multiply(PRODUCTS[what - MULTIPLY], to, first, second)
        except Fault as problem:
            self.fault = str(problem)


def _whole_sums(sums: Any, a: Any, b: Any) -> Any:
    """Of the products of groups of steps (m, groups, 4) and (groups, n, 4), which wrap."""
    return (sums + np.einsum("mkh,knh->mn", a.astype(np.int64), b.astype(np.int64))).astype(np.int32)


def _short_sums(sums: Any, a: Any, b: Any) -> Any:
    """Of (m, groups, 2) and (groups, n, 2) bfloat16: even and odd steps apart, each rounded once, then both together.

    Float64 holds a product, and a sum of one with a float32 but for what leaves the rounding to that as it is: at most 48 bits of
    numbers that differ by less than 2^29 in size, and otherwise the smaller one is below half of the last bit.
    """
    halves = np.zeros((*sums.shape, 2), np.float32)
    for k in range(a.shape[1]):
        products = flushed(a[:, None, k]).astype(np.float64) * flushed(b[None, k])
        halves = flushed((halves + products).astype(np.float32))
    return flushed(flushed(sums) + flushed(halves[..., 0] + halves[..., 1]))


def flushed(values: Any) -> Any:
    """As float32, with zeros of the same sign for denormal numbers."""
    wide = np.asarray(values).astype(np.float32)
    return np.where(np.abs(wide) < np.finfo(np.float32).smallest_normal, np.copysign(np.float32(0), wide), wide)


def with_calls(text: str) -> str:
    """The emitted C with a call of the model in place of every tile instruction, and masked moves as loops."""
    names = "|".join(PRODUCTS)
    product = rf'__asm__ volatile\("({names}) %%tmm(\d), %%tmm(\d), %%tmm(\d)" : :\);'

    def call(found: re.Match[str]) -> str:
        name, second, first, to = found.groups()
        return f"tw_model({MULTIPLY + PRODUCTS.index(name)}, {to}, {first}, {second}, 0, 0);"

    text = re.sub(product, call, text)
    moved = (
        (LOAD, r'__asm__ volatile\("tileloadd \(%0,%1,1\), %%tmm(\d)" : : "r"\((.*)\), "r"\((.*)\) : "memory"\);'),
        (STORE, r'__asm__ volatile\("tilestored %%tmm(\d), \(%0,%1,1\)" : : "r"\((.*)\), "r"\((.*)\) : "memory"\);'),
    )
    for what, pattern in moved:
        text = re.sub(pattern, rf"tw_model({what}, \1, 0, 0, \2, \3);", text)
    text = re.sub(r'__asm__ volatile\("tilezero %%tmm(\d)" : :\);', rf"tw_model({ZERO}, \1, 0, 0, 0, 0);", text)
    text = re.sub(r'__asm__ volatile\("ldtilecfg %0" : : "m"\((\w+)\)\);', rf"tw_model({CONFIGURE}, 0, 0, 0, &\1, 0);", text)
    text = text.replace('__asm__ volatile("tilerelease" : :);', f"tw_model({RELEASE}, 0, 0, 0, 0, 0);")
    masked = (
        r'__asm__\("vmovdqu\d+ %1, %0%\{%2%\}%\{z%\}" : "=v"\((\w+)\) : "m"\(\*\(const (\w+)_u \*\)\((.*)\)\), "Yk"\((\w+)\)\);'
    )
    lane = r"if ((unsigned long)\4 >> lane & 1) \1[lane] = (*(const \2_u *)(\3))[lane];"
    text = re.sub(masked, rf"\1 = (\2){{0}}; for (int lane = 0; lane < (int)(sizeof(\1) / sizeof(\1[0])); lane++) {lane}", text)
    left = re.search(r'__asm__ *(volatile)?\((?!"" )[^;]*', text)
    assert left is None, f"an instruction that the model does not know: {left and left.group()}"
    return PROLOGUE + text


def built(text: str, name: str, directory: Path) -> Callable[..., Tiles]:
    """A kernel whose tile instructions a new model executes at every call: it takes arrays and strides as the ABI has them."""
    source, library = directory / f"{name}.c", directory / f"{name}.so"
    source.write_text(with_calls(text))
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-w", str(source), "-o", str(library)], check=True)
    loaded = ctypes.CDLL(str(library))

    def run(*arguments: Any) -> Tiles:
        tiles = Tiles([one for one in arguments if isinstance(one, np.ndarray)])
        kept = CALLBACK(tiles.execute)
        ctypes.c_void_p.in_dll(loaded, "tw_model").value = ctypes.cast(kept, ctypes.c_void_p).value
        given = [ctypes.c_void_p(one.ctypes.data) if isinstance(one, np.ndarray) else ctypes.c_long(one) for one in arguments]
        getattr(loaded, name)(*given)
        return tiles

    return run
