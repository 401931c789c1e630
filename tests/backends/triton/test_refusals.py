"""What no kernel of Triton can say, or no process can run: one clear error each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import tilewright as tw
from tests.support.triton_functions import routine
from tilewright.artifact import Artifact
from tilewright.backends.triton_gpu import BACKEND, launch
from tilewright.block.program import Region
from tilewright.entry_point import Signature
from tilewright.errors import TilewrightError, ToolchainError, UnsupportedOperation
from tilewright.render.triton.module import Routine, module

ARTIFACT = Artifact("LAUNCHES", "LAUNCHES = []\nBETWEEN = {}\n", (), "sm_80", frozenset(), Signature((), (), ()))


def mapped(extent: int, function: str = "negative") -> Routine:
    """A map of one axis."""
    return routine(function, points=extent)[0]


def test_a_map_is_a_module() -> None:
    text = module("f", [mapped(20)], ()).text
    assert "tl.load(p_x0 + m, mask=m_in, other=0.0)" in text
    assert "LAUNCHES = [('k0_f', 1, ('x0', 'y'), 4, 2)]" in text
    compile(text, "module", "exec")


def test_names_of_any_kind_are_text() -> None:
    text = module('a """\n\\ name', [mapped(20)], ()).text
    assert text.startswith('# a """ \\ name\n')
    compile(text, "module", "exec")


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: mapped(1 << 31), "32 bits"),
        (lambda: mapped(8, "atan"), "functions.py has no text"),
        (lambda: replace(mapped(8), region=Region("f", (), constants=(Region("c", ()),))), "one kernel"),
    ],
)
def test_what_has_no_text_is_refused(made: Callable[[], Routine], why: str) -> None:
    with pytest.raises(UnsupportedOperation, match="Triton cannot say") as caught:
        module("f", [made()], ())
    assert why in caught.value.why
    assert caught.value.hint


def test_dynamic_dimensions_are_refused() -> None:
    with pytest.raises(TilewrightError):
        tw.jit(lambda x: x + 1.0, target="a100").lower(tw.spec(("n", 8), "float16")).source  # noqa: B018


@pytest.mark.parametrize("shape", [(0, 4), (4, 0)])
def test_empty_tensors_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(TilewrightError, match="no kernel") as caught:
        tw.jit(lambda x: x.sum(axis=1), target="a100").lower(tw.spec(shape, "float16")).source  # noqa: B018
    assert "is empty" in caught.value.why


@pytest.mark.parametrize("missing", ["triton", "torch"])
def test_missing_packages_are_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(TilewrightError, match="needs the package") as caught:
        BACKEND.load(ARTIFACT, constants=(), threads=None, runner="interpreter")
    assert "[gpu]" in caught.value.hint
    assert f"the package {missing}" in BACKEND.lacking(ARTIFACT)


def test_without_a_gpu_triton_stays_free_for_its_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    def imported(**_: object) -> None:
        raise AssertionError("Triton was imported to compile")

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False)))
    monkeypatch.setattr(launch, "_is_there", lambda package: True)
    monkeypatch.setattr(launch, "_packages", imported)
    assert launch.lacking("sm_80") == ("a GPU of sm_80",)


def test_old_versions_are_refused() -> None:
    launch.check_version("3.9.0")
    with pytest.raises(ToolchainError, match=r"3\.2\.0 is too old"):
        launch.check_version("3.2.0")


def test_what_a_compiler_raises_names_the_kernel() -> None:
    def failing() -> Any:
        raise RuntimeError("ptxas failed\nout of registers")

    with pytest.raises(ToolchainError, match="kernel k0_f") as caught, launch.compiler_errors("k0_f"):
        failing()
    assert "out of registers" in caught.value.why


def test_kernels_for_a_gpu_do_not_run_here() -> None:
    lowered = tw.jit(lambda x: x + x, target="a100").lower(tw.spec((8, 8), "float16"))
    assert "triton.jit" in lowered.source
    with pytest.raises(TilewrightError, match="cannot run on this machine") as caught:
        lowered.compile()
    assert "runner='interpreter'" in caught.value.hint
