"""Filters of bytes: what is known of them outlives the maps that put them in order, and decides on kernels that saturate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tilewright import compiler
from tilewright.backends import loading
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import integer_convolution
from tilewright.graph.interpreter import evaluate
from tilewright.graph.rewrites.index_changes.flatten_tensors import with_merged_arguments
from tilewright.graph.rewrites.index_changes.fold_index_maps import FoldIndexMaps
from tilewright.graph.types import PRODUCT, Graph
from tilewright.machine.machine import Machine
from tilewright.plan.algorithms.convolution_gemm import PIXELS_OF_BYTES
from tilewright.plan.algorithms.definition import Problem, expanded
from tilewright.plan.algorithms.padded_image import padded, sliding_product

Array = np.ndarray[Any, Any]
MACHINE = Machine.named("x86-64-v3")
CHANNELS, FILTERS, SIDE = 64, 24, 7


def filters(first: int, second: int, taps: int = 1) -> Array:
    """Weights whose neighbouring channels have these values in turns, with signs in turns of two."""
    channels = np.where(np.arange(CHANNELS) % 2, second, first) * np.where(np.arange(CHANNELS) % 4 < 2, 1, -1)
    signs = np.where(np.arange(FILTERS) % 3, 1, -1)
    of_points = signs[:, None] * channels
    return np.broadcast_to(of_points[..., None, None], (FILTERS, CHANNELS, taps, taps)).astype(np.int8)


def convolution(weights: Array) -> Graph:
    builder = Builder("bytes")
    image = builder.input("x", (1, CHANNELS, SIDE, SIDE), "uint8")
    zero = builder.constant(np.array(3, np.uint8))
    pads, taps = (weights.shape[-1] // 2,) * 4, weights.shape[2:]
    window = window_of((SIDE, SIDE), taps, where="Conv", pads=pads)
    operands = image, builder.constant(weights), window, 1, zero, None
    result = builder.record(integer_convolution, *operands, outside=3.0, kind="conv")
    return builder.graph((result.name,))


def kernels_and_result(graph: Graph, x: Array) -> tuple[set[str], Array]:
    plan = compiler.plan(graph, MACHINE)
    given = replace(plan.graph, constants=plan.given)
    executable, constants = loading.load(compiler.generate(plan), given, MACHINE, threads=1)
    out = np.empty((1, FILTERS, SIDE, SIDE), np.int32)
    executable.run((x, *constants), (out,))
    return {part.micro_kernel for one in plan.plans for part in one.operators if part.micro_kernel}, out


@pytest.mark.parametrize(("pair", "saturates"), [((64, 64), False), ((100, 28), False), ((127, 2), True)])
def test_pairs_of_channels_decide(pair: tuple[int, int], saturates: bool) -> None:
    """At the boundary of what 16 bits hold, and one beyond it, with an image of the largest bytes and of zeros."""
    graph = convolution(filters(*pair))
    x = np.full((1, CHANNELS, SIDE, SIDE), 255, np.uint8)
    x[..., ::3] = 0
    (wanted,) = evaluate(graph, {"x": x}).values()
    kernels, found = kernels_and_result(graph, x)
    assert any("pairs" in kernel for kernel in kernels) != saturates
    np.testing.assert_array_equal(found, wanted)


def plain(graph: Graph) -> tuple[Graph, Problem]:
    """A convolution without zero points, as algorithms for convolutions see it."""
    image, weights = graph.operators[-1].reads[:2]
    guard = image.guard and replace(image.guard, otherwise=0.0)
    operator = replace(graph.operators[-1], reads=(replace(image, guard=guard), weights), body=PRODUCT)
    tensors, constants = {tensor.name: tensor for tensor in graph.tensors}, frozenset(name for name, _ in graph.constants)
    return replace(graph, operators=(*graph.operators[:-1], operator)), Problem(operator, tensors, constants, MACHINE)


def by_pixels(graph: Graph, problem: Problem) -> Graph:
    assert PIXELS_OF_BYTES.applies(problem)
    return expanded(graph, {problem.operator.name: PIXELS_OF_BYTES.algorithm()}, problem.constants, MACHINE)


def test_filters_of_several_taps_are_known_by_channel() -> None:
    found = by_pixels(*plain(convolution(filters(100, 28, taps=3))))
    (contraction,) = [operator for operator in found.operators if operator.is_contraction()]
    magnitudes = found.tensor(contraction.reads[1].tensor).magnitudes
    assert magnitudes is not None
    assert magnitudes.pairs[2] == 128, "neighbouring channels"
    assert min(magnitudes.pairs[0], magnitudes.pairs[3]) > 128, "taps, and filters"


@pytest.mark.parametrize("outside", [0.0, -128.0])
def test_copies_filled_with_other_numbers_are_not_known(outside: float) -> None:
    """Of a padded constant image, whose zero point may be larger than all elements."""
    builder = Builder("image")
    image = builder.constant(np.full((1, CHANNELS, SIDE, SIDE), 64, np.int8))
    window = window_of((SIDE, SIDE), (3, 3), where="Conv", pads=(1, 1, 1, 1))
    operands = image, builder.input("w", (FILTERS, CHANNELS, 3, 3), "uint8"), window, 1, None, None
    builder.record(integer_convolution, *operands, outside=outside, kind="conv")
    tensors = {tensor.name: tensor for tensor in builder.tensors.values()}
    problem = Problem(builder.operators[-1], tensors, frozenset({image.name}), MACHINE)
    sliding = sliding_product(problem)
    assert sliding is not None
    copied = padded(builder, sliding)
    assert (copied.magnitudes is None) == (outside != 0)
    assert outside or copied.magnitudes.pair(1) == 128


def test_images_with_their_points_in_a_row() -> None:
    """Arguments that were merged have one dimension of points; the copy that turns them stays for products of bytes."""
    merged, joined = with_merged_arguments(convolution(filters(64, 64)))
    assert joined == {merged.inputs[0]: (2,), merged.outputs[0]: (2,)}
    graph, problem = plain(merged)
    found = by_pixels(graph, problem)
    folded, kept = (FoldIndexMaps(turns_bytes=turns).run(found) for turns in (False, True))
    reads = [{read.tensor for one in each.operators if one.is_contraction() for read in one.reads} for each in (folded, kept)]
    assert ["x" in each for each in reads] == [True, False]
    x = np.random.default_rng(1).integers(0, 256, merged.tensor("x").shape).astype(np.uint8)  # type: ignore[arg-type]
    (wanted,) = evaluate(graph, {"x": x}).values()
    for one in (found, folded, kept):
        np.testing.assert_array_equal(next(iter(evaluate(one, {"x": x}).values())), wanted)
