"""The C of totals of long sums, of vectors and of doubles: what an addition rounds away goes into the next one.

The rest of an addition is exact (two-sum: Knuth, The Art of Computer Programming 2, section 4.2.2, theorem B), so that a total is
wrong by 2u of the sum of absolute values, up to terms of n * u^2 (Higham, Accuracy and Stability of Numerical Algorithms, section
4.3). Of sums that are not finite there is no rest.
"""

from __future__ import annotations

from collections.abc import Iterable

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


def total_functions(types: Iterable[str]) -> list[str]:
    """The functions `tw_take_in` of vectors (""), and of doubles ("float64").

    >>> [text.split("(")[0].split()[-1] for text in total_functions(["float64", ""])]
    ['tw_take_in', 'tw_take_in_float64']
    """
    return [_filled(TYPES[one]) for one in sorted(set(types))]


def _filled(words: dict[str, str]) -> str:
    text = TAKE_IN
    for key, word in words.items():
        text = text.replace(f"@{key}@", word)
    return text
