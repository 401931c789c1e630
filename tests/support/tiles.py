"""Tile programs run in several ways on equal arrays, which end or begin at pages that fault: all leave the same bits.

A `Rendering` makes functions of many programs at once, since what takes a compiler longest is to start. The interpreter is the
oracle; NaN is equal to NaN, as payloads and signs of NaN are anything.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tests.support.guarded import GuardedMemory, in_child
from tests.support.kernel_build import EXPORT, build
from tests.support.targets import executable_features
from tilewright.errors import UnsupportedOperation
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.render.assembly.function import assembly, unit
from tilewright.render.c.tiles.rendering import TileTexts
from tilewright.tile.dialects.description import Dialect
from tilewright.tile.dialects.registry import dialects
from tilewright.tile.interpreter import Interpreted, interpret
from tilewright.tile.lanes import storage
from tilewright.tile.passes.legalise import legalise
from tilewright.tile.printer import printed
from tilewright.tile.program import Argument, Buffer, Parameter, TileProgram
from tilewright.tile.rounding import Array, from_bfloat16
from tilewright.tile.types import FLOATS
from tilewright.tile.verifier import verify

Function = Callable[..., None]
"""A program, to be called with an array for each buffer, an int for each integer, and an array of one element for each scalar."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A program, and what it is called with."""

    program: TileProgram
    arguments: tuple[Array | int, ...]
    seed: int = 0


class Rendering(Protocol):
    """A way to run programs."""

    @property
    def name(self) -> str:
        """For messages."""

    @property
    def fuses(self) -> bool:
        """Whether a `MULTIPLY_ADD` rounds once."""

    def functions(self, programs: Sequence[TileProgram]) -> Sequence[Function]:
        """One for each program; these have different names."""


@dataclass(frozen=True, slots=True)
class Legalised:
    """The interpreter, of what legalisation makes of programs for a dialect."""

    dialect: Dialect

    @property
    def name(self) -> str:
        return f"legalised-{self.dialect.name}"

    @property
    def fuses(self) -> bool:
        return self.dialect.fuses

    def functions(self, programs: Sequence[TileProgram]) -> Sequence[Function]:
        return [Interpreted(verify(legalise(one, self.dialect)), fuses=self.fuses) for one in programs]


UNUSED = (
    *("-Wno-unused", "-Wno-tautological-compare", "-Wno-div-by-zero", "-Wno-parentheses", "-Wno-type-limits"),
    *("-Wno-unused-parameter", "-Wno-self-assign", "-Wno-constant-logical-operand"),
)
"""Of what random programs do, compilers warn rightly."""


@dataclass(frozen=True, slots=True)
class InC:
    """C for a dialect, compiled as a file of many functions."""

    dialect: Dialect
    compiler: str = "gcc"

    @property
    def name(self) -> str:
        return f"{self.compiler}-{self.dialect.name}"

    @property
    def fuses(self) -> bool:
        return self.dialect.fuses

    def functions(self, programs: Sequence[TileProgram]) -> Sequence[Function]:
        texts = TileTexts(self.dialect)
        bodies = [texts.function(one, f"{EXPORT} ") for one in programs]
        source = KernelSource(SourceKind.C, "\n".join([texts.definitions(), *bodies]))
        path = build([source], self.dialect.features, self.compiler, UNUSED)
        library = ctypes.CDLL(str(path))
        path.unlink(missing_ok=True)
        return [_called(one, library) for one in programs]


@dataclass(frozen=True, slots=True)
class InAssembly:
    """Assembly for a dialect, of what `assembles` finds."""

    dialect: Dialect

    @property
    def name(self) -> str:
        return f"as-{self.dialect.name}"

    @property
    def fuses(self) -> bool:
        return self.dialect.fuses

    def assembles(self, program: TileProgram) -> bool:
        """Whether the program is rendered."""
        try:
            assembly(legalise(program, self.dialect), self.dialect, program.name)
        except UnsupportedOperation:
            return False
        return True

    def functions(self, programs: Sequence[TileProgram]) -> Sequence[Function]:
        texts = [assembly(legalise(one, self.dialect), self.dialect, one.name) for one in programs]
        source = KernelSource(SourceKind.ASSEMBLY, unit(texts).replace("\t.hidden", "\t.protected"))
        path = build([source], self.dialect.features, "gcc")
        library = ctypes.CDLL(str(path))
        path.unlink(missing_ok=True)
        return [_called(one, library) for one in programs]


def _called(program: TileProgram, library: ctypes.CDLL) -> Function:
    """A function of a library, with the types of its parameters."""
    function = library[program.name]
    function.argtypes, function.restype = [_c_type(one) for one in program.parameters], None

    def run(*arguments: Array | int) -> None:
        function(*[_c_value(*pair) for pair in zip(program.parameters, arguments, strict=True)])

    return run


def _c_type(parameter: Parameter) -> type[ctypes._SimpleCData[Any]]:
    if isinstance(parameter, Argument):
        found: type[ctypes._SimpleCData[Any]] = np.ctypeslib.as_ctypes_type(storage(parameter.type.dtype))
        return found
    return ctypes.c_void_p if isinstance(parameter, Buffer) else ctypes.c_long


def _c_value(parameter: Parameter, argument: Array | int) -> Any:
    if not isinstance(argument, np.ndarray):
        return argument
    return argument.item() if isinstance(parameter, Argument) else argument.ctypes.data


def here() -> list[Dialect]:
    """The dialects that this machine runs."""
    features = executable_features()
    return [one for one in dialects().values() if one.runs_on(platform.machine(), features)]


def check(cases: Sequence[Case], rendering: Rendering) -> None:
    """Assert that a rendering of each program leaves what the interpreter does."""
    found = differences(cases, rendering)
    assert not found, "\n\n".join([f"{len(found)} of {len(cases)} differ", *found[:3]])


def differences(cases: Sequence[Case], rendering: Rendering) -> list[str]:
    """A text for each case in which something differs. Programs run in a child process, which may crash."""
    for one in cases:
        verify(one.program)
    functions = rendering.functions([one.program for one in cases])
    progress, found = mmap.mmap(-1, 8), mmap.mmap(-1, 1 << 20)

    def compare() -> None:
        for number, (one, function) in enumerate(zip(cases, functions, strict=True)):
            progress[:8] = number.to_bytes(8, "little")
            if text := difference(one, function, rendering):
                found.write(f"{text}\0".encode()[: len(found) - found.tell()])

    try:
        in_child(compare)
    except AssertionError as problem:
        at = cases[int.from_bytes(progress[:8], "little")]
        return [*_texts(found), _told(at, rendering, str(problem))]
    return _texts(found)


def _texts(found: mmap.mmap) -> list[str]:
    return [text for text in found[:].decode(errors="replace").split("\0") if text]


def _told(case: Case, rendering: Rendering, problem: str) -> str:
    return f"seed {case.seed} by {rendering.name}: {problem}\n{printed(case.program)}"


def difference(case: Case, function: Function, rendering: Rendering) -> str:
    """What a call leaves otherwise than the interpreter, with arrays at the end of their pages and at the beginning."""
    wanted = [one.copy() if isinstance(one, np.ndarray) else one for one in case.arguments]
    interpret(case.program, *wanted, fuses=rendering.fuses)
    for at_end in (True, False):
        given = [_guarded(one, at_end=at_end) if isinstance(one, np.ndarray) else one for one in case.arguments]
        function(*given)
        for parameter, want, got in zip(case.program.parameters, wanted, given, strict=True):
            if isinstance(parameter, Buffer) and (text := unequal(parameter.dtype, want, got)):
                return _told(case, rendering, f"{parameter.name} {text}")
    return ""


def _guarded(array: Array, *, at_end: bool) -> Array:
    """A copy that lies at a page which may not be touched."""
    copy = GuardedMemory(array.nbytes).place(array.size, at_end=at_end, dtype=array.dtype)
    copy[...] = array
    return copy


def unequal(dtype: str, want: Array, got: Array) -> str:
    """Where two arrays have other bits."""
    bits = f"uint{storage(dtype).itemsize * 8}"
    differs = want.view(bits) != got.view(bits)
    if dtype in FLOATS:
        differs &= ~(np.isnan(_numbers(dtype, want)) & np.isnan(_numbers(dtype, got)))
    if not differs.any():
        return ""
    at = np.flatnonzero(differs)
    first = int(at[0])
    values = [f"{_numbers(dtype, one)[first]!r} ({one.view(bits)[first]:#x})" for one in (got, want)]
    return f"[{first}] is {values[0]}, not {values[1]}; {at.size} of {want.size} elements differ"


def _numbers(dtype: str, array: Array) -> Array:
    return from_bfloat16(array) if dtype == "bfloat16" else array
