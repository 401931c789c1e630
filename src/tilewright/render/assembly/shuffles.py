"""Shuffles of whole vectors: in blocks of 128 bits, of such blocks, and of any lanes by a table."""

from __future__ import annotations

from collections.abc import Sequence

BLOCK_BITS = 128


def instruction(lanes: Sequence[int], bits: int, vector_bits: int) -> tuple[str, int | None] | None:
    """The mnemonic and the number of an instruction that takes these lanes of two vectors; None where there is none.

    >>> instruction((0, 4, 2, 6), 64, 256), instruction((0, 1, 4, 5), 64, 256), instruction((0, 3, 1, 2), 64, 256)
    (('vunpcklpd', None), ('vperm2f128', 32), None)
    """
    while bits < BLOCK_BITS:
        for half, letter in ((0, "l"), (1, "h")):
            if bits >= 32 and tuple(lanes) == _alternating(len(lanes), BLOCK_BITS // bits, half):
                return f"vunpck{letter}p{'s' if bits == 32 else 'd'}", None
        pairs = list(zip(lanes[::2], lanes[1::2], strict=True))
        if any(first % 2 or second != first + 1 for first, second in pairs):
            return None
        lanes, bits = [first // 2 for first, _ in pairs], 2 * bits
    if vector_bits == 2 * BLOCK_BITS:
        return "vperm2f128", lanes[0] | lanes[1] << 4
    count = len(lanes)
    if max(lanes[: count // 2]) < count <= min(lanes[count // 2 :]):
        return "vshuff64x2", sum(lane % count << 2 * place for place, lane in enumerate(lanes))
    return None


def _alternating(count: int, size: int, half: int) -> tuple[int, ...]:
    """Lanes of two vectors in turn: of every block of so many lanes its first or its second half."""
    places = (block + half * size // 2 + lane for block in range(0, count, size) for lane in range(size // 2))
    return tuple(lane for place in places for lane in (place, place + count))
