"""Windows of direct convolutions: the weighted sums that slide over an image.

Such a sum takes what its first read gives at a point with weights that the second one gives. Legal because every output has its
own sum, and takes its products in the order of the taps: rows first, columns inside.
"""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from tilewright.block.leaf_binding import LeafBinding, Window
from tilewright.graph.expressions.index import Index, of_extent
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Scalar, subexpressions
from tilewright.graph.types import WEIGHTED_SUM, AxisKind, Operator
from tilewright.leaves.declaration import Mismatch
from tilewright.records import record

LANES_WITH_MASKS = 16
"""Vectors of so many have registers of their own for masks, so that borders cost next to nothing, and 32 for sums."""


@record
class WindowSum:
    """A weighted sum over windows along columns, and along rows if there are any; `otherwise` is read outside of the image."""

    rows: Window | None
    columns: Window
    otherwise: float

    @property
    def windows(self) -> tuple[Window, ...]:
        """Rows first."""
        return (self.columns,) if self.rows is None else (self.rows, self.columns)


def image_windows(operator: Operator, most: int = 2) -> tuple[Window, ...] | Mismatch:
    """The windows of a weighted sum along up to so many dimensions, outermost first, with the ends of the image; or why an
    operator has none."""
    if operator.reduction is None or operator.reduction.states != WEIGHTED_SUM.states or not is_of_image(operator.body):
        return Mismatch.OPERATION
    if operator.accumulator != "float32":
        return Mismatch.ELEMENT_TYPE
    image, weights = operator.reads[0], operator.reads[1]
    affine = not image.lookups and all(index.is_affine() for index in (*image.indices, *_limits(operator)))
    if not affine or not weights.is_affine():
        return Mismatch.POSITIONS
    outputs = {axis.name for axis in operator.axes if axis.kind is AxisKind.PARALLEL}
    moving = [windows_along(operator, index) for index in image.indices if index.axes() - outputs]
    windows = tuple(window for found in moving for window in found)
    if not all(moving) or not 1 <= len(windows) <= most:
        return Mismatch.WINDOWS
    return with_limits(operator, windows) or Mismatch.PADDING


def binding_of_windows(leaf: str, operator: Operator, windows: tuple[Window, ...], **axes: str) -> tuple[LeafBinding]:
    """The binding of a weighted sum: its windows, what is read outside of the image, and axes by role."""
    guard = operator.reads[0].guard
    otherwise = guard.otherwise if guard is not None else 0.0
    return (LeafBinding(leaf, tuple(axes.items()), windows, (("otherwise", otherwise),)),)


def rows_and_columns(binding: LeafBinding) -> tuple[Window | None, Window, float]:
    """The windows along rows, if there are any, and along columns, and what is read outside of the image."""
    *rows, columns = binding.windows
    return rows[0] if rows else None, columns, dict(binding.numbers)["otherwise"]


def is_of_image(body: Scalar) -> bool:
    """Whether the points of a weighted sum are made of elements of its image alone: code makes them where it loads these.

    >>> from tilewright.graph.expressions.scalar import apply
    >>> is_of_image(apply("subtract", Load(0), Literal(128.0))), is_of_image(apply("multiply", Load(0), Load(1)))
    (True, False)
    """
    leaves = [node for node in subexpressions(body) if not isinstance(node, Apply)]
    return leaves.count(Load(0)) == 1 and all(node == Load(0) or isinstance(node, Literal) for node in leaves)


def _limits(operator: Operator) -> tuple[Index, ...]:
    """The constraints of the guard of the image."""
    guard = operator.reads[0].guard
    return guard.constraints if guard is not None else ()


def windows_along(operator: Operator, index: Index) -> tuple[Window, ...]:
    """Windows of one output axis and one tap; rows, then columns, where an index walks both (images whose pixels are one
    dimension). Empty where it is neither.

    Rows are told by their larger steps. Steps of rows have their greatest common divisor as the unit of positions: limits of a
    guard are multiples of the same positions.
    """
    terms = {str(atom): coefficient for atom, coefficient in index.terms}
    taps = sorted((axis for axis in operator.reduction_axes() if axis.name in terms), key=lambda axis: -terms[axis.name])
    outputs = sorted(terms.keys() - {axis.name for axis in taps}, key=lambda name: -terms[name])
    if len(taps) != len(outputs) or not 1 <= len(taps) <= 2 or min(terms.values()) < 1:
        return ()
    found = []
    for number, (tap, output) in enumerate(zip(taps, outputs, strict=True)):
        if not isinstance(tap.extent, int):
            return ()
        unit = gcd(terms[output], terms[tap.name]) if number < len(taps) - 1 else 1
        found.append(Window(output, tap.name, tap.extent, terms[output] // unit, terms[tap.name] // unit))
    return tuple(found)


def with_limits(operator: Operator, windows: tuple[Window, ...]) -> tuple[Window, ...]:
    """Windows with the limits that the guard of the image sets; none if it sets any that is not one of positions."""
    for constraint in _limits(operator):
        limited = ((place, _limited(window, constraint)) for place, window in enumerate(windows))
        place, found = next(((place, one) for place, one in limited if one is not None), (0, None))
        if found is None:
            return ()
        windows = (*windows[:place], found, *windows[place + 1 :])
    return windows


def _limited(window: Window, constraint: Index) -> Window | None:
    """The windows, with a constraint of a guard as a limit of positions; None if it is none of them."""
    terms = dict(constraint.terms)
    extents = [(terms.pop(extent), extent) for extent in constraint.extents()]
    factor, rest = divmod(terms.pop(window.output, 0), window.stride)
    if rest or not factor or terms != ({window.tap: factor * window.dilation} if window.tap else {}):
        return None
    if factor > 0 and not extents:
        lowest = -(constraint.constant // factor)
        return replace(window, first=max(lowest, lowest if window.first is None else window.first))
    if not extents:
        highest = constraint.constant // -factor
        known = highest if window.last is None else window.last
        return replace(window, last=min(highest, known)) if isinstance(known, int) else None
    is_last = window.last is None and factor == -1 and len(extents) == 1 and extents[0][0] == 1
    return replace(window, last=of_extent(extents[0][1]) + constraint.constant) if is_last else None
