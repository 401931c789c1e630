"""Convolutions, as planning sees them: roles, windows and channels by index maps, in every layout; other operators are none."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import pytest

from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.builders.einsum import einsum
from tilewright.graph.expressions.index import axis, constant, floordiv
from tilewright.graph.types import Access, Axis, Guard, Operator, SymbolicExtent, Tensor
from tilewright.machine import Machine
from tilewright.plan.algorithms.definition import Problem
from tilewright.plan.algorithms.padded_image import SlidingProduct, convolution_of
from tilewright.plan.algorithms.product_roles import points

MACHINE = Machine.named("zen5")


def convolved(x: tuple[int, ...], w: tuple[int, ...], group: int = 1, **attributes: Any) -> Operator:
    return convolution(
        Tensor("x", x), Tensor("w", w), window_of(x[2:], w[2:], where="Conv", **attributes), group, name="conv", result="y"
    )[0]


def found(operator: Operator) -> SlidingProduct | None:
    return convolution_of(Problem(operator, {}, frozenset(), MACHINE))


def form_of(operator: Operator) -> SlidingProduct:
    form = found(operator)
    assert form is not None
    return form


def permuted(operator: Operator, read: int, order: tuple[int, ...]) -> Operator:
    """The operator over a tensor with its dimensions in another order."""
    reads = list(operator.reads)
    reads[read] = replace(reads[read], indices=tuple(reads[read].indices[place] for place in order))
    return replace(operator, reads=tuple(reads))


CASES: dict[str, tuple[tuple[Any, ...], dict[str, Any], tuple[int, int, int]]] = {
    "plain": (((2, 9, 7, 5), (17, 9, 3, 3)), {"pads": (1, 1, 1, 1)}, (1, 17, 9)),
    "groups": (((1, 18, 5, 6), (6, 9, 3, 3), 2), {"strides": (2, 2)}, (2, 3, 9)),
    "depthwise": (((1, 7, 9, 11), (7, 1, 3, 3), 7), {"pads": (1, 0, 0, 1)}, (7, 1, 1)),
    "depthwise with a multiplier": (((1, 3, 9, 14), (6, 1, 3, 3), 3), {}, (3, 2, 1)),
    "few channels": (((2, 1, 5, 6), (4, 1, 3, 3)), {}, (1, 4, 1)),
    "pointwise": (((1, 5, 7, 9), (6, 5, 1, 1)), {}, (1, 6, 5)),
    "a kernel of one row": (((1, 5, 7, 9), (6, 5, 1, 3)), {}, (1, 6, 5)),
    "one channel and one tap": (((1, 1, 7, 9), (6, 1, 1, 1)), {}, (1, 6, 1)),
    "three dimensions": (((1, 2, 4, 5, 6), (3, 2, 2, 3, 1)), {"dilations": (2, 1, 1)}, (1, 3, 2)),
    "one dimension": (((1, 2, 9), (3, 2, 3)), {"strides": (4,)}, (1, 3, 2)),
}


@pytest.mark.parametrize(("case", "attributes", "counts"), CASES.values(), ids=list(CASES))
def test_groups_filters_channels_and_taps(case: Any, attributes: Any, counts: tuple[int, int, int]) -> None:
    operator = convolved(*case, **attributes)
    for either in (operator, replace(operator, reads=operator.reads[::-1])):
        form = form_of(either)
        assert (points(form.roles.group), points(form.roles.filters), points(form.summed_channels)) == counts
        assert points(form.taps) == math.prod(case[1][2:])
        assert form.channel_dimensions() == (None if case[0][1] == 1 < points(form.taps) else 1, 1)


def test_strides_and_dilations_of_every_dimension() -> None:
    form = form_of(convolved((1, 8, 11, 6), (5, 8, 3, 2), pads=(1, 0, 2, 3), strides=(2, 3), dilations=(2, 1)))
    assert [(slide.stride, slide.dilation, slide.seen) for slide in form.slides] == [(2, 2, 13), (3, 1, 8)]


def test_every_layout() -> None:
    operator = convolved((2, 4, 5, 6), (3, 4, 2, 3))
    for image, result in product(permutations(range(4)), repeat=2):
        write = Access("y", tuple(operator.write.indices[place] for place in result))
        form = form_of(replace(permuted(operator, 0, image), write=write))
        assert form.channel_dimensions() == (image.index(1), result.index(1))


def test_a_result_that_numbers_several_outputs_has_no_channel() -> None:
    operator = convolved((2, 4, 5, 6), (3, 4, 2, 3))
    n, m, row, column = operator.write.indices
    form = form_of(replace(operator, write=Access("y", (n, m, row * 4 + column))))
    assert form.channel_dimensions() == (1, None)


def test_depthwise_filters_without_channels_and_with_reversed_taps() -> None:
    operator = convolved((1, 7, 9), (7, 1, 3), 7)
    form = form_of(operator)
    assert (points(form.roles.group), form.summed_channels) == (7, ())
    weights = operator.reads[1]
    reversed_taps = replace(weights, indices=(*weights.indices[:2], constant(2) - weights.indices[2]))
    assert form_of(replace(operator, reads=(operator.reads[0], reversed_taps))).taps == form.taps


def test_outputs_and_batches_known_at_run_time() -> None:
    operator = convolved((2, 4, 9), (3, 4, 3))
    symbols = {"n": SymbolicExtent("N", 1, 8, 2), "o0": SymbolicExtent("W", 1, 64, 7)}
    form = form_of(replace(operator, axes=tuple(replace(a, extent=symbols.get(a.name, a.extent)) for a in operator.axes)))
    assert (form.roles.batch[0].extent, form.roles.outputs[0].extent) == (symbols["n"], symbols["o0"])


PADDED = convolved((2, 4, 9), (3, 4, 3), pads=(1, 1))


def changed(operator: Operator, **changes: Any) -> Operator:
    """The operator with another read of the image."""
    return replace(operator, reads=(replace(operator.reads[0], **changes), operator.reads[1]))


N, C, X = PADDED.reads[0].indices
OTHERS = {
    "a product of matrices": einsum("mk,kn->mn", [Tensor("l", (4, 5)), Tensor("r", (5, 6))], name="p", result="y")[0],
    "a product of stacks of matrices": einsum(
        "bmk,bkn->bmn", [Tensor("l", (3, 4, 5)), Tensor("r", (3, 5, 6))], name="p", result="y"
    )[0],
    "a sum of one read": replace(PADDED, reads=PADDED.reads[:1]),
    "a lookup": changed(PADDED, lookups=((0, 1),)),
    "a guard over two axes": changed(PADDED, guard=Guard((X + N,), 0.0)),
    "a guard by another step": changed(PADDED, guard=Guard((X + axis("o0"),), 0.0)),
    "digits of a reshape": changed(PADDED, indices=(N, C, floordiv(X, 2))),
    "channels that move with windows": changed(PADDED, indices=(N, C + axis("k0"), X)),
    "windows along a diagonal": changed(PADDED, indices=(X, C, X)),
    "windows that go backwards": changed(PADDED, indices=(N, C, X * -1), guard=None),
    "a channel with a step": changed(PADDED, indices=(N, C * 2, X)),
    "guarded filters": replace(PADDED, reads=(PADDED.reads[0], replace(PADDED.reads[1], guard=Guard((axis("k0") - 1,), 0.0)))),
    "channels known at run time only": replace(
        PADDED, axes=tuple(Axis("c", SymbolicExtent("C", 1, 8, 4), a.kind) if a.name == "c" else a for a in PADDED.axes)
    ),
}


@pytest.mark.parametrize("operator", OTHERS.values(), ids=list(OTHERS))
def test_other_operators_are_none(operator: Operator) -> None:
    assert found(operator) is None
