"""Packed sums are found behind all rewrites, whatever their bits, zero points, levels and rows; what looks alike is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.block_programs import interpreted
from tests.support.onnx_operators import operator
from tests.support.tile_leaves import by_tile_programs
from tilewright import compiler
from tilewright.block.leaf_binding import LeafBinding
from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.scalar import Literal, apply
from tilewright.graph.types import Graph, Operator
from tilewright.leaves.declaration import Mismatch, Problem, Refusal
from tilewright.leaves.packed_sums_form import form_of, match
from tilewright.leaves.registry import bindings
from tilewright.machine import Machine
from tilewright.tile.program import TileProgram

Array = np.ndarray[Any, np.dtype[Any]]
DOMAIN = "com.microsoft"


def product(
    rows: int,
    *,
    bits: int = 4,
    level: int = 0,
    zeros: str = "",
    k: int = 70,
    n: int = 40,
    block: int = 32,
    is_largest: bool = False,
) -> Graph:
    """MatMulNBits with constant weights."""
    random, blocks, builder = np.random.default_rng(0), -(-k // block), Builder("f")
    found: dict[str, Any] = {
        "": None,
        "uint8": random.integers(0, 256, (n, -(-blocks * bits // 8)), np.uint8),
        "float32": random.uniform(0, 15, (n, blocks)).astype("f4"),
    }
    numbers = random.integers(255 * is_largest, 256, (n, blocks, block * bits // 8), np.uint8)
    weights = numbers, np.ones((n, blocks), "f4"), found[zeros]
    constants = [None if one is None else builder.constant(one) for one in weights]
    node = operator("MatMulNBits", 1, DOMAIN, K=k, N=n, bits=bits, block_size=block, accuracy_level=level)
    result = node.lower(builder, builder.input("x", (rows, k), "float32"), *constants)
    return builder.graph((result.name,))


@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("level", [0, 4])
@pytest.mark.parametrize("zeros", ["", "uint8", "float32"])
def test_programs_compute_them(rows: int, bits: int, level: int, zeros: str) -> None:
    """Sums of whole numbers are exact; of the largest ones, 16 bits hold those that are taken together."""
    random = np.random.default_rng(0)
    for is_largest, values in ((False, random.integers(-9, 10, (rows, 70))), (True, np.full((rows, 70), -64))):
        check(product(rows, bits=bits, level=level, zeros=zeros, is_largest=is_largest), values)


@pytest.mark.parametrize("block", [128, 256])
def test_rows_whose_blocks_are_apart_in_memory(block: int) -> None:
    """Rounded rows have a dimension of blocks, whose rows of 128 bytes and more are padded."""
    check(product(2, level=4, k=2 * block, block=block), np.random.default_rng(0).integers(-9, 10, (2, 2 * block)))


def check(graph: Graph, x: Array) -> None:
    """In NumPy, by the leaf's own programs."""
    plan = compiler.plan(graph, Machine.named("x86-64-v3"))
    with by_tile_programs() as programs:
        interpreted(plan, {"x": x.astype("f4")})
    assert any(is_unpacking(lowered.program) for lowered in programs)


def is_unpacking(program: TileProgram) -> bool:
    """Whether sums of packed weights are taken: they have memory of their own."""
    return any(table.name == "sums" for table in program.tables)


@pytest.mark.parametrize("level", [0, 4])
def test_rows_that_are_heads_side_by_side(level: int) -> None:
    """The product behind attention: heads and their columns are one dimension of the rows."""
    random, builder, heads, width = np.random.default_rng(0), Builder("f"), 4, 64
    weights, values = (builder.input(name, shape, "float32") for name, shape in (("p", (heads, 1, 9)), ("v", (heads, 9, width))))
    mixed = builder.transpose(builder.matmul(weights, values), (1, 0, 2))
    rows = builder.reshape(mixed, (1, heads * width))
    numbers = builder.constant(random.integers(0, 256, (40, 8, 16), np.uint8))
    node = operator("MatMulNBits", 1, DOMAIN, K=heads * width, N=40, block_size=32, accuracy_level=level)
    result = node.lower(builder, rows, numbers, builder.constant(np.ones((40, 8), "f4")))
    plan = compiler.plan(builder.graph((result.name,)), Machine.named("x86-64-v3"))
    assert "tw_sums[" in compiler.generate(plan).source


def bound(rows: int, **options: int) -> tuple[Graph, Operator, LeafBinding]:
    """A graph, the operator that a leaf takes, and its binding."""
    graph = compiler.rewrite(product(rows, **options), compiler.rewrites_for(Machine.named("x86-64-v3")))
    found = bindings(graph.operators, graph.tensors, Machine.named("x86-64-v3"))
    ((name, binding),) = ((name, one) for name, one in found.items() if one.leaf == "packed sums")
    return graph, next(one for one in graph.operators if one.name == name), binding


def test_one_block_is_found() -> None:
    _, _, binding = bound(3, k=20)
    found = form_of(binding)
    assert (found.per_byte, found.is_whole, found.has_zeros) == (2, False, False)


def test_another_formula_is_not() -> None:
    graph, found, _ = bound(3)
    tensors = {tensor.name: tensor for tensor in graph.tensors}
    doubled = replace(found, body=apply("multiply", found.body, Literal(2.0)))
    assert match(Problem.of(doubled, tensors)) == Refusal("packed sums", Mismatch.OPERATION)
    moved = replace(found.reads[2], indices=(*found.reads[2].indices[:-1], found.reads[2].indices[-1] + 1))
    apart = replace(found, reads=(*found.reads[:2], moved, *found.reads[3:]))
    assert match(Problem.of(apart, tensors)) == Refusal("packed sums", Mismatch.LANES)


@pytest.mark.parametrize(("bits", "level"), [(8, 0), (4, 4)])
def test_operands_of_other_types_are_refused(bits: int, level: int) -> None:
    """Programs load words and rows as they are."""
    graph = compiler.rewrite(product(2, bits=bits, level=level))
    operator = next(one for one in graph.operators if isinstance(match(Problem.of(one, graph.by_name)), tuple))
    problem = Problem.of(operator, graph.by_name)
    for number in (0, 1):
        types = tuple("float16" if place == number else dtype for place, dtype in enumerate(problem.reads))
        assert match(replace(problem, reads=types)) == Refusal("packed sums", Mismatch.ELEMENT_TYPE)
