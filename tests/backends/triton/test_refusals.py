"""What no kernel of Triton can say, or no process can run: one clear error each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import tilewright as tw
from tests.support.operators import mapping
from tilewright.artifact import Artifact
from tilewright.backends.triton_gpu import BACKEND, launch
from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.memory import BufferName, Range, View
from tilewright.block.program import Region
from tilewright.block.statements import Leaf
from tilewright.entry_point import Signature
from tilewright.errors import TilewrightError, ToolchainError, UnsupportedOperation
from tilewright.graph.expressions.scalar import Load, apply
from tilewright.graph.types import Tensor
from tilewright.render.triton.module import Routine, module

ARTIFACT = Artifact("LAUNCHES", "LAUNCHES = []\nBETWEEN = {}\n", (), "sm_80", frozenset(), Signature((), (), ()))


def routine(extent: int, function: str = "negative") -> Routine:
    """A map of one axis."""
    one = mapping("f", apply(function, Load(0)), ["x:m"], "y:m", {"m": extent})
    span = Range(0, extent, extent, frozenset((extent,)))
    views = [View(BufferName(name), 0, (("m", 1),)) for name in ("x", "y")]
    leaf = Leaf(LeafBinding("gpu_map"), one, (("m", span),), (views[0],), views[1])
    return Routine(Region("f", (leaf,)), (Tensor("x", (extent,)), Tensor("y", (extent,))))


def test_a_map_is_a_module() -> None:
    text = module("f", [routine(20)], ()).text
    assert "tl.load(p_x + m, mask=m_in, other=0.0)" in text
    assert "LAUNCHES = [('k0_f', 1, ('x', 'y'), 4, 2)]" in text
    compile(text, "module", "exec")


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: routine(1 << 31), "32 bits"),
        (lambda: routine(8, "atan"), "functions.py has no text"),
        (lambda: replace(routine(8), region=Region("f", (), constants=(Region("c", ()),))), "one kernel"),
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


@pytest.mark.parametrize("missing", ["triton", "torch"])
def test_missing_packages_are_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(TilewrightError, match="needs the package") as caught:
        BACKEND.load(ARTIFACT, constants=(), threads=None, runner="interpreter")
    assert "[gpu]" in caught.value.hint
    assert BACKEND.lacking(ARTIFACT)


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
