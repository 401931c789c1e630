"""The generated text itself: it imports nothing, is clean under sanitizers, and changes only on purpose."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.codegen.test_gemm_chains import MIDDLES, SYMBOLS
from tests.golden import windows_golden
from tests.golden.codegen_golden import FORMS, G2, emitted, golden
from tests.support.chains import artifact_of, attention_plan, chain_text
from tests.support.expected import gemm_chain64
from tests.support.kernel_build import linked
from tilewright.graph.types import SymbolicExtent
from tilewright.kernels import KernelSource, SourceKind
from tilewright.runtime.compilation import toolchain

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", FORMS)
def test_the_c_of_g2_is_as_reviewed(name: str) -> None:
    """After an intended change: python -m tests.golden.regenerate"""
    assert emitted(name) == golden(name)


@pytest.mark.parametrize("name", windows_golden.FORMS)
def test_the_c_of_copied_windows_is_as_reviewed(name: str) -> None:
    """After an intended change: python -m tests.golden.regenerate"""
    assert windows_golden.emitted(name) == windows_golden.golden(name)


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v4"])
@pytest.mark.parametrize("middle", MIDDLES)
@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
def test_no_symbol_is_imported(middle: str, target: str, tmp_path: Path) -> None:
    artifact = artifact_of([attention_plan(target, middle, dict(SYMBOLS))])
    library = tmp_path / "library.so"
    library.write_bytes(toolchain.find().compile(artifact.text, artifact.kernels, features=artifact.features))
    listing = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True, check=True)
    assert not listing.stdout
    assert ctypes.CDLL(str(library)).tilewright_run


def test_text_does_not_depend_on_the_process() -> None:
    assert artifact_of([attention_plan("x86-64-v4", "softmax", dict(G2))]).key == (
        artifact_of([attention_plan("x86-64-v4", "softmax", dict(G2))]).key
    )


def has_sanitizers() -> bool:
    if shutil.which("gcc") is None:
        return False
    probe = subprocess.run(
        ["gcc", "-fsanitize=address,undefined", "-x", "c", "-", "-o", "/dev/null"],
        input="int main(void) { return 0; }",
        text=True,
        capture_output=True,
        check=False,
    )
    return probe.returncode == 0


@pytest.mark.skipif(not has_sanitizers(), reason="no gcc with sanitizers")
@pytest.mark.parametrize("middle", MIDDLES)
def test_clean_under_sanitizers(middle: str, tmp_path: Path) -> None:
    """Portable kernels, so that every access is instrumented; heap arrays of exactly the sizes needed. All share the kernels."""
    plan = attention_plan("x86-64-v2", middle, dict(SYMBOLS), row_tile=7)
    artifact = artifact_of([plan])
    assert artifact.kernels
    program = tmp_path / "program"
    flags = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-ffp-contract=off", "-mssse3"]
    sources = (KernelSource(SourceKind.C, artifact.text), *artifact.kernels)
    objects = [linked(["gcc", *flags, "-c"], [source]) for source in sources]
    build = ["gcc", *flags, *map(str, objects), str(HERE / "sanitized_main.c"), "-o", str(program)]
    subprocess.run(build, check=True, capture_output=True, text=True)
    for sizes in ({"b": 2, "m": 13, "k": 9, "l": 33, "n": 18}, {"b": 1, "m": 1, "k": 1, "l": 1, "n": 1}):
        arguments = [len(artifact.signature.symbols), *(sizes[symbol.name] for symbol in artifact.signature.symbols)]
        slots = (*artifact.signature.inputs, *artifact.signature.outputs)
        for slot in slots:
            arguments += [len(slot.shape), *(sizes[str(extent)] for extent in slot.shape)]
        result = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        inputs = {slot.name: pattern(tuple(sizes[str(extent)] for extent in slot.shape)) for slot in artifact.signature.inputs}
        assert float(result.stdout) == pytest.approx(float(gemm_chain64(inputs, middle).sum()), rel=1e-4, abs=1e-3)


def pattern(shape: tuple[int, ...]) -> np.ndarray:
    """The values that sanitized_main.c fills its tensors with."""
    return ((np.arange(np.prod(shape)) % 7 - 3) / 4).reshape(shape)


def test_symbolic_extents_stay_symbols_in_the_text() -> None:
    text = chain_text(artifact_of([attention_plan("x86-64-v4", "softmax", {**G2, "m": SymbolicExtent("rows", 1, 4096, 512)})]))
    assert "const long extent_rows = sizes[0];" in text
    assert "tw_min(24, extent_rows - at_m)" in text
