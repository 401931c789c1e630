"""`conv1d`, `conv2d`, `conv3d` and their transposed relatives: PyTorch's meaning, and every layout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, Signature, signature
from math import gcd
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.tracing import functions as tw
from tilewright.frontend.tracing.dynamic_dimensions import wholes
from tilewright.frontend.tracing.location import located, user_location
from tilewright.frontend.tracing.promotion import contracted_type
from tilewright.frontend.tracing.recording import array_of, converted, recorded
from tilewright.frontend.tracing.window_arguments import WindowArguments, explicit_padding, known_extents, numbers, places, space
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.convolutions.convolution import Layouts, convolved
from tilewright.graph.builders.convolutions.spread import Spread
from tilewright.graph.builders.convolutions.transposed_convolution import transposed_convolution
from tilewright.graph.builders.convolutions.windows import Taps
from tilewright.graph.shapes import Shape, divisors_of, shape_text
from tilewright.graph.types import Tensor
from tilewright.records import record


@record
class _Operands:
    """What a convolution is of: arrays, and where their dimensions lie."""

    name: str
    what: str
    """The operation and its shapes, for messages."""
    x: Any
    w: Any
    bias: Any
    groups: int
    layouts: Layouts
    is_one_image: bool
    """Whether x came without a batch."""
    letters: tuple[str, str]
    """The layouts of x and the filters, for messages."""

    @property
    def rank(self) -> int:
        """How many spatial dimensions there are."""
        return len(self.layouts.image) - 2

    def extents(self) -> Shape:
        """Of x: N, C, space."""
        shape = wholes(self.x.shape)
        return tuple(shape[place] for place in self.layouts.image)

    def filters(self) -> tuple[int, ...]:
        """The extents of the filters in their canonical order."""
        shape = wholes(self.w.shape)
        return known_extents(tuple(shape[place] for place in self.layouts.filters), self.what)


def conv2d(
    x: Any,
    w: Any,
    bias: Any = None,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "NCHW",
    filter_layout: str = "OIHW",
    out_layout: str | None = None,
) -> Any:
    """y[n, g M + m, o] = bias[g M + m] + sum of x[n, g C + c, o * stride + k * dilation - padding] * w[g M + m, c, k].

    The sum is over channels c and taps k. x has the shape (N, C, H, W), or (C, H, W) for one image; the filters w
    (O, C / groups, KH, KW), where `groups` divides C and O; bias (O,). With groups = C every channel has filters of its own
    (depthwise; O / C of them).

    - `stride`, `dilation`: a number, or one for each spatial dimension.
    - `padding`, by zeros: a number; for each spatial dimension a number or a pair (before, behind); "valid" (none); "same" or
      "same_upper" (ceil(extent / stride) outputs, an odd element of padding behind), "same_lower" (before).
    - `layout` names the dimensions of x and of the result in their order, `out_layout` those of the result where they differ,
      `filter_layout` those of w: "NHWC" and "HWIO" are TensorFlow's.

    Outputs: (H + padding - dilation (KH - 1) - 1) // stride + 1. Products with the zeros of the padding count: zero times
    infinity is NaN. Source: PyTorch 2.13, torch.nn.functional.conv2d. Raises `ShapeError` and `DTypeError`.

    >>> import numpy as np
    >>> conv2d(np.ones((1, 2, 4, 4)), np.ones((3, 2, 3, 3)), stride=2, padding=1)[0, 0].tolist()
    [[8.0, 12.0], [12.0, 18.0]]
    >>> conv2d(np.ones((1, 4, 4, 6)), np.ones((3, 3, 1, 6)), padding="same", groups=6, layout="NHWC", filter_layout="HWIO").shape
    (1, 4, 4, 6)
    """
    return _convolved("conv2d", "OIHW", x, w, bias, stride, padding, dilation, groups, layout, filter_layout, out_layout)


def conv_transpose2d(
    x: Any,
    w: Any,
    bias: Any = None,
    *,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    layout: str = "NCHW",
    filter_layout: str = "IOHW",
    out_layout: str | None = None,
) -> Any:
    """y[n, g M + m, i * stride + k * dilation - padding] takes in x[n, g C + c, i] * w[g C + c, m, k] for all c, i and k.

    x has the shape (N, C, H, W), or (C, H, W) for one image; the filters w (C, O / groups, KH, KW), bias (O,). `padding` cuts
    elements off the result: a number, or for each spatial dimension a number or a pair (before, behind); `output_padding`
    adds elements behind. The other arguments are those of `conv2d`.

    Outputs: (H - 1) * stride - padding + dilation (KH - 1) + output_padding + 1. Source: PyTorch 2.13,
    torch.nn.functional.conv_transpose2d. Raises `ShapeError` and `DTypeError`.

    >>> import numpy as np
    >>> conv_transpose2d(np.ones((1, 8, 5, 5)), np.ones((8, 4, 3, 3)), stride=2, padding=1, output_padding=1).shape
    (1, 4, 10, 10)
    """
    layouts = (layout, filter_layout, out_layout)
    return _transposed("conv_transpose2d", "IOHW", x, w, bias, stride, padding, output_padding, groups, dilation, *layouts)


def _convolved(
    name: str, letters: str, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any, *layouts: Any
) -> Any:
    """One operator, behind a padded copy of some images of run-time extents."""
    given = _operands(name, letters, x, w, bias, groups, *layouts)
    filters, channels, *kernel = given.filters()
    _check(given, filters, channels * given.groups, kernel)
    steps, apart = numbers("stride", stride, given.rank, given.what), numbers("dilation", dilation, given.rank, given.what)
    arguments = WindowArguments(given.what, tuple(kernel), steps, apart, padding)
    window = arguments.windows(given.extents()[2:])

    def record(builder: Builder, x: Tensor, w: Tensor, bias: Tensor | None) -> Tensor:
        return convolved(builder, x, w, window, given.groups, given.layouts, bias)

    return _recorded(given, record)


def _transposed(name: str, letters: str, x: Any, w: Any, bias: Any, stride: Any, padding: Any, *others: Any) -> Any:
    output_padding, groups, dilation, *layouts = others
    given = _operands(name, letters, x, w, bias, groups, *layouts)
    channels, filters, *taps = given.filters()
    _check(given, filters * given.groups, channels, taps)
    found = _spread(given, tuple(taps), stride, padding, output_padding, dilation)

    def record(builder: Builder, x: Tensor, w: Tensor, bias: Tensor | None) -> Tensor:
        x, w = _ordered(builder, x, given.layouts.image), _ordered(builder, w, given.layouts.filters)
        y = transposed_convolution(builder, x, w, found, given.groups, bias)
        return _ordered(builder, y, tuple(map(given.layouts.result.index, range(given.rank + 2))))

    return _recorded(given, record)


def _spread(given: _Operands, taps: tuple[int, ...], stride: Any, padding: Any, output_padding: Any, dilation: Any) -> Spread:
    """Where the windows lie. Raises `ShapeError` where nothing is left, and where `output_padding` is as large as a step."""
    rank, what = given.rank, given.what
    steps, apart = numbers("stride", stride, rank, what), numbers("dilation", dilation, rank, what)
    more, (begins, ends) = numbers("output_padding", output_padding, rank, what, 0), explicit_padding(padding, rank, what)
    if any(extra >= max(step, gap) for extra, step, gap in zip(more, steps, apart, strict=True)):
        why = "it is less than the stride or the dilation: it tells apart the shapes that a stride maps to one"
        hint = "pad the result instead"
        raise ShapeError(f"{what} with output_padding={output_padding!r}", where=user_location(), why=why, hint=hint)
    try:
        return Spread.cut(given.extents()[2:], Taps(taps, steps, apart), more, begins, ends)
    except ShapeError as error:
        error.why = f"the padding cuts off more than there is: {error.message}"
        error.message, error.hint = f"{what} with padding={padding!r}", "use less padding"
        raise located(error) from None


def _operands(
    name: str, filter_letters: str, x: Any, w: Any, bias: Any, groups: Any, layout: Any, filter_layout: Any, out_layout: Any
) -> _Operands:
    """Arrays of one type, with their layouts and ranks checked. Raises `ShapeError` and `DTypeError`."""
    x, w, bias = map(array_of, (x, w, bias))
    rank, what = len(filter_letters) - 2, f"{name} of {shape_text(wholes(x.shape))} by {shape_text(wholes(w.shape))}"
    letters = f"NC{space(rank)}"
    layouts = Layouts(
        places("layout", layout, letters, what),
        places("filter_layout", filter_layout, filter_letters, what),
        places("out_layout", layout if out_layout is None else out_layout, letters, what),
    )
    if x.ndim not in (rank + 1, rank + 2) or w.ndim != rank + 2:
        why = f"x has the dimensions {layout}, or these without N, and the filters have {filter_layout}"
        hint = "conv1d, conv2d and conv3d are for one, two and three spatial dimensions, as are the transposed ones"
        raise ShapeError(what, where=user_location(), why=why, hint=hint)
    if not isinstance(groups, int | np.integer) or groups < 1:
        raise ShapeError(f"{what} with groups={groups!r}", where=user_location(), why="it is an integer from 1 on")
    dtype = contracted_type(name, [operand.dtype for operand in (x, w, bias) if operand is not None])
    x, w = converted(x, dtype), converted(w, dtype)
    bias = None if bias is None else converted(bias, dtype)
    is_one_image = x.ndim == rank + 1
    x = tw.expand_dims(x, layouts.image[0]) if is_one_image else x
    return _Operands(name, what, x, w, bias, int(groups), layouts, is_one_image, (layout, filter_layout))


def _check(given: _Operands, filters: int, taken: int, taps: Sequence[int]) -> None:
    """Raises `ShapeError` for groups that do not divide, other channels than the filters take, and a bias of another shape."""
    (channels,) = known_extents(given.extents()[1:2], given.what)
    groups, place, (layout, filter_layout) = given.groups, user_location(), given.letters
    many = f" with groups={groups}" if groups > 1 else ""
    if channels % groups or filters % groups:
        why = f"groups divide the {channels} channels of x and the {filters} filters"
        fitting = [str(count) for count in divisors_of(gcd(channels, filters))]
        hint = f"groups can be {', '.join(fitting)}" if len(fitting) <= 8 else ""
        raise ShapeError(f"{given.what}{many}", where=place, why=why, hint=hint)
    if channels != taken:
        why = f"the filters take {taken} channels, and x has {channels} (layout={layout!r}, filter_layout={filter_layout!r})"
        hint = f"groups={channels * groups // taken} fits these filters" if taken and channels * groups % taken == 0 else ""
        hint = hint or "say by layout and filter_layout where channels lie"
        raise ShapeError(f"{given.what}{many}", where=place, why=why, hint=hint)
    if given.bias is not None and wholes(given.bias.shape) != (filters,):
        text = f"{given.what} with a bias of shape {shape_text(wholes(given.bias.shape))}"
        raise ShapeError(text, where=place, why=f"there is a number for each of the {filters} filters: ({filters},)")
    if 0 in taps:
        raise ShapeError(given.what, where=place, why="the filters have no taps", hint="give every kernel extent 1 at least")


def _recorded(given: _Operands, record: Any) -> Any:
    y = recorded(given.name, record, (given.x, given.w, given.bias))
    return tw.squeeze(y, given.layouts.result[0]) if given.is_one_image else y


def _ordered(builder: Builder, x: Tensor, order: tuple[int, ...]) -> Tensor:
    return x if order == tuple(range(len(order))) else builder.transpose(x, order)


def _along(rank: int, of_images: Callable[..., Any], compute: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """A function that is another one's along so many spatial dimensions, which the letters of its layouts say, too."""

    def lettered(parameter: Parameter) -> Parameter:
        default = parameter.default
        return parameter.replace(default=default.replace("HW", space(rank))) if isinstance(default, str) else parameter

    of_rank = Signature([lettered(parameter) for parameter in signature(of_images).parameters.values()])

    def decorate(documented: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(documented)
        def function(*arrays: Any, **options: Any) -> Any:
            given = of_rank.bind(*arrays, **options)
            given.apply_defaults()
            return compute(documented.__name__, of_rank.parameters["filter_layout"].default, *given.arguments.values())

        vars(function)["__signature__"] = of_rank
        return function

    return decorate


@_along(1, conv2d, _convolved)
def conv1d(*arrays: Any, **options: Any) -> Any:
    """The convolution along one dimension: `conv2d` says what the arguments are.

    >>> import numpy as np
    >>> conv1d(np.arange(5.0).reshape(1, 1, 5), np.array([[[1.0, -1.0]]])).tolist()
    [[[-1.0, -1.0, -1.0, -1.0]]]
    """


@_along(3, conv2d, _convolved)
def conv3d(*arrays: Any, **options: Any) -> Any:
    """The convolution along three dimensions: `conv2d` says what the arguments are.

    >>> import numpy as np
    >>> conv3d(np.ones((1, 1, 2, 2, 2)), np.ones((1, 1, 2, 2, 2))).tolist()
    [[[[[8.0]]]]]
    """


@_along(1, conv_transpose2d, _transposed)
def conv_transpose1d(*arrays: Any, **options: Any) -> Any:
    """The transposed convolution along one dimension: `conv_transpose2d` says what the arguments are.

    >>> import numpy as np
    >>> conv_transpose1d(np.array([[[1.0, 2.0]]]), np.array([[[1.0, 10.0, 100.0]]]), stride=2).tolist()
    [[[1.0, 10.0, 102.0, 20.0, 200.0]]]
    """


@_along(3, conv_transpose2d, _transposed)
def conv_transpose3d(*arrays: Any, **options: Any) -> Any:
    """The transposed convolution along three dimensions: `conv_transpose2d` says what the arguments are.

    >>> import numpy as np
    >>> conv_transpose3d(np.ones((1, 1, 1, 1, 2)), np.ones((1, 1, 1, 1, 2))).tolist()
    [[[[[1.0, 2.0, 1.0]]]]]
    """
