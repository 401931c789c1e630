"""The machine code of every declared tile: no vector goes through the stack inside a loop over K, and prefetches are there."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from tests.support.chains import artifact_of, chain, contraction, hand_plan
from tests.support.kernel_build import COMPILERS, build, command
from tilewright.kernels import KernelSource, MicroKernel, SourceKind, dialect_for, registered
from tilewright.kernels.outer_product import outer_product_kernel
from tilewright.machine import Machine
from tilewright.plan.schedule import Compute, Layout, Pack, Schedule

FEATURES = (frozenset(), frozenset({"avx2", "fma"}), frozenset({"avx512f"}))
"""One set for every dialect."""
MACHINES = {128: "x86-64-v2", 256: "x86-64-v3", 512: "x86-64-v4"}
INSTRUCTION = re.compile(r"^\s+([0-9a-f]+):\s+(.*)$", re.MULTILINE)
JUMP = re.compile(r"j[a-z]+\s+([0-9a-f]+)")
ARITHMETIC = re.compile(r"v?(fmadd|mulps|addps)")
VECTOR_ON_STACK = re.compile(r"[xyz]mm.*\(%rsp|\(%rsp.*[xyz]mm|-0x[0-9a-f]+\(%rbp.*[xyz]mm|[xyz]mm.*-0x[0-9a-f]+\(%rbp")


@dataclass(frozen=True)
class Code:
    """The instructions of one function."""

    instructions: tuple[tuple[int, str], ...]

    def loops(self) -> list[list[str]]:
        """The bodies of loops with arithmetic: from the target of a jump backwards to the jump, blocks out of line included."""
        spans: list[tuple[int, int]] = []
        for low, high in sorted(self._backwards()):
            if spans and low <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(high, spans[-1][1]))
            else:
                spans.append((low, high))
        bodies = [[text for address, text in self.instructions if low <= address <= high] for low, high in spans]
        return [body for body in bodies if any(ARITHMETIC.match(text) for text in body)]

    def _backwards(self) -> Iterator[tuple[int, int]]:
        for address, text in self.instructions:
            jump = JUMP.match(text)
            if jump and self.instructions[0][0] <= int(jump[1], 16) < address:
                yield int(jump[1], 16), address

    def count(self, word: str) -> int:
        return sum(text.startswith(word) for _, text in self.instructions)


def full_tiles(kernel: MicroKernel, compiler: str) -> dict[str, Code]:
    """The functions of the whole tile and of tall ones: with whole vectors, and with a last one in part."""
    vectors = -(-kernel.columns // kernel.lanes)
    least = 1 if kernel.shares_accumulators else vectors
    shapes = {(kernel.rows_for(v * kernel.lanes), v) for v in range(least, vectors + 1)}
    found = functions(build([kernel.emit("product", frozenset(shapes))], kernel.features, compiler, ("-fvisibility=default",)))
    names = (f"product_{rows}x{v}" for rows, v in shapes)
    return {own: found[own] for name in names for own in (name, f"{name}_edge") if own in found}


def functions(library: Path) -> dict[str, Code]:
    """Every function of a library; copies that a compiler made for constants are called after the first part of their names."""
    command = ["objdump", "-d", "--no-show-raw-insn", str(library)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    texts = re.findall(r"<([\w.]+)>:\n(.*?)(?:\n\n|\Z)", listing, re.DOTALL)
    return {name: Code(tuple((int(address, 16), code) for address, code in INSTRUCTION.findall(text))) for name, text in texts}


def spilled(codes: Iterable[Code]) -> list[str]:
    """The instructions inside loops with arithmetic that move a vector to or from the stack."""
    return [text for code in codes for body in code.loops() for text in body if VECTOR_ON_STACK.search(text)]


def _cases(kernels: Iterable[MicroKernel]) -> list[object]:
    cases = []
    for kernel, compiler in product(kernels, COMPILERS):
        missing = shutil.which("objdump") is None or command(compiler) is None
        marks = pytest.mark.skipif(missing, reason=f"objdump or {compiler} is missing")
        cases.append(pytest.param(kernel, compiler, marks=marks, id=f"{kernel.name}-{compiler}"))
    return cases


@pytest.mark.parametrize(("kernel", "compiler"), _cases(registered()))
def test_no_vector_goes_through_the_stack_and_prefetches_are_there(kernel: MicroKernel, compiler: str) -> None:
    codes = full_tiles(kernel, compiler)
    assert codes
    assert all(code.loops() for code in codes.values())
    assert spilled(codes.values()) == []
    for code in codes.values():
        inside = max(sum(text.startswith("prefetch") for text in body) for body in code.loops())
        places = kernel.rows * kernel.columns // kernel.lanes
        assert code.count("prefetch") >= places * ("target" in kernel.prefetch) + inside
        assert (inside > 0) == bool({"left", "right"} & set(kernel.prefetch))
        assert (code.count("prefetch") > 0) == bool(kernel.prefetch)


@pytest.mark.parametrize(("kernel", "compiler"), _cases(registered()))
def test_no_vector_goes_through_the_stack_in_generated_code(kernel: MicroKernel, compiler: str) -> None:
    """There, constants are known and functions are inlined, so that registers are allocated anew."""
    extents = {"m": 2 * kernel.rows + 1, "n": 2 * kernel.columns + 3, "k": 70}
    operator = contraction("product", "a:mk", "b:kn", "c:mn", extents)
    schedule = Schedule((Pack("product", 1, Layout.PANELS, kernel.columns), Compute("product")))
    machine = Machine.named(MACHINES[kernel.vector_bits])
    artifact = artifact_of([hand_plan(chain("product", [operator], extents), schedule, machine, kernel)])
    sources = [KernelSource(SourceKind.C, artifact.text), *artifact.linked]
    found = functions(build(sources, artifact.features, compiler))
    assert any(code.loops() for code in found.values())
    assert spilled(found.values()) == []


TOO_LARGE = tuple(
    outer_product_kernel(dialect, dialect.registers // 2, 2, peak_share=0.5, prefetch=prefetch)
    for dialect in (dialect_for("x86_64", features) for features in FEATURES)
    for prefetch in ((), ("left", "target"), ("right",))
)
"""As many accumulators as there are registers."""


@pytest.mark.parametrize(("kernel", "compiler"), _cases(TOO_LARGE))
def test_a_tile_with_too_many_accumulators_is_found(kernel: MicroKernel, compiler: str) -> None:
    whole = f"product_{kernel.rows}x{kernel.columns // kernel.lanes}"
    codes = full_tiles(kernel, compiler)
    assert all(spilled([codes[name]]) for name in (whole, f"{whole}_edge"))
