"""C text of `tw_transpose`: as many vectors as a vector has lanes become their own transpose, in registers.

A list of n vectors of n elements is transposed by log2(n) steps of one kind: the even elements of every two neighbours come
first, then the odd ones. It is done within quarters of four lanes, for four vectors at a time, and then to whole quarters:
each step is one instruction (shufps, vshufps; vperm2f128; vshuff32x4), where an element that leaves its quarter would take a
permutation by an index.
"""

from __future__ import annotations

from collections.abc import Callable

QUARTER = 4
"""Lanes of 128 bits, between which an AVX shuffle of elements moves nothing."""


def transposition_text(lanes: int) -> str:
    """`tw_transpose` for a power of two of lanes, at least 4.

    >>> print(transposition_text(4).splitlines()[1])
      const tw_vec s_0 = TW_SHUFFLE_TWO(v[0], v[1], 0, 2, 4, 6);
    """
    lines: list[str] = []

    def pick(low: str, high: str, indices: list[int]) -> str:
        name = f"s_{len(lines)}"
        lines.append(f"  const tw_vec {name} = TW_SHUFFLE_TWO({low}, {high}, {', '.join(map(str, indices))});")
        return name

    groups = [[f"v[{start + i}]" for i in range(QUARTER)] for start in range(0, lanes, QUARTER)]
    inside = [_transposed(group, lambda low, high, odd: pick(low, high, _elements(lanes, odd))) for group in groups]
    columns = [
        _transposed([group[column] for group in inside], lambda low, high, odd: pick(low, high, _quarters(lanes, odd)))
        for column in range(QUARTER)
    ]
    results = [f"  v[{i}] = {columns[i % QUARTER][i // QUARTER]};" for i in range(lanes)]
    return "\n".join(["TW_INLINE void tw_transpose(tw_vec *v) {", *lines, *results, "}", ""])


def _transposed(vectors: list[str], pick: Callable[[str, str, int], str]) -> list[str]:
    """The transpose of a power of two of vectors, by their even (0) and odd (1) elements, picked from two neighbours."""
    for _ in range(len(vectors).bit_length() - 1):
        pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
        vectors = [pick(low, high, odd) for odd in (0, 1) for low, high in pairs]
    return vectors


def _elements(lanes: int, odd: int) -> list[int]:
    """In every quarter the even, or odd, elements of two vectors."""
    starts = range(0, lanes, QUARTER)
    return [vector * lanes + start + i for start in starts for vector in (0, 1) for i in range(odd, QUARTER, 2)]


def _quarters(lanes: int, odd: int) -> list[int]:
    """The even, or odd, quarters of two vectors."""
    return [start + i for start in range(odd * QUARTER, 2 * lanes, 2 * QUARTER) for i in range(QUARTER)]
