"""Leaves that lower to tile programs, in NumPy: every program is verified, and computes what its operators mean.

Shapes are drawn around vectors; arrays of any strides are read, and positions that others give.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.leaves.problems import PROBLEMS, planned
from tests.leaves.test_contract import operands
from tests.support.block_programs import interpreted
from tests.support.tile_leaves import by_tile_programs
from tilewright import compiler
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.concatenate import pad
from tilewright.graph.builders.reshape import gather
from tilewright.graph.types import Graph, SymbolicExtent, Tensor
from tilewright.machine import Machine

MACHINES = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
TYPES = ("float32", "float64", "float16", "bfloat16", "bool", *INTEGERS)
SIZES = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 127, 130)
STORED = ("float32", "float64", "float16", "bfloat16", *INTEGERS)
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 1e-42, 6e4)
FUNCTIONS = ("add", "subtract", "multiply", "maximum", "minimum", "less", "equal")


@pytest.mark.parametrize("leaf", ["elementwise maps", "transposed maps", "pixel maps"])
def test_contract_problems_in_numpy(leaf: str) -> None:
    assert leaf in PROBLEMS
    graph, plan = planned(leaf)
    with by_tile_programs() as programs:
        for special in (False, True):
            interpreted(plan, operands(graph, special))
    assert programs


def drawn(random: np.random.Generator) -> tuple[Graph, dict[str, np.ndarray]]:
    """Maps of some tensors that are broadcast, sliced, turned around, padded and looked up, with sizes that a call may give."""
    builder, dtype, stored = Builder("drawn"), str(random.choice(TYPES)), str(random.choice(STORED))
    special = SPECIAL if "float" in stored else (-0.0,)
    rows, columns = (int(size) for size in random.choice(SIZES, 2))
    extent = SymbolicExtent("s", 0, 1 << 20, 64) if random.random() < 0.3 else columns
    columns = 0 if not isinstance(extent, int) and random.random() < 0.2 else columns
    x, values = builder.input("x", (rows, extent), dtype), {"x": elements(random, (rows, columns), dtype, special)}
    y = _changed(builder, random, x, rows, columns, values) if isinstance(extent, int) else x
    row = builder.input("row", (1, 1) if y is not x else (1, extent), dtype)
    values["row"] = elements(random, (1, 1) if y is not x else (1, columns), dtype, special)
    result = builder.map(str(random.choice(FUNCTIONS if dtype != "bool" else FUNCTIONS[3:])), y, row)
    result = builder.cast(result, stored)
    return builder.graph((result.name,)), values


def _changed(
    builder: Builder, random: np.random.Generator, x: Tensor, rows: int, columns: int, values: dict[str, np.ndarray]
) -> Tensor:
    """Read in another order."""
    step = int(random.choice((-3, -2, -1, 2, 3, 5)))
    match random.integers(5):
        case 0:
            return builder.slice(x, (slice(None), slice(None, None, step)))
        case 1:
            return builder.transpose(x, (1, 0))
        case 2:
            low, high = (int(size) for size in random.integers(0, 5, 2))
            return builder.record(pad, x, ((high, 0), (low, high)), 1.0, kind="pad")
        case 3:
            axis = int(random.integers(2))
            extent = (rows, columns)[axis]
            values["at"] = random.integers(-extent, extent, int(random.choice(SIZES))).astype(random.choice(["int32", "int64"]))
            at = builder.input("at", values["at"].shape, values["at"].dtype.name)
            return builder.record(gather, x, at, axis, kind="gather")
    return x


def elements(random: np.random.Generator, shape: tuple[int, ...], dtype: str, special: tuple[float, ...]) -> np.ndarray:
    """Whole numbers; of floats half of them have fractions, and some are special."""
    whole = np.trunc(40 * random.standard_normal(shape))
    if "float" not in dtype:
        return whole.astype(np.int64).astype(np.dtype(dtype))
    values = np.where(random.random(shape) < 0.5, whole, whole / 7)
    return np.where(random.random(shape) < 0.1, random.choice(special, shape), values).astype(np.dtype(dtype))


@pytest.mark.parametrize("seed", range(40))
def test_random_maps_are_those_of_their_operators(seed: int) -> None:
    random = np.random.default_rng(seed)
    graph, values = drawn(random)
    plan = compiler.plan(graph, Machine.named(MACHINES[seed % 3]))
    with by_tile_programs() as compared, np.errstate(all="ignore"):
        interpreted(plan, values)
    assert compared


def test_a_position_outside_is_reported() -> None:
    builder = Builder("outside")
    x, at = builder.input("x", (5, 40), "float32"), builder.input("at", (37,), "int64")
    graph = builder.graph((builder.record(gather, x, at, 1, kind="gather").name,))
    values: dict[str, np.ndarray] = {"x": np.zeros((5, 40), np.float32), "at": np.arange(4, 41)}
    with by_tile_programs(), pytest.raises(IndexError, match="40"):
        interpreted(compiler.plan(graph, Machine.named("x86-64-v3")), values)


def test_shuffled_integers_stay_integers() -> None:
    builder = Builder("pixels")
    x, y = (builder.input(name, shape, "int64") for name, shape in (("x", (40, 3)), ("y", (3, 1))))
    graph = builder.graph((builder.map("minimum", builder.transpose(x, (1, 0)), y).name,))
    values: dict[str, np.ndarray] = {"x": (1 << 60) + np.arange(120).reshape(40, 3), "y": np.full((3, 1), (1 << 60) + 61)}
    with by_tile_programs() as programs:
        interpreted(compiler.plan(graph, Machine.named("x86-64-v3")), values)
    assert programs


def test_looked_up_halves_are_not_computed_as_positions_are() -> None:
    builder = Builder("halves")
    x, at = builder.input("x", (5, 9), "float16"), builder.input("at", (7,), "int32")
    graph = builder.graph((builder.record(gather, x, at, 0, kind="gather").name,))
    values: dict[str, np.ndarray] = {"x": np.linspace(0, 1, 45).reshape(5, 9).astype("f2"), "at": np.arange(-3, 4, dtype="i4")}
    with by_tile_programs() as programs:
        interpreted(compiler.plan(graph, Machine.named("x86-64-v3")), values)
    assert programs


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("machine", MACHINES)
def test_long_bodies_of_turned_tiles_stay_within_the_tile(machine: str, dtype: str) -> None:
    """Two doubles are a vector of SSE: fewer rows than are taken together elsewhere."""
    builder = Builder("silu")
    x = builder.transpose(builder.input("x", (3, 12, 12), dtype), (0, 2, 1))
    graph = builder.graph((builder.map("divide", x, builder.map("add", builder.map("exp", x), 1.0)).name,))
    values: dict[str, np.ndarray] = {"x": np.linspace(-4, 4, 432).reshape(3, 12, 12).astype(dtype)}
    with by_tile_programs() as programs:
        interpreted(compiler.plan(graph, Machine.named(machine)), values)
    assert programs
