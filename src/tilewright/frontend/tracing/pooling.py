"""`max_pool`, `avg_pool` and global pools, along one, two or three dimensions: PyTorch's meaning, and every layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.tracing import functions as tw
from tilewright.frontend.tracing.dynamic_dimensions import wholes
from tilewright.frontend.tracing.location import user_location
from tilewright.frontend.tracing.promotion import Kind, float_type, reduced_type
from tilewright.frontend.tracing.recording import array_of, converted, recorded
from tilewright.frontend.tracing.window_arguments import SPACE, WindowArguments, explicit_padding, numbers, places, space
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.window_means import lowest, pooled, pooled_mean
from tilewright.graph.builders.convolutions.windows import PaddedWindow, Window
from tilewright.graph.builders.elementwise import REDUCTIONS
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor

Record = Callable[[Builder, Tensor, Window | PaddedWindow, int], Tensor]
"""The pool of a tensor whose windows move along dimensions from a number on."""
Rule = Callable[[Sequence[Kind]], np.dtype[Any]]
"""The type that a pool computes in, by that of its operand."""


def max_pool(
    x: Any,
    kernel_size: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str | None = None,
) -> Any:
    """The largest element of every window; NaN if there is one.

    x has the shape (N, C, W), (N, C, H, W) or (N, C, D, H, W), or `layout` names the order of its dimensions, in which the
    spatial ones lie side by side ("NHWC"); the result has the same layout.

    - `kernel_size`, `stride` (default: the kernel's), `dilation`: a number, or one for each spatial dimension.
    - `padding`, which no element is below: as for `conv2d`. Every window must see an element of x.
    - `ceil_mode`: a last window may stand out behind, unless it begins in the padding there.

    Source: PyTorch 2.13, torch.nn.functional.max_pool2d. Raises `ShapeError` and `DTypeError`.

    >>> import numpy as np
    >>> max_pool(np.arange(6.0).reshape(1, 1, 6), 3, stride=2, padding=1).tolist()
    [[[1.0, 3.0, 5.0]]]
    """

    def record(builder: Builder, x: Tensor, given: Window | PaddedWindow, first: int) -> Tensor:
        return pooled(builder, x, given, REDUCTIONS["max"], lowest(x.dtype), first)

    windows = (kernel_size, stride, padding, dilation)
    return _pooled("max_pool", x, windows, ceil_mode, layout, partial(reduced_type, "max"), record)


def avg_pool(
    x: Any,
    kernel_size: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str | None = None,
) -> Any:
    """The mean of every window: of its elements inside of x and its padding, or inside of x alone without `count_include_pad`.

    What stands out behind the padding (`ceil_mode`) never counts. The other arguments are those of `max_pool`. Source: PyTorch
    2.13, torch.nn.functional.avg_pool2d. Raises `ShapeError` and `DTypeError`.

    >>> import numpy as np
    >>> x = np.arange(1.0, 5.0).reshape(1, 1, 4)
    >>> avg_pool(x, 2, padding=1).tolist(), avg_pool(x, 2, padding=1, count_include_pad=False).tolist()
    ([[[0.5, 2.5, 2.0]]], [[[1.0, 2.5, 4.0]]])
    """

    def record(builder: Builder, x: Tensor, given: Window | PaddedWindow, first: int) -> Tensor:
        return pooled_mean(builder, x, given, with_padding=bool(count_include_pad), first=first)

    windows = (kernel_size, stride, padding, dilation)
    return _pooled("avg_pool", x, windows, ceil_mode, layout, partial(float_type, "avg_pool"), record)


def global_max_pool(x: Any, *, layout: str | None = None) -> Any:
    """The largest element of every channel; the spatial dimensions stay with extent 1.

    >>> import numpy as np
    >>> global_max_pool(np.arange(8.0).reshape(1, 2, 2, 2)).tolist()
    [[[[3.0]], [[7.0]]]]
    """
    return tw.max(x, axis=_spatial("global_max_pool", x, layout), keepdims=True)


def global_avg_pool(x: Any, *, layout: str | None = None) -> Any:
    """The mean of every channel; the spatial dimensions stay with extent 1.

    >>> import numpy as np
    >>> global_avg_pool(np.arange(8.0).reshape(1, 2, 2, 2), layout="NHWC").tolist()
    [[[[3.0, 4.0]]]]
    """
    return tw.mean(x, axis=_spatial("global_avg_pool", x, layout), keepdims=True)


def _pooled(
    name: str, x: Any, given: tuple[Any, Any, Any, Any], ceil_mode: Any, layout: str | None, rule: Rule, record: Record
) -> Any:
    kernel_size, stride, padding, dilation = given
    x = array_of(x)
    spatial = _spatial(name, x, layout)
    rank, first, what = len(spatial), spatial[0], f"{name} of {shape_text(wholes(x.shape))}"
    kernel = numbers("kernel_size", kernel_size, rank, what)
    steps = kernel if stride is None else numbers("stride", stride, rank, what)
    arguments = WindowArguments(what, kernel, steps, numbers("dilation", dilation, rank, what), padding)
    extents = wholes(x.shape)[first : first + rank]
    x = converted(x, rule([x.dtype]))
    if 0 in extents:
        arguments.windows(extents, ceil_mode=bool(ceil_mode))
        raise _no_elements(what, padding, space(rank)[extents.index(0)], arguments.spans()[extents.index(0)])
    window = arguments.windows(extents, ceil_mode=bool(ceil_mode))
    if not isinstance(padding, str):
        pads = explicit_padding(padding, rank, what)
        for letter, before, behind, span in zip(space(rank), *pads, arguments.spans(), strict=True):
            if max(before, behind) >= span:
                raise _no_elements(what, padding, letter, span)
    return recorded(name, lambda builder, tensor: record(builder, tensor, window, first), (x,))


def _spatial(name: str, x: Any, layout: str | None) -> tuple[int, ...]:
    """The spatial dimensions, side by side. Raises `ShapeError` for other layouts, and without any."""
    shape = wholes(array_of(x).shape)
    what, rank = f"{name} of {shape_text(shape)}", len(shape) - 2
    if not 1 <= rank <= len(SPACE):
        why = "x has the dimensions NCW, NCHW or NCDHW"
        raise ShapeError(what, where=user_location(), why=why, hint="add dimensions by reshape or expand_dims")
    canonical = f"NC{space(rank)}"
    found = places("layout", canonical if layout is None else layout, canonical, what)[2:]
    if found != tuple(range(found[0], found[0] + rank)):
        why = f"the dimensions {', '.join(space(rank))} lie side by side, in this order"
        raise ShapeError(f"{what} with layout={layout!r}", where=user_location(), why=why, hint="transpose x first")
    return found


def _no_elements(what: str, padding: Any, letter: str, span: int) -> ShapeError:
    why = f"along {letter} a window of {span} elements sees padding only"
    hint = "use less padding than the window is long"
    return ShapeError(f"{what} with padding={padding!r}", where=user_location(), why=why, hint=hint)
