"""Which kernels and dialects are offered to which machine, and which declarations are refused."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tilewright.errors import TilewrightError, UnsupportedOperation
from tilewright.kernels import (
    KernelSource,
    MicroKernel,
    SourceKind,
    dialect_for,
    for_machine,
    register,
    registered,
    registry,
    unregister,
)
from tilewright.kernels.contract import COLUMNS
from tilewright.kernels.dialects.description import VectorDialect
from tilewright.machine.description import Source
from tilewright.machine.machine import Machine

V2 = frozenset({"sse2", "sse4_2"})
V3 = V2 | {"avx2", "fma"}
V4 = V3 | {"avx512f", "avx512dq", "avx512vl"}


def machine(features: frozenset[str], architecture: str = "x86_64") -> Machine:
    return Machine("test", architecture, features, 1, 512, 32, 2, 3e9, (("float32", 1e11),), 1e-6, (), Source.DATASHEET)


def declare(**changes: Any) -> MicroKernel:
    kernel = MicroKernel(
        name="mine",
        operation="matmul",
        rows=4,
        columns=16,
        depth=1,
        element_types=("float32", "float32", "float32"),
        architecture="x86_64",
        features=frozenset({"avx2"}),
        vector_bits=256,
        peak_share=0.5,
        emit=lambda name, variants: KernelSource(SourceKind.C, f"void {name}(void) {{}}"),
    )
    return dataclasses.replace(kernel, **changes)


@pytest.fixture(autouse=True)
def unchanged_registry() -> Iterator[None]:
    before = registered()
    yield
    for kernel in set(registered()) - set(before):
        unregister(kernel.name)
    for kernel in set(before) - set(registered()):
        register(kernel)
    assert registry.digest() == ""


def test_modules_of_the_package_register_themselves() -> None:
    names = {kernel.name for kernel in registered()}
    assert {"matmul_avx512_f32_6x64", "matmul_avx2_f32_6x16", "matmul_portable_f32_6x8"} <= names


@pytest.mark.parametrize(("features", "widest"), [(V4, 512), (V3, 256), (V2, 128)])
def test_a_machine_is_offered_what_it_can_run_widest_first(features: frozenset[str], widest: int) -> None:
    widths = [kernel.vector_bits for kernel in for_machine(machine(features)) if kernel.lanes_along == COLUMNS]
    assert widths[0] == widest
    assert widths == sorted(widths, reverse=True)
    assert all(kernel.features <= features for kernel in for_machine(machine(features)))


def test_every_architecture_has_a_kernel_and_a_dialect() -> None:
    for architecture in ("aarch64", "ppc64le", "riscv64"):
        assert for_machine(machine(frozenset(), architecture))
        assert dialect_for(architecture, frozenset()).name == "portable"


def test_the_order_does_not_depend_on_the_order_of_registration() -> None:
    kernels = [declare(name=f"mine_{i}") for i in range(5)]
    orders = set()
    for seed in range(3):
        random.Random(seed).shuffle(kernels)
        for kernel in kernels:
            register(kernel)
        orders.add(tuple(kernel.name for kernel in for_machine(machine(V4))))
        for kernel in kernels:
            unregister(kernel.name)
    assert len(orders) == 1


def test_other_operations_and_types_have_no_kernel() -> None:
    assert for_machine(machine(V4), "convolution") == ()
    assert for_machine(machine(V4), element_types=("uint8", "uint8", "int32")) == ()


@pytest.mark.parametrize(("features", "name"), [(V4, "avx512"), (V3, "avx2"), (V2, "portable")])
def test_the_widest_dialect_is_chosen(features: frozenset[str], name: str) -> None:
    assert dialect_for("x86_64", features).name == name


def test_lanes_are_accumulators() -> None:
    assert declare(element_types=("int8", "int8", "int32")).lanes == 8
    assert declare(element_types=("bfloat16", "bfloat16", "bfloat16"), accumulator_type="float32").lanes == 8
    assert declare(element_types=("float64", "float64", "float64")).lanes == 4


def test_machine_share_scales_with_vector_width() -> None:
    assert declare(peak_share=0.8).machine_share(512) == pytest.approx(0.4)
    assert declare(peak_share=0.8).machine_share(128) == pytest.approx(0.8)


def test_registering_and_unregistering() -> None:
    kernel = declare()
    register(kernel)
    assert kernel in for_machine(machine(V3))
    unregister("mine")
    assert kernel not in registered()
    register(kernel)


def test_own_kernels_can_be_replaced() -> None:
    (own,) = (kernel for kernel in registered() if kernel.name == "matmul_avx2_f32_6x16")
    unregister(own.name)
    replacement = declare(name=own.name)
    register(replacement)
    assert replacement in registered()
    unregister(own.name)
    assert registry.digest() != ""
    register(own)
    assert own in registered()
    assert registry.digest() == ""


def test_a_name_in_use_is_refused() -> None:
    register(declare())
    with pytest.raises(
        TilewrightError, match=r"taken by another micro kernel\n  where: micro kernel mine\n  hint: choose another"
    ):
        register(declare())


def test_removing_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(TilewrightError, match=r"no such micro kernel\n.*nothing_like_it\n.*matmul_avx2_f32_6x16"):
        unregister("nothing_like_it")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "6x16 kernel"}, r"name='6x16 kernel' is not an identifier"),
        ({"operation": "softmax"}, r"operation='softmax' is not an operation of micro kernels\n.*\n  hint: choose from matmul"),
        ({"rows": 0}, r"rows=0 is not positive"),
        ({"depth": -1}, r"depth=-1 is not positive"),
        ({"columns": 12}, r"columns=12 is not a multiple of 8 lanes"),
        ({"vector_bits": 100}, r"vector_bits=100 is not a number of 32-bit lanes"),
        ({"features": {"avx2"}}, r"features=\{'avx2'\} is not a frozenset"),
        ({"peak_share": 1.5}, r"peak_share=1.5 is not a share"),
        ({"element_types": ("float32",)}, r"does not name three types"),
        (
            {"element_types": ("float32", "float32", "complex64")},
            r"names a type that kernels do not know\n.*\n  hint: choose from float32",
        ),
        ({"accumulator_type": "float"}, r"accumulator_type='float' is not a type that kernels know"),
        ({"accumulator_type": "float64", "vector_bits": 32}, r"vector_bits=32 is not a number of 64-bit lanes"),
        ({"interleave": 0}, r"interleave=0 is not positive"),
        ({"interleave": 2, "right_by_columns": True}, r"interleave=2 is of a B by columns"),
        ({"reduction_loops": 0}, r"reduction_loops=0 is not positive"),
        ({"architecture": ""}, r"architecture='' is empty"),
        ({"emit": "void f(void);"}, r"cannot be called"),
        ({"symbol": "my kernel"}, r"symbol='my kernel' is not a C identifier"),
    ],
)
def test_broken_declarations_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(TilewrightError, match=message):
        register(declare(**changes))


def test_something_else_than_a_kernel_is_refused() -> None:
    with pytest.raises(TilewrightError, match="is not a MicroKernel"):
        register("matmul")  # type: ignore[arg-type]


def test_no_dialect_is_an_error_that_says_where_to_add_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VectorDialect, "runs_on", lambda *_: False)
    with pytest.raises(UnsupportedOperation, match=r"no vector dialect for s390x\n.*dialects/<isa>"):
        dialect_for("s390x", frozenset())
