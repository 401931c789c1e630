"""Windows over images of run-time extents against those over fixed images, value by value."""

from __future__ import annotations

from itertools import product

import pytest

from tilewright.errors import ShapeError, Undecided
from tilewright.graph.builders.convolutions.spread import Spread, written
from tilewright.graph.builders.convolutions.windows import PaddedWindow, Same, Taps, Window, windows_over
from tilewright.graph.expressions.extents import Extent, SymbolicExtent, value_of

S = SymbolicExtent("s", 1, 64, 32)
EXTENTS = range(1, 20)


def _at(extent: Extent, s: int) -> int:
    return value_of(extent, {"s": s})


def _same_padding(extent: int, span: int, stride: int, *, is_upper: bool) -> tuple[int, int]:
    """Before and behind: the padding with which there are ceil(extent / stride) windows."""
    total = max((-(-extent // stride) - 1) * stride + span - extent, 0)
    return (total // 2, total - total // 2) if is_upper else (total - total // 2, total // 2)


def _window_count(extent: int, span: int, stride: int, begin: int, end: int, *, ceil_mode: bool = False) -> int:
    """As PyTorch counts them: with `ceil_mode` a last window that begins in the padding behind is left out."""
    room = extent + begin + end - span
    outputs = (-(-room // stride) if ceil_mode else room // stride) + 1
    return outputs - 1 if ceil_mode and outputs > 0 and (outputs - 1) * stride >= extent + begin else outputs


def _run_time(extent: Extent, taps: Taps, padding: Same | tuple[int, int], *, ceil_mode: bool = False) -> PaddedWindow:
    sides = padding if isinstance(padding, Same) else ((padding[0],), (padding[1],))
    found = windows_over((extent,), taps, sides, ceil_mode=ceil_mode)
    assert isinstance(found, PaddedWindow)
    return found


def _sees_only_its_padded_image(found: PaddedWindow, taps: Taps, s: int) -> bool:
    seen = (_at(found.window.outputs[0], s) - 1) * taps.strides[0] + taps.spans()[0]
    return seen <= s + _at(found.begins[0], s) + _at(found.ends[0], s)


@pytest.mark.parametrize("ceil_mode", [False, True])
def test_as_many_windows_as_over_a_fixed_image(*, ceil_mode: bool) -> None:
    image = SymbolicExtent("s", 12, 64, 32)
    for kernel, stride, dilation, begin, end in product((1, 2, 3, 5), (1, 2, 3, 4), (1, 2), (0, 1), (0, 1, 2, 6)):
        taps = Taps((kernel,), (stride,), (dilation,))
        found = _run_time(image, taps, (begin, end), ceil_mode=ceil_mode)
        for s in range(12, 26):
            count = _window_count(s, taps.spans()[0], stride, begin, end, ceil_mode=ceil_mode)
            assert _at(found.window.outputs[0], s) == count
            assert windows_over((s,), taps, ((begin,), (end,)), ceil_mode=ceil_mode).outputs == (count,)
            assert _sees_only_its_padded_image(found, taps, s)


@pytest.mark.parametrize("is_upper", [False, True])
def test_same_padding_is_that_of_a_fixed_image_for_strides_longer_than_windows_too(*, is_upper: bool) -> None:
    for kernel, stride, dilation in product((1, 2, 3, 4, 5), (1, 2, 3, 4, 6), (1, 2)):
        taps = Taps((kernel,), (stride,), (dilation,))
        same = Same.UPPER if is_upper else Same.LOWER
        found = _run_time(S, taps, same)
        for s in EXTENTS:
            begin, end = _same_padding(s, taps.spans()[0], stride, is_upper=is_upper)
            assert _at(found.window.outputs[0], s) == -(-s // stride) == _window_count(s, taps.spans()[0], stride, begin, end)
            fixed = windows_over((s,), taps, same)
            assert isinstance(fixed, Window)
            assert (fixed.begins, fixed.ends, fixed.outputs) == ((begin,), (end,), (-(-s // stride),))
            assert (_at(found.begins[0], s), _at(found.asked[0], s)) == (begin, end)
            assert _sees_only_its_padded_image(found, taps, s)


def test_images_that_no_window_fits_into_are_decided_by_their_range() -> None:
    taps = Taps((3,), (1,), (2,))
    with pytest.raises(Undecided) as problem:
        windows_over((S,), taps, ((0,), (1,)))
    assert problem.value.cuts == (("s", 4),)
    with pytest.raises(ShapeError, match=r"a window of 5 in s \+ 1 elements"):
        windows_over((SymbolicExtent("s", 1, 3, 3),), taps, ((0,), (1,)))


def test_transposed_windows_write_what_the_formula_says() -> None:
    taps = Taps((3,), (2,), (2,))
    found = Spread.cut((S,), taps, (1,), (2,), (1,))
    whole = Spread.to((S,), taps, (0,), (20,), is_upper=False)
    for s in EXTENTS:
        assert _at(written((S,), taps)[0], s) == max(i * 2 + k * 2 for i in range(s) for k in range(3)) + 1
        assert _at(found.outputs[0], s) == (s - 1) * 2 + 2 * 2 + 1 + 1 - 3
        spare = (s - 1) * 2 + 5 - 20
        assert _at(whole.begins[0], s) == max(spare - spare // 2, 0)
    with pytest.raises(Undecided, match="would be left") as problem:
        Spread.cut((S,), taps, (0,), (4,), (4,))
    assert problem.value.cuts == (("s", 3),)
