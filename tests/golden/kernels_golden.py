"""Golden C of a few micro kernels."""

from __future__ import annotations

from pathlib import Path

from tilewright.kernels import registered
from tilewright.render.c.kernel_sources import rendered

SHAPES = {
    "matmul_avx512_f32_6x64": frozenset({(6, 4)}),
    "matmul_avx2_f32_6x16": frozenset({(6, 2), (1, 1)}),
    "matmul_portable_f32_6x8": frozenset({(2, 2)}),
}
GOLDEN = {name: Path(__file__).parent / "kernels" / f"{name}.c" for name in SHAPES}


def emitted(name: str) -> str:
    """The C of a registered kernel for its golden shapes."""
    kernel = next(kernel for kernel in registered() if kernel.name == name)
    content = rendered(kernel.emit(name, SHAPES[name])).content
    assert isinstance(content, str)
    return content


def contents() -> dict[str, str]:
    """Every file of this kind by its name."""
    return {f"kernels/{name}.c": emitted(name) for name in SHAPES}
