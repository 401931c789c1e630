"""Sum and squared deviations of a long row in one pass: of its points less the first one, and of the squares of these.

    D = sum(x - x0),    Q = sum((x - x0)^2),    mean = x0 + D / n,    sum((x - mean)^2) = Q - D^2 / n

(T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for Computing the Sample Variance", The American Statistician 37 (1983),
section 3: shifted data). With k, the square of (mean - x0) over the variance, the difference loses a factor of 1 + 2 k: the
relative error of the variance is at most (1 + 2 k) e, where e is that of two passes. Where k is above `MOST_SHIFTED`, or nothing
is known of it because something is not finite, squares are summed in a second pass about the mean.
"""

from __future__ import annotations

from math import prod

from tilewright.graph.expressions.scalar import Apply, Point, Scalar, State
from tilewright.graph.types import Operator, Reduction, StateVariable, planned_extent
from tilewright.records import record

MOST_SHIFTED = 16.0
"""The first point lies within 4 deviations of the mean in all but one of 15,000 rows of normally distributed points."""


@record
class Moments:
    """Of the points of a row: their sum, and the sum of their squared deviations from `mean`, which is the sum over `count`."""

    total: StateVariable
    squares: StateVariable
    mean: Scalar
    count: Scalar


def moments_of(reduction: Reduction) -> Moments | None:
    """The states of a reduction as moments; None of other states.

    >>> from tilewright.graph.builders.norms import layer_norm_reduction
    >>> from tilewright.graph.expressions.scalar import Literal
    >>> norm = layer_norm_reduction(Literal(8.0), 0.0, has_weight=False, has_bias=False)
    >>> found = moments_of(norm)
    >>> found.total.name, found.squares.name, found.count
    ('total', 'squares', Literal(value=8.0))
    """
    if len(reduction.states) != 2 or any(state.combine != "add" or state.identity != 0 for state in reduction.states):
        return None
    total, squares = reduction.states
    match squares.contribution:
        case Apply("square", (Apply("subtract", (Point(), Apply("divide", (State(name), count)) as mean)),)):
            return Moments(total, squares, mean, count) if name == total.name and total.contribution == Point() else None
    return None


def takes_moments(operator: Operator, longest: int) -> bool:
    """Whether the moments of an operator's rows are summed in one pass: of rows of more points, along which lanes run.

    Its extents are those that are planned for.
    """
    reduced = {axis.name: planned_extent(axis.extent) for axis in operator.reduction_axes()}
    is_long = prod(reduced.values()) > longest and operator.write.innermost() in reduced
    return is_long and operator.reduction is not None and moments_of(operator.reduction) is not None
