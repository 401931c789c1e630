"""The three forms in which a kernel may come from outside the package; the sources are those of the how-to."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.contract.test_matmul_kernels import (
    check_extremes,
    check_one_value_everywhere,
    check_products,
    check_special_values,
)
from tests.support.guarded import in_child
from tests.support.kernel_build import COMPILERS, caller, command, load
from tests.support.scalar_kernels import scalar_kernel
from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.kernels import KernelSource, MicroKernel, SourceKind, register, registered, unregister
from tilewright.machine import Machine
from tilewright.render.c import library
from tilewright.runtime.compilation.toolchain import find

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-micro-kernel.md"
ASSEMBLY = Path(__file__).parents[2] / "examples" / "scalar_tile.s"
SYMBOL = "vendor_sgemm_tile"


def how_to_text(language: str) -> str:
    """The first block of that language in the how-to."""
    block = re.search(rf"```{language}\n(.*?)```", HOW_TO.read_text(), re.DOTALL)
    assert block is not None
    return block[1]


def object_file(directory: Path) -> bytes:
    """The how-to's C, compiled under a symbol of its own."""
    source, target = directory / "tile.c", directory / "tile.o"
    source.write_text(how_to_text("c").replace("NAME", SYMBOL))
    start = [word for word in command(available()) or () if not word.startswith("-")]
    subprocess.run([*start, "-O2", "-fPIC", "-ffreestanding", "-c", str(source), "-o", str(target)], check=True)
    return target.read_bytes()


def available() -> str:
    return next(filter(command, COMPILERS))


C_KERNEL = scalar_kernel("from_c", 4, 8, how_to_text("c"))
ASSEMBLY_KERNEL = dataclasses.replace(
    C_KERNEL,
    name="from_assembly",
    architecture="x86_64",
    emit=lambda name, variants: KernelSource(SourceKind.ASSEMBLY, ASSEMBLY.read_text().replace("NAME", name)),
)


@pytest.fixture(params=["c", "assembly", "object"])
def kernel(request: pytest.FixtureRequest, tmp_path: Path) -> MicroKernel:
    if request.param == "c":
        return C_KERNEL
    if request.param == "assembly":
        if platform.machine() != "x86_64":
            pytest.skip("the how-to's assembly is for x86-64")
        return ASSEMBLY_KERNEL
    content = object_file(tmp_path)
    emit = lambda name, variants: KernelSource(SourceKind.OBJECT, content)  # noqa: E731
    return dataclasses.replace(C_KERNEL, name="from_object", symbol=SYMBOL, emit=emit)


def test_it_passes_the_contract_suite(kernel: MicroKernel) -> None:
    call = load(kernel, available())
    in_child(check_products, call, kernel)
    in_child(check_one_value_everywhere, call, kernel)


def test_it_is_linked_by_the_runtime_toolchain(kernel: MicroKernel, tmp_path: Path) -> None:
    text = caller(kernel)
    source = kernel.emit("kernel_under_test", None)
    library = tmp_path / "library.so"
    library.write_bytes(find().compile(text, linked=(source,), architecture=platform.machine()))
    a, b, c = (np.ones(shape, np.float32) for shape in ((4, 3), (3, 8), (4, 8)))
    integers = dict(zip(("k", "a_row", "a_column", "b_row", "c_row", "m", "n"), (3, 3, 1, 8, 8, 4, 8), strict=True))
    long = {name: ctypes.c_long(value) for name, value in integers.items()}
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, b, c)]
    ctypes.CDLL(str(library)).call(
        long["k"], pointers[0], long["a_row"], long["a_column"], pointers[1], long["b_row"], pointers[2], long["c_row"],
        long["m"], long["n"], ctypes.c_long(1),
    )  # fmt: skip
    np.testing.assert_array_equal(c, np.full((4, 8), 4, np.float32))


@pytest.mark.needs("avx2", "fma")
def test_the_planner_takes_it_and_jit_calls_it(kernel: MicroKernel) -> None:
    """Declared as faster than the package's own kernels, it computes both products of a fused chain."""
    fast = dataclasses.replace(kernel, vector_bits=256, peak_share=1.0)
    register(fast)
    try:
        chain = tw.jit(lambda a, b, d: tw.softmax(a @ b) @ d, target="x86-64-v3")
        a, b, d = (
            np.random.default_rng(i).standard_normal(shape, np.float32) for i, shape in enumerate(((37, 9), (9, 21), (21, 10)))
        )
        lowered = chain.lower(a, b, d)
        assert [one.micro_kernel for one in lowered.plan.operators] == [fast.name, None, fast.name]
        np.testing.assert_allclose(lowered.compile()(a, b, d), chain(a, b, d, interpret=True), rtol=1e-4, atol=1e-5)
    finally:
        unregister(fast.name)


def products_with(d: np.ndarray) -> list[Callable[..., Any]]:
    """Plain, transposed, and chains with one more matrix, which is a constant."""
    return [lambda a, b: a @ b, lambda a, b: a @ tw.transpose(b), lambda a, b: tw.softmax(a @ b) @ d, lambda a, b: a @ d @ b]


def check_alone(kernel: MicroKernel, target: str | Machine, columns: int) -> None:
    """Products by this kernel alone, the package's own ones being taken out: of known extents and of any."""
    for one in registered():
        unregister(one.name)
    register(dataclasses.replace(kernel, columns=columns))
    matrices = {size: np.random.default_rng(size).standard_normal((2, size, size), np.float32) for size in (16, 33, 64, 130)}
    d = np.random.default_rng(0).standard_normal((33, 33), np.float32)
    extent = tw.Dim("n", low=1, high=130, hint=64)
    for function in products_with(d):
        check_product(kernel, tw.jit(function, target=target), (33, 33), [matrices[33]])
    for function in products_with(matrices[64][0]):
        check_product(kernel, tw.jit(function, target=target), (64, 64), [matrices[64]])
    for function in (lambda a, b: a @ b, lambda a, b: a @ tw.transpose(b), lambda a, b: tw.softmax(a @ b) @ a):
        check_product(kernel, tw.jit(function, target=target), (extent, extent), list(matrices.values()))


def check_product(kernel: MicroKernel, product: Any, shape: tuple[Any, ...], operands: list[np.ndarray]) -> None:
    lowered = product.lower(tw.spec(shape), tw.spec(shape))
    assert kernel.name in {one.micro_kernel for plan in lowered.model_plan.plans for one in plan.operators}
    compiled = lowered.compile()
    for a, b in operands:
        np.testing.assert_allclose(compiled(a, b), product(a, b, interpret=True), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("target", "columns"),
    [
        (None, 8),
        ("x86-64-v2", 7),
        pytest.param("x86-64-v3", 20, marks=pytest.mark.needs("avx2")),
        pytest.param("x86-64-v4", 20, marks=pytest.mark.needs("avx512f")),
    ],
)
def test_it_can_be_the_only_kernel(target: str | None, columns: int) -> None:
    """Of vectors that are wider than its panels, too: None is the machine at hand."""
    if target is not None and platform.machine() != "x86_64":
        pytest.skip("these targets are x86-64")
    in_child(check_alone, C_KERNEL, target or Machine.detect(), columns)


@pytest.mark.needs("avx2", "fma")
def test_programs_of_several_files_link_it_once(kernel: MicroKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "LEAST_CHARACTERS", 1000)
    monkeypatch.setattr(library, "FILE_CHARACTERS", 1000)
    fast = dataclasses.replace(kernel, vector_bits=256, peak_share=1.0)
    register(fast)
    try:
        layers = [np.random.default_rng(n).standard_normal((9 + n, 10 + n), np.float32) for n in range(5)]
        stack = tw.jit(lambda x: functools.reduce(lambda x, w: tw.softmax(x @ w), layers, x), target="x86-64-v3", fuse=False)
        lowered = stack.lower(layers[-1][:, :9])
        artifact = compiler.generate(lowered.model_plan)
        assert len(artifact.linked) > 2
        x = layers[-1][:, :9]
        np.testing.assert_allclose(lowered.compile()(x), stack(x, interpret=True), rtol=1e-4, atol=1e-5)
    finally:
        unregister(fast.name)


IN_A_PROCESS = """
import dataclasses, sys
import numpy as np
import tilewright as tw
from tests.kernels.test_external_kernels import C_KERNEL
from tilewright import compiler
from tilewright.kernels import KernelSource, SourceKind, register, registered, unregister
kernel, number = C_KERNEL, sys.argv[1]
if number == "other":
    text = kernel.emit("NAME", None).content.replace("float sum = 0", "float sum = 1")
    emit = lambda name, variants: KernelSource(SourceKind.C, text.replace("NAME", name))
    kernel = dataclasses.replace(kernel, emit=emit)
for one in registered():
    unregister(one.name)
register(kernel)
if number == "second":
    compiler.plan = compiler.generate = None
a, b = np.ones((5, 6), np.float32), np.ones((6, 7), np.float32)
print(set(tw.jit(lambda a, b: a @ b, target="x86-64-v2")(a, b).flat))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the target is x86-64")
def test_a_second_process_finds_what_is_kept_and_another_text_does_not(tmp_path: Path) -> None:
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path)}
    results = []
    for number in ("first", "second", "other"):
        command = [sys.executable, "-c", IN_A_PROCESS, number]
        run = subprocess.run(command, env=environment, cwd=HOW_TO.parents[2], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        results.append(run.stdout.strip())
    assert results == ["{np.float32(6.0)}", "{np.float32(6.0)}", "{np.float32(7.0)}"]


def of_the_how_to(name: str) -> MicroKernel:
    """A kernel of another element type, from the how-to's text."""
    blocks = re.findall(r"```python\n(.*?)```", HOW_TO.read_text(), re.DOTALL)
    block = next(one for one in blocks if name in one)
    statements = [line[4:] for line in block.splitlines() if line.startswith((">>> ", "... "))]
    space: dict[str, Any] = {}
    exec("\n".join(statements) or block, space)
    kernel: MicroKernel = space["KERNELS"][0] if "KERNELS" in space else space["kernel"]
    return kernel


OTHER_TYPES = {"matmul_portable_s16_2x8": "int32"}


@pytest.mark.parametrize("name", OTHER_TYPES)
def test_kernels_of_other_element_types_pass_the_contract_suite(name: str) -> None:
    kernel = of_the_how_to(name)
    call = load(kernel, available())
    in_child(check_products, call, kernel)
    in_child(check_one_value_everywhere, call, kernel)
    in_child(check_extremes if kernel.accumulator == "int32" else check_special_values, call, kernel)


@pytest.mark.parametrize("name", OTHER_TYPES)
def test_products_of_other_element_types_take_them(name: str) -> None:
    kernel = of_the_how_to(name)
    others = [one for one in registered() if one.element_types == kernel.element_types and one.architecture == "any"]
    for other in others:
        unregister(other.name)
    register(kernel)
    try:
        random = np.random.default_rng(0)
        a, b = (random.integers(-99, 99, shape).astype(kernel.element_types[0]) for shape in ((37, 129), (129, 61)))
        builder = Builder("product")
        x, y = builder.input("a", a.shape, a.dtype.name), builder.input("b", b.shape, b.dtype.name)
        graph = builder.graph((builder.einsum("mk,kn->mn", x, y, dtype=OTHER_TYPES[name]).name,))
        plan = compiler.plan(graph, Machine.named("x86-64-v2"))
        assert [one.micro_kernel for chain in plan.plans for one in chain.operators] == [name]
        executable = compiler.build(plan, threads=2)
        outputs = executable.new_outputs([a, b])
        executable.run([a, b], outputs)
        np.testing.assert_array_equal(outputs[0], a.astype(np.float64) @ b.astype(np.float64))
    finally:
        unregister(name)
        for other in others:
            register(other)


def test_the_declaration_gives_the_symbol_its_name() -> None:
    assert dataclasses.replace(C_KERNEL, symbol=SYMBOL).declaration("product").endswith(f'__asm__("{SYMBOL}");')
    assert C_KERNEL.declaration("product").endswith("long accumulate);")
