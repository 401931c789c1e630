"""Offline compilation: what machine code takes is read right, and everything that is missing or fails is one clear error."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tilewright.backends.triton_gpu import offline
from tilewright.backends.triton_gpu.offline import OfflineKernel, compile_offline, facts_of
from tilewright.errors import TilewrightError, ToolchainError, UnsupportedOperation

USAGE = """
Resource usage:
 Common:
  GLOBAL:0
 Function product:
  REG:72 STACK:16 SHARED:0 LOCAL:8 CONSTANT[0]:568 TEXTURE:0 SURFACE:0 SAMPLER:0
"""
CODE = """
        /*0010*/                   LDG.E.128 R4, [R2.64] ;
        /*0020*/                   LDG.E R4, [R2.64] ;
        /*0030*/                   LDGSTS.E.BYPASS.128 [R9], [R2.64] ;
        /*0040*/                   LDGSTS.E.64 [R9], [R2.64+0x1280] ;
        /*0050*/                   STL [R1], R4 ;
        /*0060*/                   LDL.64 R4, [R1] ;
        /*0070*/                   LDL R4, [R1] ;
        /*0080*/                   HMMA.16816.F32 R4, R8, R12, R4 ;
"""
PTX = """
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 { %r1 }, { %r2 };
  mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 { %r3 }, { %r4 };
  wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 { %f1 };
  wgmma.wait_group.sync.aligned 0;
"""
TEXT = """
import triton
import triton.language as tl

@triton.jit
def product(a, b, c, SIZE: tl.constexpr, DEPTH: tl.constexpr = 64):
    m = tl.arange(0, SIZE)
    sums = tl.zeros((SIZE, SIZE), tl.float32)
    for first in range(0, DEPTH, 16):
        k = first + tl.arange(0, 16)
        left = tl.load(a + m[:, None] * DEPTH + k[None, :])
        sums = tl.dot(left, tl.load(b + k[:, None] * SIZE + m[None, :]), sums)
    tl.store(c + m[:, None] * SIZE + m[None, :], sums)

helper = 1
"""
TYPES = (("a", "*fp16"), ("b", "*fp16"), ("c", "*fp32"))
KERNEL = OfflineKernel(TEXT, "product", TYPES, (("SIZE", 32),), warps=1)


MODULE = """
import triton

def helper(x):
    return x

@triton.jit
def k0_product(p0, p1, p2):
    pass

@triton.jit
def k1_rows(p0, p1):
    pass

LAUNCHES = [("k0_product", 4, ("x", "w", "t"), 8, 3), ("k1_rows", 2, ("t", "y"), 4, 2)]
BETWEEN = {"t": ((64, 64), "float16")}
"""


def test_kernels_are_read_from_a_module() -> None:
    first, second = offline.kernels_of(MODULE, {"x": "bfloat16", "w": "int8", "y": "bool"})
    assert (first.function, first.warps, first.stages) == ("k0_product", 8, 3)
    assert first.types == (("p0", "*bf16"), ("p1", "*i8"), ("p2", "*fp16"))
    assert second.types == (("p0", "*fp16"), ("p1", "*i1"))


def test_a_text_without_launches_is_refused() -> None:
    with pytest.raises(TilewrightError, match="no module of kernels"):
        offline.kernels_of(TEXT, {})


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disassemblers print the texts above."""
    printed = {"cuobjdump": USAGE, "nvdisasm": CODE}
    monkeypatch.setattr(offline, "_printed", lambda triton, tool, *arguments: printed[tool])


@pytest.mark.usefixtures("tools")
def test_facts_are_read_from_code() -> None:
    facts = facts_of(b"", PTX, 4096, "sm_90", ModuleType("triton"))
    assert (facts.registers, facts.stack_bytes, facts.local_bytes, facts.shared_bytes) == (72, 16, 8, 4096)
    assert (facts.spill_stores, facts.spill_loads, facts.spills) == (1, 2, True)
    assert (facts.mma_sync, facts.wgmma, facts.tiles) == (2, 1, ("m16n8k16", "m64n128k16"))
    assert (facts.asynchronous_copies, facts.wide_loads) == (2, 2)


def test_a_listing_without_registers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline, "_printed", lambda triton, tool, *arguments: "nothing")
    with pytest.raises(ToolchainError, match="no registers"):
        facts_of(b"", PTX, 0, "sm_80", ModuleType("triton"))


def test_without_triton_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    with pytest.raises(TilewrightError, match=r"needs the package triton(.|\n)*\[gpu\]"):
        compile_offline(KERNEL, "sm_80")


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("triton")
    other.__version__ = "3.1.0"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton", other)
    with pytest.raises(TilewrightError, match=r"needs Triton 3.9.0(.|\n)*3.1.0 is installed"):
        compile_offline(KERNEL, "sm_80")


def test_an_interpreter_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ModuleType("triton")
    vars(other).update(__version__=offline.VERSION, knobs=SimpleNamespace(runtime=SimpleNamespace(interpret=True)))
    monkeypatch.setitem(sys.modules, "triton", other)
    with pytest.raises(TilewrightError, match=r"does not compile here(.|\n)*unset TRITON_INTERPRET"):
        compile_offline(KERNEL, "sm_80")


@pytest.mark.parametrize("architecture", ["80", "sm_", "gfx942", "ascend910"])
def test_other_architectures_are_refused(architecture: str) -> None:
    with pytest.raises(UnsupportedOperation, match=architecture):
        compile_offline(KERNEL, architecture)


@pytest.mark.parametrize(("tool", "problem"), [("absent", "is missing"), ("broken", r"failed(.|\n)*cannot read")])
def test_disassemblers_that_are_missing_or_fail(tool: str, problem: str, tmp_path: Path) -> None:
    directory = tmp_path / "backends/nvidia/bin"
    directory.mkdir(parents=True)
    (directory / "broken").write_text("#!/bin/sh\necho cannot read >&2\nexit 3\n")
    (directory / "broken").chmod(0o755)
    triton = ModuleType("triton")
    triton.__file__ = str(tmp_path / "__init__.py")
    with pytest.raises(ToolchainError, match=problem):
        offline._printed(triton, tool)


def pinned() -> None:
    """A visible skip without the pinned Triton."""
    triton = pytest.importorskip("triton", reason="triton missing: nothing is compiled for GPUs")
    if triton.__version__ != offline.VERSION or os.environ.get("TRITON_INTERPRET"):
        pytest.skip(f"needs a Triton {offline.VERSION} that compiles")


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_a_product_compiles(architecture: str) -> None:
    pinned()
    compiled = compile_offline(KERNEL, architecture)
    facts = compiled.facts
    assert compiled.cubin.startswith(b"\x7fELF")
    assert facts.architecture == architecture
    assert facts.mma_sync > 0
    assert facts.wgmma == 0
    assert not facts.spills
    assert 32 <= facts.registers <= 255
    assert compiled.cpu_s > 0


def test_wgmma_and_spills_are_seen() -> None:
    pinned()
    whole_group = replace(KERNEL, constants=(("SIZE", 64), ("DEPTH", 32)), warps=4)
    assert compile_offline(whole_group, "sm_90").facts.wgmma > 0
    too_large = replace(KERNEL, constants=(("SIZE", 128), ("DEPTH", 32)), warps=1)
    assert compile_offline(too_large, "sm_80").facts.spills


def test_nothing_of_a_compilation_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    first, second = (compile_offline(KERNEL, "sm_80") for _ in range(2))
    assert first.facts == second.facts
    assert min(first.cpu_s, second.cpu_s) > 0.05  # of a compilation, not of a look-up
    assert not list(tmp_path.iterdir())


FAULTS = {
    "module": (replace(KERNEL, text="import nothing_of_this_name"), ToolchainError, "cannot be imported"),
    "function": (replace(KERNEL, function="helper"), TilewrightError, "no kernel of this name"),
    "absent": (replace(KERNEL, function="absent"), TilewrightError, "no kernel of this name"),
    "missing argument": (replace(KERNEL, types=TYPES[:2]), TilewrightError, "without c"),
    "unknown argument": (replace(KERNEL, constants=(("SIZE", 32), ("WIDTH", 1))), TilewrightError, "unknown WIDTH"),
    "language": (replace(KERNEL, constants=(("SIZE", 33),)), ToolchainError, r"cannot compile it for sm_80(.|\n)*power of 2"),
    "type": (replace(KERNEL, types=(("a", "*fp16"), ("b", "*fp32"), ("c", "*fp32"))), ToolchainError, "cannot compile it"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_kernel_is_one_error(fault: str) -> None:
    pinned()
    kernel, error, message = FAULTS[fault]
    with pytest.raises(error, match=message):
        compile_offline(kernel, "sm_80")
