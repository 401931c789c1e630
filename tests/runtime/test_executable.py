from __future__ import annotations

import array
import ctypes
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.hand_written import TEXT, dot, elementwise
from tilewright.entry_point import Signature
from tilewright.errors import CacheError, DTypeError, InternalError, ShapeError, TilewrightError, ToolchainError
from tilewright.runtime import executable, loader
from tilewright.runtime.arrays import Array
from tilewright.runtime.compilation import libraries, toolchain
from tilewright.runtime.compilation.toolchain import Toolchain
from tilewright.runtime.executable import Executable
from tilewright.runtime.store.cache import KernelCache


@pytest.fixture(scope="module")
def kernel() -> Executable:
    return executable.load(dot(), threads=2)


def numbers(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def expected(a: Array, b: Array) -> Array:
    product = a.astype(np.float64) @ b.astype(np.float64)
    return np.stack([product, a[:, 0] if a.shape[1] else np.zeros(len(a))], axis=1)


def check(kernel: Executable, a: Array, b: Array, e: Array) -> None:
    wanted = expected(a, b)
    kernel.run([a, b], [e])
    np.testing.assert_allclose(e, wanted, rtol=1e-4, atol=1e-4)


def test_result(kernel: Executable) -> None:
    check(kernel, numbers(50, 60), numbers(60), np.full((50, 2), np.nan, np.float32))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_loop_of_calls_leaves_the_same_result(kernel: Executable, count: int) -> None:
    a, b, e = numbers(5, 6), numbers(6), np.zeros((5, 2), np.float32)
    kernel.run_repeatedly(count, [a, b], [e])
    np.testing.assert_allclose(e, expected(a, b) if count else 0, rtol=1e-4, atol=1e-4)


def test_a_loop_of_calls_copies_nothing(kernel: Executable) -> None:
    a, b, e = numbers(5, 12)[:, ::2], numbers(6), np.zeros((5, 2), np.float32)
    with pytest.raises(TilewrightError, match=r"refuses argument 0\n.*\n  why: LAYOUT"):
        kernel.run_repeatedly(1, [a, b], [e])


def test_every_compiler_serves(compiler: Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(toolchain, "find", lambda: compiler)
    loaded = executable.load(dot(), threads=2, cache=KernelCache(tmp_path))
    check(loaded, numbers(5, 6), numbers(6), np.empty((5, 2), np.float32))


def test_any_number_of_threads_gives_the_same_bits() -> None:
    a, b = numbers(777, 300), numbers(300)
    results = []
    for threads in (1, 2, 3, 7):
        e = np.empty((777, 2), np.float32)
        executable.load(dot(), threads=threads).run([a, b], [e])
        results.append(e.tobytes())
    assert len(set(results)) == 1


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_arrays_without_elements(kernel: Executable, shape: tuple[int, int]) -> None:
    check(kernel, numbers(*shape), numbers(shape[1]), np.full((shape[0], 2), 9, np.float32))


def unaligned(x: Array) -> Array:
    memory = np.zeros(x.nbytes + 1, np.uint8)
    moved = memory[1:].view(x.dtype).reshape(x.shape)
    moved[...] = x
    return moved


@pytest.mark.parametrize(
    "layout",
    [
        np.asfortranarray,
        unaligned,
        lambda x: x.astype(">f4"),
        lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
        lambda x: x[..., ::-1].copy()[..., ::-1],
        lambda x: x[::-1].copy()[::-1],
        lambda x: np.broadcast_to(x[:1], x.shape),
    ],
)
def test_any_layout_is_read(kernel: Executable, layout: Any) -> None:
    a, b = layout(numbers(9, 20)), layout(numbers(20))
    check(kernel, a, b, np.empty((9, 2), np.float32))


def test_strides_that_split_elements() -> None:
    """A field of packed records: its stride is no multiple of its size."""
    kernel = executable.load(elementwise("float32", "float", "x + 1"), threads=1)
    records = np.zeros(10, np.dtype([("tag", "u1"), ("x", "f4"), ("e", "f4")]))
    records["x"] = range(10)
    kernel.run([records["x"]], [records["e"]])
    assert records["e"].tolist() == list(range(1, 11))
    assert not records["tag"].any()


@pytest.mark.parametrize(
    "output",
    [
        np.empty((9, 2), np.float32, order="F"),
        np.empty((18, 4), np.float32)[::-2, ::-2],
        unaligned(np.zeros((9, 2), np.float32)),
        np.empty((9, 2), ">f4"),
    ],
)
def test_any_layout_is_written(kernel: Executable, output: Array) -> None:
    check(kernel, numbers(9, 20), numbers(20), output)


def test_outputs_may_overlap_inputs(kernel: Executable) -> None:
    memory = numbers(40)
    a, e = memory[:30].reshape(10, 3), memory[5:25].reshape(10, 2)
    check(kernel, a, numbers(3), e)
    shift = executable.load(elementwise("float32", "float", "x"), threads=1)
    line = np.arange(10, dtype=np.float32)
    shift.run([line[:-1]], [line[1:]])
    assert line.tolist() == [0, *range(9)]
    line = np.arange(10, dtype=np.float32)
    shift.run([line[::-1]], [line])
    assert line.tolist() == list(range(9, -1, -1))
    shift.run([np.float32([5])], [np.lib.stride_tricks.as_strided(line, (1,), (0,))])
    assert line[0] == 5


def test_an_output_that_overlaps_itself(kernel: Executable) -> None:
    cell = np.zeros(1, np.float32)
    output = np.lib.stride_tricks.as_strided(cell, (3, 2), (0, 0))
    kernel.run([np.ones((3, 4), np.float32), np.ones(4, np.float32)], [output])
    assert cell[0] in (1, 4)


@given(n=st.integers(0, 30), k=st.integers(0, 30), offset=st.integers(-12, 12), reverse=st.booleans())
def test_slices_of_one_buffer(n: int, k: int, offset: int, reverse: bool) -> None:
    kernel = executable.load(dot(), threads=2)
    memory = numbers(1000)
    a, b = memory[:900].reshape(30, 30)[:n, :k], memory[100 : 100 + k]
    e = memory[300 + offset : 360 + offset].reshape(30, 2)[:n]
    check(kernel, a[::-1] if reverse else a, b, e[::-1] if reverse else e)


def test_foreign_arrays(kernel: Executable) -> None:
    a = memoryview(numbers(3, 4))
    kernel.run([a, array.array("f", [1, 0, 0, 0])], [out := np.empty((3, 2), np.float32)])
    assert (out[:, 0] == out[:, 1]).all()
    torch = pytest.importorskip("torch")
    kernel.run([torch.ones(3, 4), torch.ones(4)], [out])
    assert out.tolist() == [[4, 1]] * 3


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn"])
def test_types_that_numpy_cannot_export(dtype: str) -> None:
    unsigned = {"bfloat16": "unsigned short", "float8_e4m3fn": "unsigned char"}[dtype]
    sign = {"bfloat16": "0x8000", "float8_e4m3fn": "0x80"}[dtype]
    kernel = executable.load(elementwise(dtype, unsigned, f"x ^ {sign}"), threads=1)
    x = np.arange(10).astype(getattr(ml_dtypes, dtype))
    e = np.empty(20, x.dtype)[::2]
    kernel.run([x[::-1]], [e])
    assert (e == -x[::-1]).all()
    kernel.run([x], [x])
    assert (x.astype(np.float32) == -np.arange(10)).all()
    bits = np.zeros(10, f"u{x.itemsize}")
    with pytest.raises(DTypeError, match=f"argument x has element type {bits.dtype}, expected {dtype}"):
        kernel.run([bits], [e])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64", "float64"])
def test_numeric_types(dtype: str) -> None:
    c_type = {
        "int8": "signed char",
        "uint8": "unsigned char",
        "int16": "short",
        "int32": "int",
        "int64": "long",
        "float64": "double",
    }
    kernel = executable.load(elementwise(dtype, c_type[dtype], "x + 1"), threads=1)
    x = np.arange(5, dtype=dtype)
    kernel.run([x], [x])
    assert x.tolist() == [1, 2, 3, 4, 5]
    if dtype == "int64":
        kernel.run([x.astype("q")], [x.view("q")])
        assert x[0] == 2


def out() -> Array:
    return np.empty((3, 2), np.float32)


@pytest.mark.parametrize(
    ("inputs", "outputs", "error", "parts"),
    [
        ([numbers(3, 4), numbers(5)], [out()], ShapeError, ["argument b has shape (5,), expected (k,)", "k is 4 by argument a"]),
        ([numbers(3), numbers(4)], [out()], ShapeError, ["argument a has shape (3,), expected (n, k)", "1 dimensions, not 2"]),
        ([np.zeros((1,) * 60, "f4"), numbers(4)], [out()], ShapeError, ["argument a has shape", "60 dimensions, not 2"]),
        ([numbers(3, 301), numbers(301)], [out()], ShapeError, ["shape (3, 301)", "k must lie in 0..300"]),
        ([numbers(3, 4), numbers(4)], [np.empty((3, 3), "f4")], ShapeError, ["argument e has shape (3, 3), expected (n, 2)"]),
        (
            [numbers(3, 4).astype("f8"), numbers(4)],
            [out()],
            DTypeError,
            ["argument a has element type float64, expected float32"],
        ),
        ([numbers(3, 4).astype("f2"), numbers(4)], [out()], DTypeError, ["float16", "x.astype('float32')"]),
        ([numbers(3, 4).view("i4"), numbers(4)], [out()], DTypeError, ["int32"]),
        ([numbers(3, 4).view("c8"), numbers(2)], [out()], DTypeError, ["complex64"]),
        ([numbers(3, 4).view("V4"), numbers(4)], [out()], DTypeError, ["|V4"]),
        ([np.array([[None]]), numbers(1)], [out()], DTypeError, ["argument a has element type object"]),
        ([numbers(3, 4), [1.0] * 4], [out()], DTypeError, ["cannot read a list as an array"]),
        ([numbers(3, 4)], [out()], ShapeError, ["got 1 inputs, expected 2: a, b"]),
        ([numbers(3, 4), numbers(4)], [], ShapeError, ["got 0 outputs, expected 1: e"]),
        ([numbers(3, 4), numbers(4)], [np.broadcast_to(np.float32(0), (3, 2))], TilewrightError, ["the output e is read-only"]),
    ],
)
def test_wrong_arguments_are_named(
    kernel: Executable, inputs: list[Any], outputs: list[Any], error: type[TilewrightError], parts: list[str]
) -> None:
    with pytest.raises(error) as caught:
        kernel.run(inputs, outputs)
    assert all(part in str(caught.value) for part in parts), str(caught.value)


def test_gradients_are_refused(kernel: Executable) -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(TilewrightError, match="requires a gradient"):
        kernel.run([torch.ones(3, 4, requires_grad=True), torch.ones(4)], [out()])


def test_lack_of_memory_is_reported() -> None:
    greedy = executable.load(dot(TEXT.replace("return sizes[1] * 4", "return 1L << 61")), threads=1)
    with pytest.raises(MemoryError, match=f"{1 << 61} bytes of scratch of dot"):
        greedy.run([numbers(3, 4), numbers(4)], [out()])
    greedy = executable.load(dot(TEXT.replace("sizes[0], sizes[1] * 4,", "sizes[0], 1L << 61,")), threads=2)
    with pytest.raises(MemoryError, match=f"{1 << 61} bytes of scratch of dot"):
        greedy.run([numbers(3, 4), numbers(4)], [out()])


def test_buffers_are_released(kernel: Executable) -> None:
    memory = bytearray(48)
    for _ in range(3):
        kernel.run([np.frombuffer(memory, "f4").reshape(3, 4), numbers(4)], [out()])
    before = sys.getrefcount(a := numbers(3, 4))
    with pytest.raises(ShapeError):
        kernel.run([a, numbers(5)], [out()])
    assert sys.getrefcount(a) == before
    memory.extend(b"no view is left")


def test_symbols_and_new_outputs(kernel: Executable) -> None:
    inputs = [numbers(3, 4), array.array("f", [0] * 4)]
    (e,) = kernel.new_outputs(inputs)
    assert (e.shape, e.dtype) == ((3, 2), np.float32)
    (e,) = executable.load(elementwise("bfloat16", "short", "x"), threads=1).new_outputs([np.zeros(2, ml_dtypes.bfloat16)])
    assert e.dtype == ml_dtypes.bfloat16
    with pytest.raises(ShapeError, match="argument a has shape"):
        kernel.new_outputs([np.float32(3), numbers(4)])
    with pytest.raises(ShapeError, match="got 0 inputs"):
        kernel.new_outputs([])


@pytest.mark.parametrize(
    "given", [np.asarray, np.asfortranarray, unaligned, lambda x: x.astype(">f4"), lambda x: array.array("f", x.ravel())]
)
def test_new_outputs_are_those_of_a_run(kernel: Executable, given: Any) -> None:
    a, b = numbers(5, 6), numbers(6)
    for _ in range(2):
        (e,) = kernel.compute((a, given(b)))
        np.testing.assert_allclose(e, expected(a, b), rtol=1e-4, atol=1e-4)
        assert e.flags.c_contiguous
        assert e.flags.writeable


def test_wrong_inputs_make_no_outputs(kernel: Executable) -> None:
    a, b = numbers(5, 6), numbers(6)
    before = sys.getrefcount(a)
    for inputs, error in (((a, numbers(5)), ShapeError), ((a, b.astype("f8")), DTypeError), ((a,), ShapeError)):
        with pytest.raises(error):
            kernel.compute(inputs)
    del inputs
    assert sys.getrefcount(a) == before


def test_memory_is_accounted(kernel: Executable) -> None:
    kernel.pool.trim()
    kernel.pool.reset_peak()
    assert kernel.memory_stats().current_bytes == kernel.memory_stats().peak_bytes == 0
    for _ in range(2):
        check(kernel, numbers(10, 256), numbers(256), np.empty((10, 2), np.float32))
        peak_bytes = kernel.memory_stats().peak_bytes
        assert peak_bytes in {2 * 1024, 3 * 1024}  # the workspace, and the scratch of one or two threads: who comes in time
    kernel.pool.trim()
    assert kernel.memory_stats().current_bytes == 0
    assert kernel.memory_stats().peak_bytes == peak_bytes


def test_content_and_source(kernel: Executable, tmp_path: Path) -> None:
    (tmp_path / "saved.so").write_bytes(kernel.origin.content())
    assert kernel.source == TEXT
    assert ctypes.CDLL(str(tmp_path / "saved.so")).dot


def test_the_key_knows_text_compiler_and_flags() -> None:
    gcc = Toolchain(("/usr/bin/gcc",), "gcc", "12")
    others = [
        (dot(TEXT + "\n"), gcc),
        (dot(), Toolchain(("/usr/bin/gcc",), "gcc", "13")),
        (dot(), Toolchain(("/usr/bin/cc",), "gcc", "12")),
        (dot(), Toolchain(("/usr/bin/gcc",), "clang", "12")),
    ]
    keys = {libraries.library_key(*pair) for pair in [(dot(), gcc), *others]}
    assert len(keys) == 5
    assert libraries.library_key(dot(), Toolchain(("/opt/gcc",), "gcc", "12")) == libraries.library_key(dot(), gcc)


def test_threads_default_to_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_NUM_THREADS", "3")
    assert executable.load(dot()).pool.threads == 3


def test_missing_entry_point_is_our_bug() -> None:
    with pytest.raises(InternalError, match="does not export dot_workspace_bytes"):
        executable.load(dot(TEXT.replace("dot_workspace_bytes", "other")), threads=1)


def test_a_library_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "x.so").write_bytes(b"no library")
    with pytest.raises(CacheError, match="cannot be loaded"):
        loader.load(tmp_path / "x.so", ctypes.CDLL)


def test_compiler_failure_reaches_the_user(tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match="nonsense"):
        executable.load(dot("nonsense"), threads=1, cache=KernelCache(tmp_path))


def test_signature_without_arrays(tmp_path: Path) -> None:
    text = TEXT.replace("for (long j = 0; j < sizes[1]; j++)\n    x.b", "return;\n  for (long j = 0; j < 1; j++)\n    x.b")
    artifact = dot(text.replace("return sizes[1] * 4", "return 0"))
    nothing = type(artifact)("dot", artifact.text, (), artifact.architecture, frozenset(), Signature((), (), ()))
    executable.load(nothing, threads=1).run([], [])
