"""Register tiles: what their statements mean, what is refused, and the C of numbered registers on a model of AMX."""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.support.amx_model import OPERANDS, Tiles, built
from tests.support.kernel_build import COMPILERS, build, command
from tilewright.errors import InternalError
from tilewright.kernel_source import KernelSource, SourceKind
from tilewright.render.c.tiles.rendering import unit
from tilewright.tile.builder import Builder
from tilewright.tile.dialects.registry import best, dialects
from tilewright.tile.interpreter import interpret
from tilewright.tile.lanes import storage
from tilewright.tile.passes.legalise import legalise
from tilewright.tile.printer import printed
from tilewright.tile.program import TileProgram
from tilewright.tile.rounding import Array, fma
from tilewright.tile.types import BITS, Type, vector
from tilewright.tile.verifier import verify


def matrix_product(left: str, right: str, total: str) -> TileProgram:
    """C += A B of matrices of at most one tile each, whose rows lie at distances that are given; B holds groups of steps."""
    b, group = Builder(), 32 // BITS[left]
    rows, columns, groups = map(b.integer, ("rows", "columns", "groups"))
    x, x_row, y, y_row = b.buffer("x", left), b.integer("x_row"), b.buffer("y", right), b.integer("y_row")
    z, z_row = b.buffer("z", total, is_written=True), b.integer("z_row")
    sums, of_x, of_y = b.tiles(
        (Type(total, 16, 16), rows, columns),
        (Type(left, 16 * group, 16), rows, groups * group),
        (Type(right, 16 * group, 16), groups, columns * group),
    )
    b.load_tile(sums, z, 0, z_row)
    b.load_tile(of_x, x, 0, x_row)
    b.load_tile(of_y, y, 0, y_row)
    b.add_product(sums, of_x, of_y)
    b.store_tile(z, 0, z_row, sums)
    b.zero(of_x)
    b.release()
    return verify(b.program("product"))


def drawn(dtype: str, shape: tuple[int, ...], seed: int) -> Array:
    """Bytes at both ends of their range mostly; floats of all sizes, whose sums are not exact."""
    random = np.random.default_rng(seed)
    if dtype in ("bfloat16", "float32"):
        sizes = random.standard_normal(shape) * 2.0 ** random.integers(-130, 60, shape)
        return sizes.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else np.float32).view(storage(dtype))
    limits = np.iinfo(dtype)
    return random.choice([limits.min, limits.max, limits.max, *random.integers(limits.min, limits.max, 3)], shape).astype(dtype)


def on_model(name: str, a: Array, b: Array, c: Array) -> Array:
    """The same on a model of the instruction that was written from its manual."""
    tiles = Tiles(rows=[len(c), len(a), len(b)] + [0] * 5, is_configured=True)
    tiles.row_bytes = [4 * c.shape[1], a[0].nbytes, b[0].nbytes] + [0] * 5
    for number, array in enumerate((c, a, b)):
        tiles.data[number, : len(array), : array[0].nbytes] = array.view(np.uint8)
    tiles.multiply(name, 0, 1, 2)
    return tiles.data[0, : len(c), : c[0].nbytes].copy().view(c.dtype)


EXTENTS = [(16, 16, 16), (1, 1, 1), (5, 16, 3), (16, 2, 15)]


def operands(name: str, extents: tuple[int, int, int]) -> tuple[Array, Array, Array]:
    (left, right, total), (rows, columns, groups) = OPERANDS[name], extents
    group = 32 // BITS[left]
    return (
        drawn(left, (rows, groups * group), 1),
        drawn(right, (groups, columns * group), 2),
        drawn(total, (rows, columns), 3),
    )


@pytest.mark.parametrize(("name", "extents"), list(product(OPERANDS, EXTENTS)))
def test_products_are_those_of_the_instructions(name: str, extents: tuple[int, int, int]) -> None:
    a, b, c = operands(name, extents)
    expected, (rows, columns, groups) = on_model(name, a, b, c), extents
    program = legalise(matrix_product(*OPERANDS[name]), dialects()["amx"])
    interpret(program, rows, columns, groups, a, a.shape[1], b, b.shape[1], c, columns)
    assert c.tobytes() == expected.tobytes()


def test_outer_products_are_fused() -> None:
    b = Builder()
    x, y = b.buffer("x", "float32"), b.buffer("y", "float32", is_written=True)
    t = vector("float32", 4)
    (sums,) = b.tiles((Type("float32", 4, 4), 4, 4))
    with b.loop("p", 0, 3) as p:
        b.add_product(sums, b.load(x, p * 8, t), b.load(x, p * 8 + 4, t))
    b.store_tile(y, 0, 5, sums)
    given, found = np.random.default_rng(0).standard_normal((3, 2, 4)).astype(np.float32), np.zeros((4, 5), np.float32)
    interpret(verify(b.program("outer")), given, found)
    expected = np.zeros((4, 4), np.float32)
    for left, right in given:
        expected = fma(*np.broadcast_arrays(left[:, None], right, expected))
    np.testing.assert_array_equal(found[:, :4], expected)
    assert not found[:, 4].any()


def test_extents_are_checked() -> None:
    program = matrix_product("uint8", "int8", "int32")
    a, b, c = np.zeros(64, np.uint8), np.zeros(64, np.int8), np.zeros(16, np.int32)
    with pytest.raises(InternalError, match=r"\(17, 1\) are no extents of int32x16x16"):
        interpret(program, 17, 1, 1, a, 4, b, 4, c, 1)
    with pytest.raises(InternalError, match=r"load s1, x\[0 rows by x_row\] is at 0 to 67, outside of 64 elements"):
        interpret(program, 2, 1, 1, a, 64, b, 4, c, 1)


def test_what_is_no_product_is_refused() -> None:
    b = Builder()
    one, other, sums = b.tiles((Type("uint8", 64, 16), 16, 64), (Type("int8", 64, 8), 8, 64), (Type("int32", 16, 16), 16, 16))
    b.add_product(sums, one, other)
    with pytest.raises(InternalError, match="uint8x16x64 and int8x8x64 are not multiplied into int32x16x16"):
        verify(b.program("wrong"))
    b = Builder()
    (tile,) = b.tiles((Type("float32", 4, 4), 4, 4))
    b.release()
    b.zero(tile)
    with pytest.raises(InternalError, match="zero s0: the variable s0 is not defined here"):
        verify(b.program("released"))
    b = Builder()
    (tile,) = b.tiles((Type("float32", 4, 4), 4, 5))
    with pytest.raises(InternalError, match="float32x4x4 has no 5 rows or lanes"):
        verify(b.program("wide"))


def test_programs_are_printed() -> None:
    text = printed(matrix_product("uint8", "int8", "int32"))
    assert "tiles s0: int32x16x16 of rows by columns, s1: uint8x16x64 of rows by 4*groups, s2: int8x16x64" in text
    assert "  load s1, x[0 rows by x_row]\n" in text
    assert "  product s0, s1, s2\n  store s0, z[0 rows by z_row]\n  zero s1\n  release" in text


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is missing")
@pytest.mark.parametrize("name", OPERANDS)
def test_numbered_registers_in_c(name: str, tmp_path: Path) -> None:
    run = built(unit(matrix_product(*OPERANDS[name]), dialects()["amx"]), "product", tmp_path)
    for extents in EXTENTS:
        a, b, c = operands(name, extents)
        expected, (rows, columns, groups) = on_model(name, a, b, c), extents
        tiles = run(rows, columns, groups, a, a.shape[1], b, b.shape[1], c, columns)
        assert not tiles.fault
        assert not tiles.is_configured
        assert c.tobytes() == expected.tobytes()


@pytest.mark.parametrize("compiler", [one for one in COMPILERS if command(one)])
def test_compilers_know_the_instructions(compiler: str) -> None:
    texts = [unit(matrix_product(*types), dialects()["amx"]).replace("product(", f"{name}(") for name, types in OPERANDS.items()]
    features = dialects()["amx"].features | {"amx_int8", "amx_bf16"}
    library = build([KernelSource(SourceKind.C, text) for text in texts], features, compiler).read_bytes()
    assert all(f"{name}\0".encode() in library for name in OPERANDS)


def test_leaves_do_without_the_tiles() -> None:
    features = dialects()["amx"].features | {"avx512_vnni", "avx512_bf16"}
    assert best("x86_64", features).name == "avx512_bf16"
