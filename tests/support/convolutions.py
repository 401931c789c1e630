"""Convolutions and pools by their definitions, one tap after the other in float64, and random cases of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]
Pads = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Case:
    """A convolution (filters OI...), a transposed one (filters IO...) or a pool (filters [kernel]) of an image NC..."""

    x: tuple[int, ...]
    w: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: Pads
    groups: int = 1
    options: dict[str, Any] = field(default_factory=dict)

    def arguments(self) -> dict[str, Any]:
        """As keywords of the functions."""
        return {"stride": self.strides, "dilation": self.dilations, "padding": self.pads, **self.options}


def convolved(case: Case, x: Array, w: Array) -> Array:
    """The sum of the products of every tap, of an image that is really padded."""
    rank, groups = len(case.strides), case.groups
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), *case.pads))
    outputs = [count(padded.shape[d + 2], case, d, w.shape[d + 2]) for d in range(rank)]
    data = padded.reshape(x.shape[0], groups, w.shape[1], *padded.shape[2:])
    filters = w.astype(np.float64).reshape(groups, w.shape[0] // groups, *w.shape[1:])
    y = np.zeros((x.shape[0], groups, w.shape[0] // groups, *outputs))
    for tap in np.ndindex(*w.shape[2:]):
        seen = data[(..., *places(case, tap, outputs))]
        y += np.einsum("ngc...,gmc->ngm...", seen, filters[(..., *tap)])
    return y.reshape(x.shape[0], w.shape[0], *outputs)


def transposed(case: Case, x: Array, w: Array) -> Array:
    """Every tap added to its own places of the whole result, whose border is cut off then."""
    rank, groups, more = len(case.strides), case.groups, case.options.get("output_padding", (0,) * len(case.strides))
    sizes = [(x.shape[d + 2] - 1) * case.strides[d] + case.dilations[d] * (w.shape[d + 2] - 1) + 1 + more[d] for d in range(rank)]
    data = x.astype(np.float64).reshape(x.shape[0], groups, w.shape[0] // groups, *x.shape[2:])
    filters = w.astype(np.float64).reshape(groups, w.shape[0] // groups, *w.shape[1:])
    y = np.zeros((x.shape[0], groups, w.shape[1], *sizes))
    for tap in np.ndindex(*w.shape[2:]):
        y[(..., *places(case, tap, x.shape[2:]))] += np.einsum("ngc...,gcm->ngm...", data, filters[(..., *tap)])
    cut = tuple(slice(begin, size - end) for size, (begin, end) in zip(sizes, case.pads, strict=True))
    return y.reshape(x.shape[0], groups * w.shape[1], *sizes)[(..., *cut)]


def largest(case: Case, x: Array) -> Array:
    """The largest element of every window, one window after the other; what is behind the padding is minus infinity."""
    return _pooled(case, x, lambda window, _: max(window, default=-np.inf, key=lambda v: (np.isnan(v), v)))


def mean(case: Case, x: Array) -> Array:
    """The mean of every window."""
    counts_padding = case.options.get("count_include_pad", True)
    return _pooled(case, x, lambda window, padded: sum(window) / max(padded if counts_padding else len(window), 1))


def _pooled(case: Case, x: Array, combine: Any) -> Array:
    """`combine(elements inside of x, elements inside of x and its padding)` of every window."""
    rank, kernel = len(case.strides), case.w
    outputs = []
    for d in range(rank):
        extent, (begin, end) = x.shape[d + 2], case.pads[d]
        room = extent + begin + end - (kernel[d] - 1) * case.dilations[d] - 1
        outputs.append((-(-room // case.strides[d]) if case.options.get("ceil_mode") else room // case.strides[d]) + 1)
        if case.options.get("ceil_mode") and (outputs[d] - 1) * case.strides[d] >= extent + begin:
            outputs[d] -= 1
    y = np.zeros((*x.shape[:2], *outputs))
    for n, c, *o in np.ndindex(*y.shape):
        each = [[o[d] * case.strides[d] + k * case.dilations[d] - case.pads[d][0] for k in range(kernel[d])] for d in range(rank)]
        inside = [[p for p in along if 0 <= p < x.shape[d + 2]] for d, along in enumerate(each)]
        padded = prod(sum(p < x.shape[d + 2] + case.pads[d][1] for p in along) for d, along in enumerate(each))
        y[(n, c, *o)] = combine([float(x[(n, c, *place)]) for place in product(*inside)], padded)
    return y


def count(extent: int, case: Case, d: int, taps: int) -> int:
    """How many windows lie in a padded dimension."""
    return (extent - (taps - 1) * case.dilations[d] - 1) // case.strides[d] + 1


def places(case: Case, tap: tuple[int, ...], outputs: Any) -> tuple[slice, ...]:
    """The elements that a tap of all windows meets."""
    firsts = [k * dilation for k, dilation in zip(tap, case.dilations, strict=True)]
    each = zip(firsts, outputs, case.strides, strict=True)
    return tuple(slice(first, first + (n - 1) * stride + 1, stride) if n else slice(0, 0) for first, n, stride in each)


@st.composite
def cases(draw: st.DrawFn, kind: str = "conv", *, is_symmetric: bool = False) -> Case:
    """Every parameter random; the kernel may be larger than the image, the stride than the kernel, the batch empty."""
    rank, groups = draw(st.integers(1, 3)), 1 if kind == "pool" else draw(st.integers(1, 3))
    channels, filters = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    strides, dilations, kernel = (tuple(draw(st.integers(1, 4 if rank < 3 else 2)) for _ in range(rank)) for _ in range(3))
    begins, ends = ([draw(st.integers(0, 3)) for _ in range(rank)] for _ in range(2))
    ends = begins if is_symmetric else ends
    spans = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    if kind == "pool":
        begins, ends = ([min(pad, span - 1) for pad, span in zip(side, spans, strict=True)] for side in (begins, ends))
    pads = tuple(zip(begins, ends, strict=True))
    least = [max(span - sum(pad), 1) for span, pad in zip(spans, pads, strict=True)]
    options: dict[str, Any] = {"ceil_mode": draw(st.booleans())} if kind == "pool" else {}
    if kind == "transpose":
        least = [-(-max(sum(pad) + 1 - span, 0) // s) + 1 for pad, span, s in zip(pads, spans, strides, strict=True)]
        options["output_padding"] = tuple(draw(st.integers(0, max(s, d) - 1)) for s, d in zip(strides, dilations, strict=True))
    x = (draw(st.integers(0, 2)), groups * channels, *(low + draw(st.integers(0, 5)) for low in least))
    w = {
        "conv": (groups * filters, channels, *kernel),
        "transpose": (groups * channels, filters, *kernel),
        "pool": kernel,
    }
    return Case(x, w[kind], strides, dilations, pads, groups, options)
