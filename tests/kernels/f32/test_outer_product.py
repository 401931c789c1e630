"""The programs of outer-product kernels: what is emitted for which shapes, and the golden files."""

from __future__ import annotations

import pytest

from tests.golden.kernels_golden import GOLDEN, emitted
from tests.support.kernel_build import build, command
from tilewright.errors import TilewrightError
from tilewright.graph.expressions.scalar import Load
from tilewright.kernels import KernelSource, SourceKind, dialect_for
from tilewright.kernels.contract import Epilogue, Variants
from tilewright.kernels.dialects.description import VectorDialect
from tilewright.kernels.f32.outer_product import outer_product_kernel
from tilewright.kernels.tile_sources import Programs
from tilewright.leaves.matrix_tiles.epilogues import EpilogueBody
from tilewright.tile.printer import printed

AVX512 = dialect_for("x86_64", frozenset({"avx512f", "avx512dq"}))
AVX2 = dialect_for("x86_64", frozenset({"avx2", "fma"}))
PORTABLE = dialect_for("any", frozenset())


SHAPE = frozenset({(6, 2)})


def texts(source: KernelSource) -> list[str]:
    """Of every function of a source."""
    assert isinstance(source.content, Programs)
    return [printed(program) for program in source.content.programs()]


def programs(variants: Variants, prefetch: tuple[str, ...] = (), dialect: VectorDialect = AVX512) -> dict[str, str]:
    """The text of every function of a tile of 6 x 4, by name."""
    source = outer_product_kernel(dialect, 6, 4, peak_share=0.9, prefetch=prefetch).emit("product", variants)
    assert source.kind is SourceKind.TILE
    assert isinstance(source.content, Programs)
    return {program.name: printed(program) for program in source.content.programs()}


def test_only_the_shapes_asked_for_are_emitted() -> None:
    names = ("product_6x4", "product_6x4_edge", "product_2x1", "product_2x1_edge")
    assert set(programs(frozenset({(6, 4), (2, 1)}))) == set(names)


@pytest.mark.parametrize("dialect", [AVX512, PORTABLE])
def test_every_shape_has_a_function_of_its_own(dialect: VectorDialect) -> None:
    kernel = outer_product_kernel(dialect, 6, 4, peak_share=0.9)
    found = programs(frozenset({(6, 4), (5, 1)}), dialect=dialect)
    assert kernel.of_shape is not None
    for rows, columns in ((6, kernel.columns), (6, kernel.columns - 1), (5, kernel.lanes), (5, 1)):
        name, last = kernel.of_shape("product", rows, columns)
        assert name in found
        assert last == ((str(columns % kernel.lanes),) if columns % kernel.lanes else ())


def test_all_shapes_without_a_choice() -> None:
    assert len(programs(None)) == 2 * 6 * 4


def test_whole_vectors_use_no_masks() -> None:
    whole, edge = programs(frozenset({(6, 4)})).values()
    assert "prefix" not in whole
    assert edge.count("prefix") == 1
    assert edge.count("= load b[b_row*p + 48], v0") == 1


def test_a_prefetch_changes_nothing_else() -> None:
    (plain, _) = programs(frozenset({(6, 4)})).values()
    for operand, prefetches in (("target", 24), ("right", 4)):
        (text, _) = programs(frozenset({(6, 4)}), (operand,)).values()
        assert text.count("prefetch ") == prefetches
        without = [line for line in text.splitlines() if "prefetch " not in line and " n_" not in line]
        assert without == plain.splitlines()


def test_the_target_of_many_steps_is_asked_for_by_lines() -> None:
    kernel = outer_product_kernel(AVX2, 6, 2, peak_share=0.9, fetches_target=True)
    whole, edge = texts(kernel.emit("product", SHAPE))
    assert whole.count("prefetch c[") == 6
    assert edge.count("prefetch c[") == 6
    assert whole.index("if n_0") < whole.index("prefetch c[15]") < whole.index("for p")
    assert kernel.emit_with is not None
    past = kernel.emit_with("product", SHAPE, Epilogue("end", non_temporal=True, values=EpilogueBody(Load(0))))
    assert not any("prefetch c[" in text for text in texts(past))


def test_rows_are_prefetched_between_groups_of_steps() -> None:
    (text, _) = programs(frozenset({(6, 4)}), ("left",)).values()
    group = text[text.index("for group") : text.index("for p from")]
    assert group.count("prefetch a[") == 6


@pytest.mark.parametrize("shapes", [set(), {(25, 1)}, {(13, 2)}, {(7, 4)}, {(1, 5)}, {(0, 1)}])
def test_shapes_outside_the_tile_are_refused(shapes: set[tuple[int, int]]) -> None:
    with pytest.raises(TilewrightError, match=r"are not within the tile of 6 rows by 4 vectors\n  where: micro kernel product"):
        programs(frozenset(shapes))


def test_the_declaration_follows_from_the_dialect() -> None:
    kernel = outer_product_kernel(PORTABLE, 4, 2, peak_share=0.9)
    assert (kernel.name, kernel.columns, kernel.features, kernel.architecture) == (
        "matmul_portable_f32_4x8",
        8,
        frozenset(),
        "any",
    )


@pytest.mark.skipif(command("zig") is None, reason="ziglang is missing")
@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "powerpc64le-linux-gnu", "riscv64-linux-gnu"])
def test_the_portable_kernel_compiles_for_other_architectures(target: str) -> None:
    """Compiled only. Clang has warnings for some targets (Altivec comparisons)."""
    source = outer_product_kernel(PORTABLE, 6, 2, peak_share=0.9).emit("product", frozenset({(6, 2), (1, 1)}))
    assert build([source], frozenset(), "zig", ("-target", target, "-Wno-error")).exists()


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_text(name: str) -> None:
    """After an intended change: python -m tests.golden.regenerate"""
    assert emitted(name) == GOLDEN[name].read_text()
