"""The machine code of every declared tile: no vector goes through the stack inside a loop over K, and prefetches are there."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import pytest

from tests.support.kernel_build import COMPILERS, build, command
from tilewright.kernels import KernelSource, MicroKernel, SourceKind, registered

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


def full_tile(kernel: MicroKernel, compiler: str) -> Code:
    """The function of the whole tile."""
    vectors = -(-kernel.columns // kernel.lanes)
    source = kernel.emit("product", frozenset({(kernel.rows, vectors)}))
    library = build([source], kernel.features, compiler, ("-fvisibility=default",))
    return function(str(library), f"product_{kernel.rows}x{vectors}")


def function(library: str, name: str) -> Code:
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", library], capture_output=True, text=True, check=True).stdout
    text = re.search(rf"<{name}>:\n(.*?)(?:\n\n|\Z)", listing, re.DOTALL)
    assert text is not None, f"no function {name}"
    return Code(tuple((int(address, 16), code) for address, code in INSTRUCTION.findall(text[1])))


def _cases() -> list[object]:
    cases = []
    for kernel, compiler in product(registered(), COMPILERS):
        missing = shutil.which("objdump") is None or command(compiler) is None
        marks = pytest.mark.skipif(missing, reason=f"objdump or {compiler} is missing")
        cases.append(pytest.param(kernel, compiler, marks=marks, id=f"{kernel.name}-{compiler}"))
    return cases


@pytest.mark.parametrize(("kernel", "compiler"), _cases())
def test_no_vector_goes_through_the_stack_and_prefetches_are_there(kernel: MicroKernel, compiler: str) -> None:
    code = full_tile(kernel, compiler)
    loops = code.loops()
    assert loops
    assert [text for body in loops for text in body if VECTOR_ON_STACK.search(text)] == []
    inside = max(sum(text.startswith("prefetch") for text in body) for body in loops)
    places = kernel.rows * kernel.columns // kernel.lanes
    assert code.count("prefetch") >= places * ("target" in kernel.prefetch) + inside
    assert (inside > 0) == bool({"left", "right"} & set(kernel.prefetch))
    assert (code.count("prefetch") > 0) == bool(kernel.prefetch)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_kernel_that_spills_is_found(compiler: str) -> None:
    if shutil.which("objdump") is None or command(compiler) is None:
        pytest.skip(f"objdump or {compiler} is missing")
    sums = [f"s{i}" for i in range(40)]
    lines = ["typedef float v4 __attribute__((vector_size(16)));", "void product(long k, const v4 *a, v4 *c) {"]
    lines += [f"  v4 {s} = c[{i}];" for i, s in enumerate(sums)]
    lines += ["  for (long p = 0; p < k; p++) {", *(f"    {s} += a[p] * a[p + {i}];" for i, s in enumerate(sums)), "  }"]
    lines += [*(f"  c[{i}] = {s};" for i, s in enumerate(sums)), "}", ""]
    library = build([KernelSource(SourceKind.C, "\n".join(lines))], frozenset(), compiler, ("-fvisibility=default",))
    loops = function(str(library), "product").loops()
    assert any(VECTOR_ON_STACK.search(text) for body in loops for text in body)
