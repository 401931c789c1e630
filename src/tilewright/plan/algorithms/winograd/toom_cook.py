"""Toom-Cook matrices: several outputs of a short filter by few products, exact fractions made of interpolation points.

The outputs of a filter g of r taps over d are y[i] = sum(t) g[t] d[i + t]. By n = m + r - 1 products, m outputs are
A^T ((G g) * (B^T d)): G evaluates the filter's polynomial at n - 1 points and at infinity, and the transposed interpolation gives
A and B (S. Winograd, Arithmetic Complexity of Computations, SIAM 1980; A. Lavin, S. Gray, "Fast Algorithms for Convolutional
Neural Networks", CVPR 2016). Nested, they serve filters of two dimensions: Y = A^T ((G g G^T) * (B^T d B)) A.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import prod

from tilewright.records import record

Row = tuple[Fraction, ...]
Matrix = tuple[Row, ...]

POINTS: dict[int, tuple[Fraction, ...]] = {
    2: (Fraction(0), Fraction(1), Fraction(-1)),
    4: (Fraction(0), Fraction(5, 8), Fraction(-5, 8), Fraction(3, 2), Fraction(-3, 2)),
}
"""By the outputs of a filter of three taps; infinity comes last. Entries of A and B are fractions of powers of two, as float32
has them. The bound of errors with the points of 4 is a quarter of that with 0, +-1 and +-2. B. Barabasz, A. Anderson,
K. M. Soodhalter and D. Gregg search for such points ("Error Analysis and Improving the Accuracy of Winograd Convolution for Deep
Neural Networks", ACM Transactions on Mathematical Software 46(4), 2020)."""


@record
class ToomCook:
    """y = A^T ((G g) * (B^T d)), of `outputs` points y, `taps` points g, and as many products as B^T has rows."""

    output: Matrix
    """A^T: a row for each output."""
    filter: Matrix
    """G: a column for each tap."""
    input: Matrix
    """B^T: square."""

    @property
    def outputs(self) -> int:
        """Results of a tile, along one dimension."""
        return len(self.output)

    @property
    def products(self) -> int:
        """Products of a tile, and the points that it sees, along one dimension."""
        return len(self.input)


@cache
def toom_cook(outputs: int, taps: int = 3) -> ToomCook:
    """The matrices for so many outputs, by the points of `POINTS`.

    >>> [[str(entry) for entry in row] for row in toom_cook(2).input]
    [['-1', '0', '1', '0'], ['0', '1', '1', '0'], ['0', '-1', '1', '0'], ['0', '-1', '0', '1']]
    """
    points = POINTS[outputs]
    assert len(points) == outputs + taps - 2, "one product for each point, and one for infinity"
    others = [[other for other in points if other != point] for point in points]
    scales = [prod((point - other for other in rest), start=Fraction(1)) for point, rest in zip(points, others, strict=True)]
    output = tuple((*(point**i for point in points), Fraction(i == outputs - 1)) for i in range(outputs))
    at_points = [tuple(point**tap / scale for tap in range(taps)) for point, scale in zip(points, scales, strict=True)]
    at_infinity = tuple(Fraction(tap == taps - 1) for tap in range(taps))
    data = [(*_with_roots(rest), Fraction(0)) for rest in others]
    return ToomCook(output, (*at_points, at_infinity), (*data, _with_roots(points)))


def _with_roots(roots: Sequence[Fraction]) -> Row:
    """The coefficients of the product of (x - root), those of the lowest powers first.

    >>> [str(coefficient) for coefficient in _with_roots([Fraction(1), Fraction(-1)])]
    ['-1', '0', '1']
    """
    coefficients = [Fraction(1)]
    for root in roots:
        shifted, scaled = [Fraction(0), *coefficients], [*(-root * each for each in coefficients), Fraction(0)]
        coefficients = [left + right for left, right in zip(shifted, scaled, strict=True)]
    return tuple(coefficients)
