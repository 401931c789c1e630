"""The text of outer-product kernels: what is emitted for which shapes, and the golden files."""

from __future__ import annotations

import re

import pytest

from tests.golden.kernels_golden import GOLDEN, emitted
from tests.support.kernel_build import COMPILERS, EXPORT, build, command
from tilewright.errors import TilewrightError
from tilewright.kernels import KernelSource, SourceKind, dialect_for
from tilewright.kernels.contract import Variants
from tilewright.kernels.dialects.vocabulary import VectorDialect
from tilewright.kernels.f32.outer_product import PRODUCT, outer_product_kernel

AVX512 = dialect_for("x86_64", frozenset({"avx512f"}))
PORTABLE = dialect_for("any", frozenset())


def outer_product_text(
    dialect: VectorDialect, rows: int, vectors: int, name: str, variants: Variants, prefetch: tuple[str, ...] = ()
) -> str:
    kernel = outer_product_kernel(dialect, rows, vectors, peak_share=0.9, prefetch=prefetch)
    return str(kernel.emit(name, variants).content)


def functions(text: str) -> set[str]:
    return set(re.findall(r"product_(\w+)\(long k", text))


def test_only_the_shapes_asked_for_are_emitted() -> None:
    text = outer_product_text(AVX512, 6, 4, "product", frozenset({(6, 4), (2, 1)}))
    assert functions(text) == {"6x4", "6x4_edge", "2x1", "2x1_edge"}


@pytest.mark.parametrize("dialect", [AVX512, PORTABLE])
def test_every_shape_has_a_function_of_its_own(dialect: VectorDialect) -> None:
    kernel = outer_product_kernel(dialect, 6, 4, peak_share=0.9)
    text = outer_product_text(dialect, 6, 4, "product", frozenset({(6, 4), (5, 1)}))
    assert kernel.of_shape is not None
    for rows, columns in ((6, kernel.columns), (6, kernel.columns - 1), (5, kernel.lanes), (5, 1)):
        name, last = kernel.of_shape("product", rows, columns)
        assert f"TW_VARIANT void {name}(" in text
        assert last == ((str(columns % kernel.lanes),) if columns % kernel.lanes else ())
        assert f"{name}({', '.join(PRODUCT)}{', last' if last else ''});" in text


def test_all_shapes_without_a_choice() -> None:
    assert len(functions(outer_product_text(AVX512, 6, 4, "product", None))) == 2 * 6 * 4


def test_whole_vectors_use_no_masks() -> None:
    text = outer_product_text(AVX512, 6, 4, "product", frozenset({(6, 4)}))
    whole, edge = re.findall(r"^TW_VARIANT .*?^}", text.removeprefix(AVX512.prelude), re.MULTILINE | re.DOTALL)
    assert "_part(" not in whole
    assert edge.count("tw_load_part(b ") == 1


def without_prefetches(text: list[str]) -> list[str]:
    return [line for line in text if "__builtin_prefetch" not in line and "const long ahead" not in line]


def test_a_prefetch_changes_nothing_else() -> None:
    plain = outer_product_text(AVX512, 6, 4, "product", frozenset({(6, 4)})).splitlines()
    for operands, prefetches in ((("target",), 2 * 24), (("right",), 3 * 4 + 2)):
        text = outer_product_text(AVX512, 6, 4, "product", frozenset({(6, 4)}), operands).splitlines()
        assert without_prefetches(text) == without_prefetches(plain)
        assert len(text) == len(plain) + prefetches


def test_rows_are_prefetched_between_groups_of_steps() -> None:
    text = outer_product_text(AVX512, 6, 4, "product", frozenset({(6, 4)}), ("left",))
    group = text[text.index("long group") : text.index("for (long p = group")]
    assert group.count("__builtin_prefetch(next)") == 6


@pytest.mark.parametrize("shapes", [set(), {(25, 1)}, {(13, 2)}, {(7, 4)}, {(1, 5)}, {(0, 1)}])
def test_shapes_outside_the_tile_are_refused(shapes: set[tuple[int, int]]) -> None:
    with pytest.raises(TilewrightError, match=r"are not within the tile of 6 rows by 4 vectors\n  where: micro kernel product"):
        outer_product_text(AVX512, 6, 4, "product", frozenset(shapes))


def test_the_declaration_follows_from_the_dialect() -> None:
    kernel = outer_product_kernel(PORTABLE, 4, 2, peak_share=0.9)
    assert (kernel.name, kernel.columns, kernel.features, kernel.architecture) == (
        "matmul_portable_f32_4x8",
        8,
        frozenset(),
        "any",
    )


def test_texts_of_one_dialect_can_share_a_translation_unit() -> None:
    texts = [outer_product_text(PORTABLE, 2, 1, name, None) for name in ("first", "second")]
    compiler = next(filter(command, COMPILERS))
    assert build([KernelSource(SourceKind.C, "\n".join(texts))], frozenset(), compiler).exists()


@pytest.mark.skipif(command("zig") is None, reason="ziglang is missing")
@pytest.mark.parametrize("target", ["aarch64-linux-gnu", "powerpc64le-linux-gnu", "riscv64-linux-gnu"])
def test_the_portable_kernel_compiles_for_other_architectures(target: str) -> None:
    """Compiled only. Clang has warnings for some targets (no unrolling, Altivec comparisons)."""
    text = outer_product_text(PORTABLE, 6, 2, "product", frozenset({(6, 2), (1, 1)}))
    use = "EXPORT void f(float *p) { tw_store(p, tw_exp(tw_sqrt(tw_floor(tw_load_part(p, 3))))); }"
    source = KernelSource(SourceKind.C, f"{text}\n#define EXPORT {EXPORT}\n{use}")
    assert build([source], frozenset(), "zig", ("-target", target, "-Wno-error")).exists()


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_text(name: str) -> None:
    """After an intended change: python -m tests.golden.regenerate"""
    assert emitted(name) == GOLDEN[name].read_text()
