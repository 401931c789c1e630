"""C of compensated sums, of vectors and of doubles: what an addition rounds away goes into the next one.

The rest of an addition is exact (two-sum: Knuth, The Art of Computer Programming 2, section 4.2.2, theorem B), so that a total is
wrong by 2u of the sum of absolute values, up to terms of n * u^2 (Higham, Accuracy and Stability of Numerical Algorithms, section
4.3). Of sums that are not finite there is no rest.
"""

from __future__ import annotations

from tilewright.kernels.helpers import Helper, filled

TAKE_IN = """\
TW_INLINE void tw_take_in@AS@(@T@ *sum, @T@ *rest, @T@ block) {
  const @T@ more = block + *rest, grown = *sum + more, taken = grown - *sum;
  const @T@ lost = (*sum - (grown - taken)) + (more - taken);
  *rest = @FINITE@;
  *sum = grown;
}
"""
TYPES = {
    "": {"AS": "", "T": "tw_vec", "FINITE": "tw_where(tw_equal(lost, lost), lost, tw_splat(0.0f))"},
    "float64": {"AS": "_float64", "T": "double", "FINITE": "lost == lost ? lost : 0"},
}


def compensated_sum(of: str) -> Helper:
    """The function `tw_take_in` of vectors (""), or of doubles ("float64").

    >>> compensated_sum("float64").name
    'tw_take_in_float64'
    """
    return Helper(f"tw_take_in{TYPES[of]['AS']}", filled(TAKE_IN, TYPES[of]))
