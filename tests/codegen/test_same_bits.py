"""The same bits from every compiler: what is rounded stands in the emitted C."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
import pytest

from tests.replay.planning import SUBJECTS, graphs_of
from tilewright import compiler
from tilewright.dtypes import dtype_named
from tilewright.entry_point import TensorSlot
from tilewright.plan.types import ModelPlan
from tilewright.runtime.arrays import Array
from tilewright.runtime.compilation import toolchain

GRAPHS = (
    *("rows/softmax", "rows/layer-norm", "rows/tanh-beside-max", "rows/product-of-norm"),
    *("layers/layer-gelu", "attention/long", "attention/softcap-causal"),
    *("convolutions/depthwise-stride", "convolutions/resize-linear"),
    *("scalar_loops/double-product", "scalar_loops/divisions", "scalar_loops/half-product", "gathers/of-computed"),
    *("random_graphs/function-0", "random_graphs/function-1", "random_graphs/chains-100"),
)
MACHINES = (
    pytest.param("x86-64-v2", id="sse"),
    pytest.param("x86-64-v3", id="avx2", marks=pytest.mark.needs("avx2", "fma")),
    pytest.param("x86-64-v4", id="avx512", marks=pytest.mark.needs("avx512f", "avx512dq")),
)
SYMBOL_SIZE = 5


@pytest.fixture(params=["clang", "ziglang"])
def compilers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The commands of gcc and of another compiler."""
    found = [toolchain.named(name) for name in ("gcc", request.param)]
    if None in found:
        pytest.skip(f"gcc or {request.param} is not installed")
    return tuple(shlex.join(one.command) for one in found if one is not None)


@pytest.mark.parametrize(
    ("graph", "machine"),
    [
        pytest.param(graph, *machine.values, id=f"{graph}-{machine.id}", marks=machine.marks)
        for number, graph in enumerate(GRAPHS)
        for machine in (MACHINES if number % 2 else MACHINES[1:])
    ],
)
def test_two_compilers_give_the_same_bits(
    graph: str, machine: str, compilers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    subject, _, name = graph.partition("/")
    compare(graphs_of(subject)[name](machine), compilers, monkeypatch)


@pytest.mark.sweep
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_two_compilers_give_the_same_bits_of_all_graphs(
    subject: str, machine: str, compilers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for planned in graphs_of(subject).values():
        compare(planned(machine), compilers, monkeypatch)


def compare(plans: list[ModelPlan], compilers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for plan in plans:
        expected, got = (results(plan, command, monkeypatch) for command in compilers)
        for one, other in zip(expected, got, strict=True):
            assert bits(one) == bits(other), plan.graph.name


def results(plan: ModelPlan, command: str, monkeypatch: pytest.MonkeyPatch) -> list[Array]:
    """The outputs of a plan for numbers of a fixed seed."""
    monkeypatch.setenv("TILEWRIGHT_CC", command)
    runnable = compiler.build(plan, threads=1)
    sizes = {symbol.name: min(max(symbol.low, SYMBOL_SIZE), symbol.high) for symbol in runnable.signature.symbols}
    generator = np.random.default_rng(0)
    inputs = [values(slot, sizes, generator) for slot in runnable.signature.inputs]
    outputs = runnable.new_outputs(inputs)
    runnable.run(inputs, outputs)
    return outputs


def values(slot: TensorSlot, sizes: dict[str, int], generator: np.random.Generator) -> Array:
    """Standard normal numbers; integers are 0 or 1, which are positions everywhere."""
    shape = [extent if isinstance(extent, int) else sizes[extent] for extent in slot.shape]
    if slot.dtype == "bool" or "int" in slot.dtype:
        return generator.integers(0, 2, shape).astype(dtype_named(slot.dtype))
    return generator.standard_normal(shape).astype(dtype_named(slot.dtype))


def bits(array: Array) -> tuple[Any, ...]:
    """The bytes of an array; NaN is one value, whatever its bits."""
    is_nan = array != array
    return array.dtype, array.shape, np.where(is_nan, np.zeros((), array.dtype), array).tobytes(), is_nan.tobytes()
