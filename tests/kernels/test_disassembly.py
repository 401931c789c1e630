"""The machine code of every declared tile: no vector goes through the stack inside a loop over K, and prefetches are there."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import pytest

from tests.plan.cases import typed
from tests.support.chains import artifact_of, chain, hand_plan
from tests.support.emulated import is_foreign
from tests.support.kernel_build import COMPILERS, build, command
from tests.support.operators import contraction, mapping
from tilewright.graph.expressions.scalar import Literal, Load, apply
from tilewright.graph.types import Operator
from tilewright.kernels import KernelSource, MicroKernel, SourceKind, dialect_for, registered
from tilewright.kernels.f32.outer_product import outer_product_kernel
from tilewright.machine import Machine
from tilewright.plan.layout import panels
from tilewright.plan.schedule import Compute, Pack, Schedule
from tilewright.plan.types import Plan

FEATURES = (frozenset(), frozenset({"avx2", "fma"}), frozenset({"avx512f"}))
"""One set for every dialect."""
MACHINES = {128: "x86-64-v2", 256: "x86-64-v2", 512: "x86-64-v4"}
"""By vector width; they get the features of the kernel besides."""
INSTRUCTION = re.compile(r"^\s+([0-9a-f]+):\s+(.*)$", re.MULTILINE)
JUMP = re.compile(r"j[a-z]+\s+([0-9a-f]+)")
LEAVES = re.compile(r"(notrack )?jmp|ret|ud2")
ARITHMETIC = re.compile(r"(\{vex\} )?v?(fmadd|mulp[sd]|addp[sd]|pmaddwd|pmull[dq]|pmuludq|pdpwssd|pdpbusd|dpbf16ps)")
WIDE = re.compile(r"(?!(v?mov|vpbroadcast)[dq]\s).*[xyz]mm")
"""What handles a vector: movd and movq carry general registers, which GCC keeps in vector registers where some are free.

So do broadcasts of words from the stack: assembled tiles gather in general registers what lies apart.
"""
ON_STACK = re.compile(r"\(%rsp|-0x[0-9a-f]+\(%rbp")
BELOW_POINTER = re.compile(r"\(%rsp")
PLAIN_FLAGS = ("-O2", "-fvisibility=default", "-fno-jump-tables", "-Wno-unused-parameter", "-Wno-unused-variable")
FLAGS = {"gcc": (*PLAIN_FLAGS, "-fmove-loop-invariants"), "zig": PLAIN_FLAGS}
"""At the level of GCC that takes what does not change out of loops: what is asked is whether a tile fits into the registers."""
MASKS_IN_MEMORY = frozenset({"avx"})
"""Without FMA a product takes the register that the mask of a last vector in part would stay in."""
GATHERED = re.compile(r"mov[sz][bw]l\s.*\(")
ASKS_FOR_TARGET = re.compile(r"matmul_avx2_f32_\d+x\d+$")
"""Kernels that ask for C of long sums (`tile.products.tile.TARGET_STEPS`)."""
STORE = re.compile(r".*[xyz]mm\d+,[^%,]*\(")


@dataclass(frozen=True)
class Code:
    """The instructions of one function."""

    instructions: tuple[tuple[int, str], ...]

    def loops(self) -> list[list[str]]:
        """The bodies of the loops over K: outermost ones with arithmetic that store no result.

        Loops over tiles store theirs, in memory other than the stack. Blocks that stand elsewhere are included.
        """
        texts = [text for _, text in self.instructions]
        bodies = ([texts[i] for i in sorted(body)] for body in self._loops(set(self._after)))
        return [body for body in bodies if any(map(ARITHMETIC.match, body))]

    def _loops(self, within: set[int]) -> Iterator[set[int]]:
        """Instructions that reach each other; where they store a result, the loops that are left without their entries."""
        left = set(within)
        for start in sorted(self._targets & within):
            body = _reached(start, self._after, left) & _reached(start, self._before, left)
            left -= body
            if any(_stores_result(self.instructions[i][1]) for i in body):
                yield from self._loops({i for i in body if i and self._before[i] <= body})
            elif body:
                yield body

    @cached_property
    def _targets(self) -> set[int]:
        """Where ways meet: every loop has such an instruction."""
        return {i for i, sources in self._before.items() if i == 0 or len(sources) > 1}

    @cached_property
    def _before(self) -> dict[int, set[int]]:
        before: dict[int, set[int]] = {i: set() for i in self._after}
        for i, targets in self._after.items():
            for target in targets:
                before[target].add(i)
        return before

    @cached_property
    def _after(self) -> dict[int, set[int]]:
        """What may follow each instruction that is ever reached, by number. There are no jumps through tables (see FLAGS)."""
        numbers = {address: i for i, (address, _) in enumerate(self.instructions)}
        after: dict[int, set[int]] = {}
        for i, (_, text) in enumerate(self.instructions):
            jump = JUMP.match(text)
            targets = {numbers.get(int(jump[1], 16))} if jump else set()
            targets |= set() if LEAVES.match(text) else {i + 1}
            after[i] = {target for target in targets if target is not None and target < len(numbers)}
        reached = _reached(0, after, set(after))
        return {i: targets for i, targets in after.items() if i == 0 or i in reached}

    def count(self, word: str) -> int:
        return sum(text.startswith(word) for _, text in self.instructions)


def _reached(start: int, edges: Mapping[int, set[int]], within: set[int]) -> set[int]:
    """What is reached from there by at least one step, and without leaving."""
    found: set[int] = set()
    left = [start]
    while left:
        fresh = (edges[left.pop()] & within) - found
        found |= fresh
        left += fresh
    return found


def _stores_result(text: str) -> bool:
    return bool(STORE.match(text)) and not ON_STACK.search(text)


def full_tiles(kernel: MicroKernel, compiler: str) -> dict[str, Code]:
    """The functions of the whole tile and of tall ones: with whole vectors, and with a last one in part."""
    vectors = -(-kernel.columns // kernel.lanes)
    least = 1 if kernel.shares_accumulators else vectors
    shapes = {(kernel.rows_for(v * kernel.lanes), v) for v in range(least, vectors + 1)}
    listed = functions(build([kernel.emit("product", frozenset(shapes))], kernel.features, compiler, FLAGS[compiler]))
    found = {name.partition(".")[0]: code for name, code in listed.items() if not name.endswith(".cold")}
    names = (f"product_{rows}x{v}" for rows, v in shapes)
    edges = [] if kernel.features == MASKS_IN_MEMORY else ["_edge"]
    return {own: found[own] for name in names for own in (name, *(f"{name}{edge}" for edge in edges)) if own in found}


def functions(library: Path) -> dict[str, Code]:
    """Every function of a library; copies that a compiler made for constants are called after the first part of their names."""
    command = ["objdump", "-d", "--no-show-raw-insn", str(library)]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    texts = re.findall(r"<([\w.]+)>:\n(.*?)(?:\n\n|\Z)", listing, re.DOTALL)
    return {name: Code(tuple((int(address, 16), code) for address, code in INSTRUCTION.findall(text))) for name, text in texts}


def spilled(codes: Iterable[Code]) -> list[str]:
    """The instructions inside loops over K that move a vector to or from the stack. Loops that gather short elements, one by
    one, are left out: they are slow anyway."""
    bodies = (body for code in codes for body in code.loops() if not any(map(GATHERED.match, body)))
    return [text for body in bodies for text in body if _stack_of(body).search(text) and WIDE.match(text)]


def _stack_of(body: list[str]) -> re.Pattern[str]:
    """What addresses the stack in a loop: one that advances %rbp reads an operand through it."""
    return BELOW_POINTER if any(re.match(r"(add|sub|lea)\s.*,%rbp$", text) for text in body) else ON_STACK


def _cases(kernels: Iterable[MicroKernel], compilers: Sequence[str] = COMPILERS, *also: pytest.MarkDecorator) -> list[object]:
    cases = []
    for kernel, compiler in product(kernels, compilers):
        missing = shutil.which("objdump") is None or command(compiler) is None
        marks = pytest.mark.skipif(missing, reason=f"objdump or {compiler} is missing")
        cases.append(pytest.param(kernel, compiler, marks=[marks, *also], id=f"{kernel.name}-{compiler}"))
    return cases


NATIVE = [kernel for kernel in registered() if not is_foreign(kernel) and kernel.rows_per_instruction == 1]
"""Kernels that compute in vectors: tiles of matrix units are no registers that a compiler knows."""
ONCE = list({(kernel.features, kernel.prefetch or kernel.name): kernel for kernel in NATIVE}.values())
"""All that prefetch nothing, and of every set of instructions one tile for each choice of what is prefetched."""


OF_FLOATS = [kernel for kernel in ONCE if kernel.element_types[0] == "float32"]
OF_OTHERS = [kernel for kernel in ONCE if kernel not in OF_FLOATS]


@pytest.mark.parametrize(
    ("kernel", "compiler"),
    [
        *_cases(NATIVE, COMPILERS[:1]),
        *_cases(OF_FLOATS, COMPILERS[1:]),
        *_cases(OF_OTHERS, COMPILERS[1:], pytest.mark.sweep),
    ],
)
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
        assert (code.count("prefetch") > 0) == (bool(kernel.prefetch) or ASKS_FOR_TARGET.match(kernel.name) is not None)


def with_epilogue(product: Operator, extents: Mapping[str, int], plain: Plan, kernel: MicroKernel) -> list[Plan]:
    """The same with a map that needs a vector per column, one per row and one per element, if the kernel takes an epilogue.

    Sums of integers become bytes.
    """
    if kernel.emit_with is None:
        return []
    left, right, result = kernel.element_types
    sums = replace(product, write=replace(product.write, tensor="t"), accumulator=result)
    body = apply("maximum", apply("add", apply("multiply", apply("add", Load(0), Load(1)), Load(2)), Load(3)), Literal(0.0))
    maps = mapping("maps", body, ["t:mn", "columns:n", "rows:m", "all:mn"], "ended:mn", extents)
    schedule = Schedule((*plain.schedule.body, Compute("maps")))
    types = {"a": left, "b": right, "t": result, "ended": "uint8" if result == "int32" else result}
    return [hand_plan(typed(chain("ended", [sums, maps]), types), schedule, plain.machine, kernel)]


PLANNED = [kernel for kernel in NATIVE if kernel.reduction_loops == 1]
PLAIN = [kernel for kernel in PLANNED if not kernel.prefetch]
FETCHING = [kernel for kernel in PLANNED if kernel.prefetch]
FEW = [kernel for kernel in FETCHING if kernel in ONCE]


@pytest.mark.parametrize(
    ("kernel", "compiler"),
    [
        *_cases(PLAIN, COMPILERS[:1]),
        *_cases(PLAIN, COMPILERS[1:], pytest.mark.sweep),
        *_cases(FEW, COMPILERS[:1]),
        *_cases([kernel for kernel in FETCHING if kernel not in FEW], COMPILERS[:1], pytest.mark.sweep),
    ],
)
def test_no_vector_goes_through_the_stack_in_generated_code(kernel: MicroKernel, compiler: str) -> None:
    """Linked functions that end with an epilogue (those of plain products are above), and inlined ones: there, constants are
    known, so that registers are allocated anew. Loops over K are too long to be unrolled whole. Clang has inlined ones of tiles
    that do not prefetch, in the sweep: it has linked functions above.

    What gathers operands lane by lane is left out: its lanes meet on the stack.
    """
    extents = {"m": 2 * kernel.rows + 1, "n": 2 * kernel.columns + 3, "k": 1006}
    operator = contraction("product", "a:mk", "b:nk" if kernel.right_by_columns else "b:kn", "c:mn", extents)
    packs = () if kernel.right_by_columns else (Pack("product", 1, panels(kernel.columns, kernel.interleave)),)
    schedule = Schedule((*packs, Compute("product")))
    machine = Machine.named(MACHINES[kernel.vector_bits])
    machine = replace(machine, features=machine.features | kernel.features)
    types = dict(zip("abc", kernel.element_types, strict=True))
    plain = hand_plan(typed(chain("product", [operator]), types), schedule, machine, kernel)
    plans = [plain, *with_epilogue(operator, extents, plain, kernel)]
    linked = [artifact_of(plans[-1:])] if compiler == COMPILERS[0] else []
    for artifact in (*linked, artifact_of(plans, links_kernels=False)):
        sources = (KernelSource(SourceKind.C, artifact.text), *artifact.kernels)
        found = functions(build(sources, artifact.features, compiler, FLAGS[compiler]))
        left_out = ("_strided", *(["_edge"] if kernel.features == MASKS_IN_MEMORY else []))
        codes = [code for name, code in found.items() if not any(part in name for part in left_out)]
        assert any(code.loops() for code in codes)
        assert spilled(codes) == []


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


def test_a_loop_over_k_is_found_within_one_over_tiles_and_with_its_code_out_of_line() -> None:
    inner = ["vfmadd231ps %zmm1,%zmm2,%zmm3", "je 40", "jne 10"]
    spills = ["vmovups %zmm1,(%rsp)", "vmovq %xmm2,0x8(%rsp)", "jmp 18"]
    texts = ["xor %eax,%eax", *inner, "vmovups %zmm3,(%rdi)", "jne 0", "ret", *spills]
    code = Code(tuple(zip((0, 0x10, 0x14, 0x18, 0x20, 0x28, 0x30, 0x40, 0x48, 0x50), texts, strict=True)))
    assert code.loops() == [[*inner, *spills]]
    assert spilled([code]) == spills[:1]


def test_code_out_of_line_is_no_loop() -> None:
    texts = ["je 30", "vfmadd231ps", "jne 10", "ret", "vmovups %zmm1,(%rsp)", "jmp 10"]
    code = Code(tuple(zip((0, 0x10, 0x18, 0x20, 0x30, 0x38), texts, strict=True)))
    assert code.loops() == [["vfmadd231ps", "jne 10"]]
