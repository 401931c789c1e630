"""Saturating sums of micro kernels, and the proof that operands never reach the limit.

An instruction that multiplies bytes may add two neighbouring products up in 16 bits, with saturation. A kernel that uses it
declares so. It may be chosen only where what is known of both operands proves that no sum gets so far.
"""

from __future__ import annotations

from tilewright.records import record

LARGEST_SHORT = 2**15 - 1


@record
class OperandBounds:
    """What is known of the elements of an operand: of |element|, and of |x| + |y| of neighbours of one sign along the depth."""

    largest: int
    pair: int


@record
class Saturation:
    """Sums of two neighbouring products saturate beyond `limit`, and `bounded` is the operand whose neighbours are looked at.

    Neighbours of the other operand count as its largest element each: activations, of which the type is known. Elements of the
    bounded operand beyond `largest` are wrong by themselves.
    """

    bounded: str
    """"left" or "right": as `OperandRole`."""
    limit: int = LARGEST_SHORT
    largest: int | None = None

    def worst_sum(self, left: OperandBounds, right: OperandBounds) -> int:
        """The bound on the magnitude of two neighbouring products.

        >>> Saturation("right").worst_sum(OperandBounds(255, 510), OperandBounds(127, 128))
        32640
        """
        bounded, other = (left, right) if self.bounded == "left" else (right, left)
        return other.largest * bounded.pair

    def is_excluded(self, left: OperandBounds, right: OperandBounds) -> bool:
        """Whether operands are proved never to saturate, nor to hold an element that the kernel gets wrong."""
        bounded = left if self.bounded == "left" else right
        return self.worst_sum(left, right) <= self.limit and (self.largest is None or bounded.largest <= self.largest)
