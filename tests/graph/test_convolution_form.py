"""Convolution form: what it says about an operator is what the operator computes, and other operators have no form."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.graphs import single
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.graph.builders.convolutions.convolution import convolution
from tilewright.graph.builders.convolutions.windows import Window
from tilewright.graph.builders.einsum import einsum
from tilewright.graph.convolution_form import ConvolutionForm
from tilewright.graph.expressions.index import axis, constant, floordiv
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Access, Axis, Guard, Operator, SymbolicExtent, Tensor

Array = np.ndarray[Any, Any]


def convolved(x: tuple[int, ...], w: tuple[int, ...], group: int = 1, **attributes: Any) -> Operator:
    return convolution(
        Tensor("x", x), Tensor("w", w), window_of(x[2:], w[2:], where="Conv", **attributes), group, name="conv", result="y"
    )[0]


def form_of(operator: Operator) -> ConvolutionForm:
    form = ConvolutionForm.of(operator)
    assert form is not None
    return form


def by_form(form: ConvolutionForm, x: Array, w: Array) -> Array:
    """The sums as the form describes them, for NC... images and OI... filters: one output after the other."""
    extents = [window.output.extent for window in form.windows]
    assert all(isinstance(extent, int) for extent in extents)
    shape = (x.shape[0], form.groups * form.filters_per_group, *extents)
    y = np.zeros(shape, np.float64)
    for n, row, *place in np.ndindex(*shape):
        for c, *taps in np.ndindex(form.channels_per_group, *form.taps):
            position = []
            for window, o, k in zip(form.windows, place, taps, strict=True):
                at = o * window.stride + k * window.dilation + window.offset
                is_real = (window.first is None or at >= window.first) and (window.last is None or at <= window.last)
                position += [at] if is_real else []
            if len(position) == len(place):
                channel = row // form.filters_per_group * form.channels_per_group + c
                y[(n, row, *place)] += x[(n, channel, *position)] * w[(row, c, *taps)]
    return y


def permuted(operator: Operator, read: int, order: tuple[int, ...]) -> Operator:
    """The operator over a tensor with its dimensions in another order."""
    reads = list(operator.reads)
    reads[read] = replace(reads[read], indices=tuple(reads[read].indices[place] for place in order))
    return replace(operator, reads=tuple(reads))


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], Window, int]:
    """(image's shape, filters' shape, windows, groups)"""
    rank, numbers = draw(st.integers(1, 2)), st.integers(1, 3)
    group, filters, channels = draw(numbers), draw(numbers), draw(numbers)
    extents, kernel, strides, dilations, begins, outputs = (
        tuple(draw(st.lists(values, min_size=rank, max_size=rank)))
        for values in (st.integers(1, 5), numbers, numbers, numbers, st.integers(0, 3), st.integers(1, 4))
    )
    window = Window(extents, kernel, strides, dilations, begins, begins, outputs)
    return (draw(st.integers(0, 2)), group * channels, *extents), (group * filters, channels, *kernel), window, group


@given(case=cases(), order=st.randoms(use_true_random=False), is_swapped=st.booleans())
def test_a_form_says_what_its_operator_computes(case: tuple[Any, ...], order: Any, is_swapped: bool) -> None:
    shape, filters, window, group = case
    operator, y = convolution(Tensor("x", shape), Tensor("w", filters), window, group, name="conv", result="y")
    random = np.random.default_rng(0)
    x, w = random.integers(-4, 5, shape).astype(np.float32), random.integers(-4, 5, filters).astype(np.float32)
    (wanted,) = evaluate(single(operator, y, (Tensor("x", shape), Tensor("w", filters))), {"x": x, "w": w}).values()
    for read, rank in enumerate((len(shape), len(filters))):
        operator = permuted(operator, read, tuple(order.sample(range(rank), rank)))
    operator = replace(operator, reads=operator.reads[::-1]) if is_swapped else operator
    form = ConvolutionForm.of(operator)
    if form is None:
        assert (len(window.extents) == 1 and window.is_pointwise()) or window.kernel == (1,)
        return
    assert (form.image_access.tensor, form.groups * form.channels_per_group) == ("x", shape[1])
    np.testing.assert_array_equal(by_form(form, x, w), wanted)


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
def test_groups_filters_channels_and_layouts(case: Any, attributes: Any, counts: tuple[int, int, int]) -> None:
    form = form_of(convolved(*case, **attributes))
    assert (form.groups, form.filters_per_group, form.channels_per_group) == counts
    assert form.taps == case[1][2:]
    space = "DHW"[-len(form.windows) :]
    assert form.result_layout() == f"NC{space}"
    assert form.image_layout() == (f"N1{space}" if form.channel_dimension is None else f"NC{space}")


def test_padding_strides_and_dilations_of_every_dimension() -> None:
    form = form_of(convolved((1, 8, 11, 6), (5, 8, 3, 2), pads=(1, 0, 2, 3), strides=(2, 3), dilations=(2, 1)))
    assert [(w.stride, w.dilation, w.taps, w.offset, w.first, w.last, w.begin, w.end, w.span) for w in form.windows] == [
        (2, 2, 3, -1, 0, 10, 1, 1, 5),
        (3, 1, 2, 0, None, 5, 0, 2, 2),
    ]
    assert [window.seen for window in form.windows] == [13, 8]
    assert not form.is_pointwise()


def test_other_layouts() -> None:
    operator = permuted(permuted(convolved((2, 9, 7, 5), (6, 3, 3, 3), 3), 0, (0, 2, 3, 1)), 1, (2, 3, 1, 0))
    write = Access("y", tuple(operator.write.indices[place] for place in (0, 2, 3, 1)))
    form = form_of(replace(operator, write=write))
    assert (form.image_layout(), form.result_layout()) == ("NHWC", "NHWC")


def test_depthwise_filters_without_channels_and_with_reversed_taps() -> None:
    operator = convolved((1, 7, 9), (7, 1, 3), 7)
    form = form_of(operator)
    assert (form.groups, form.channels) == (7, None)
    weights = operator.reads[1]
    reversed_taps = replace(weights, indices=(*weights.indices[:2], constant(2) - weights.indices[2]))
    assert form_of(replace(operator, reads=(operator.reads[0], reversed_taps))).taps == form.taps


def test_a_slice_that_is_read_through_shifts_what_is_real() -> None:
    """Rows 3 to 7 of a taller image, padded by 1: the guard, not the tensor's shape, says where the image ends."""
    operator = convolved((1, 2, 5), (3, 2, 3), pads=(1, 1))
    image = operator.reads[0]
    (form,) = (
        form_of(replace(operator, reads=(replace(image, indices=(*image.indices[:2], image.indices[2] + 3)), operator.reads[1]))),
    )
    assert [(w.offset, w.first, w.last, w.begin, w.end) for w in form.windows] == [(2, 3, 7, 1, 1)]


def test_outputs_and_batches_known_at_run_time() -> None:
    operator = convolved((2, 4, 9), (3, 4, 3))
    symbols = {"n": SymbolicExtent("N", 1, 8, 2), "o0": SymbolicExtent("W", 1, 64, 7)}
    form = form_of(replace(operator, axes=tuple(replace(a, extent=symbols.get(a.name, a.extent)) for a in operator.axes)))
    assert (str(form.windows[0].seen), form.batch[0].extent) == ("W + 2", symbols["n"])


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
def test_other_operators_have_no_form(operator: Operator) -> None:
    assert ConvolutionForm.of(operator) is None


def test_a_batch_with_a_step_or_a_limit_is_a_window_of_one_tap() -> None:
    for operator in (changed(PADDED, indices=(N * 2, C, X)), changed(PADDED, guard=Guard((constant(1) - N,), 0.0))):
        form = form_of(operator)
        assert (form.batch, [window.taps for window in form.windows]) == ((), [1, 3])


def test_every_layout_letter_is_found() -> None:
    operator = convolved((2, 4, 5, 6), (3, 4, 2, 3))
    for order in product(range(4), repeat=4):
        if len(set(order)) == 4:
            assert form_of(permuted(operator, 0, order)).image_layout() == "".join("NCHW"[place] for place in order)
