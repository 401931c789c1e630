"""The machine code of every declared tile: no vector goes through the stack inside a loop over K, and prefetches are there."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
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
PRODUCT = re.compile(r"v?(fmadd|mulps)")
VECTOR_ON_STACK = re.compile(r"[xyz]mm.*\(%rsp|\(%rsp.*[xyz]mm|-0x[0-9a-f]+\(%rbp.*[xyz]mm|[xyz]mm.*-0x[0-9a-f]+\(%rbp")


@dataclass(frozen=True)
class Code:
    """The instructions of one function."""

    instructions: tuple[tuple[int, str], ...]

    def loops(self) -> list[list[str]]:
        """The instructions of every loop with products, an outermost one with all that is inside: cycles of the control flow."""
        return self._texts(cycles(self._successors()))

    def innermost(self) -> list[list[str]]:
        """Those of the loops with products that hold no other such loop: without its first instruction it is none any more."""
        found, rest = [], cycles(self._successors())
        while rest:
            cycle = rest.pop()
            inside = [one for one in cycles(self._successors(), cycle - {min(cycle)}) if self._texts([one])]
            rest += inside
            found += [] if inside else [cycle]
        return self._texts(found)

    def _texts(self, cycles: Iterable[set[int]]) -> list[list[str]]:
        bodies = [[self.instructions[position][1] for position in sorted(cycle)] for cycle in cycles]
        return [body for body in bodies if any(PRODUCT.match(text) for text in body)]

    def _successors(self) -> list[list[int]]:
        """By position: the positions that may be executed next."""
        positions = {address: position for position, (address, _) in enumerate(self.instructions)}
        found = []
        for position, (_, text) in enumerate(self.instructions):
            jump = JUMP.match(text)
            target = positions.get(int(jump[1], 16)) if jump else None
            falls_through = not text.startswith(("jmp", "ret", "ud2")) and position + 1 < len(positions)
            found.append(([position + 1] if falls_through else []) + ([target] if target is not None else []))
        return found

    def count(self, word: str) -> int:
        return sum(text.startswith(word) for _, text in self.instructions)


def cycles(successors: list[list[int]], among: Collection[int] | None = None) -> list[set[int]]:
    """The sets of nodes (of those `among`) in which each reaches each, by the obvious way: who reaches whom, as bits."""
    nodes = range(len(successors)) if among is None else sorted(among)
    following = {node: [other for other in successors[node] if among is None or other in among] for node in nodes}
    reached = {node: sum(1 << other for other in set(others)) for node, others in following.items()}
    changed = True
    while changed:
        before = dict(reached)
        for node in reversed(nodes):
            for other in following[node]:
                reached[node] |= reached[other]
        changed = reached != before
    together: dict[int, set[int]] = {}
    for node in (node for node in nodes if reached[node] >> node & 1):
        together.setdefault(reached[node], set()).add(node)
    return list(together.values())


def full_tiles(kernel: MicroKernel, compiler: str) -> dict[tuple[int, int], Code]:
    """The functions of the whole tile and of tall ones, by (rows, vectors)."""
    vectors = -(-kernel.columns // kernel.lanes)
    least = 1 if kernel.shares_accumulators else vectors
    shapes = {(kernel.rows_for(v * kernel.lanes), v) for v in range(least, vectors + 1)}
    found = functions(build([kernel.emit("product", frozenset(shapes))], kernel.features, compiler, ("-fvisibility=default",)))
    return {(rows, v): found[f"product_{rows}x{v}"] for rows, v in shapes}


def functions(library: Path) -> dict[str, Code]:
    """Every function of a library, by name."""
    command = ["objdump", "-d", "--no-show-raw-insn", str(library)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    texts = re.findall(r"<([\w.]+)>:\n(.*?)(?:\n\n|\Z)", listing, re.DOTALL)
    return {name: Code(tuple((int(address, 16), code) for address, code in INSTRUCTION.findall(text))) for name, text in texts}


def spilled(bodies: Iterable[list[str]]) -> list[str]:
    """The instructions that move a vector to or from the stack."""
    return [text for body in bodies for text in body if VECTOR_ON_STACK.search(text)]


def _cases(kernels: Iterable[MicroKernel]) -> list[object]:
    cases = []
    for kernel, compiler in product(kernels, COMPILERS):
        missing = shutil.which("objdump") is None or command(compiler) is None
        marks = pytest.mark.skipif(missing, reason=f"objdump or {compiler} is missing")
        cases.append(pytest.param(kernel, compiler, marks=marks, id=f"{kernel.name}-{compiler}"))
    return cases


@pytest.mark.parametrize(("kernel", "compiler"), _cases(registered()))
def test_no_vector_goes_through_the_stack_and_prefetches_are_there(kernel: MicroKernel, compiler: str) -> None:
    for (rows, vectors), code in full_tiles(kernel, compiler).items():
        loops = code.loops()
        assert loops
        assert spilled(loops) == []
        inside = max(sum(text.startswith("prefetch") for text in body) for body in loops)
        assert code.count("prefetch") >= rows * vectors * ("target" in kernel.prefetch) + inside
        assert (inside > 0) == bool({"left", "right"} & set(kernel.prefetch))
        assert (code.count("prefetch") > 0) == bool(kernel.prefetch)


WITHOUT_PREFETCH = tuple(kernel for kernel in registered() if not kernel.prefetch and kernel.columns >= kernel.lanes)


@pytest.mark.parametrize(("kernel", "compiler"), _cases(WITHOUT_PREFETCH))
def test_no_vector_goes_through_the_stack_in_generated_code(kernel: MicroKernel, compiler: str) -> None:
    """There, constants are known and functions are inlined, so that registers are allocated anew."""
    extents = {"m": 2 * kernel.rows, "n": 2 * kernel.columns, "k": 70}
    operator = contraction("product", "a:mk", "b:kn", "c:mn", extents)
    schedule = Schedule((Pack("product", 1, Layout.PANELS, kernel.columns), Compute("product")))
    machine = replace(Machine.named(MACHINES[kernel.vector_bits]), features=kernel.features)
    artifact = artifact_of([hand_plan(chain("product", [operator], extents), schedule, machine, kernel)])
    source = KernelSource(SourceKind.C, artifact.text)
    found = functions(build([source], artifact.features, compiler, ("-Wno-unused-parameter", "-Wno-missing-field-initializers")))
    loops = [body for code in found.values() for body in code.innermost()]
    assert loops
    assert spilled(loops) == []


TOO_LARGE = tuple(
    outer_product_kernel(dialect, dialect.registers, 2, peak_share=0.5, prefetch=prefetch)
    for dialect in (dialect_for("x86_64", features) for features in FEATURES)
    for prefetch in ((), ("left", "target"), ("right",))
)
"""Twice as many accumulators as there are registers."""


@pytest.mark.parametrize(("kernel", "compiler"), _cases(TOO_LARGE))
def test_a_tile_with_too_many_accumulators_is_found(kernel: MicroKernel, compiler: str) -> None:
    code = full_tiles(kernel, compiler)[kernel.rows, kernel.columns // kernel.lanes]
    assert spilled(code.loops())
    assert spilled(code.innermost())


def test_code_out_of_line_is_no_loop() -> None:
    texts = ["je 30", "vfmadd231ps", "jne 10", "ret", "vmovups %zmm1,(%rsp)", "jmp 10"]
    code = Code(tuple(zip((0, 0x10, 0x18, 0x20, 0x30, 0x38), texts, strict=True)))
    assert code.loops() == code.innermost() == [["vfmadd231ps", "jne 10"]]
