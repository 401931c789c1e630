"""Random odd extents beside even ones."""

from __future__ import annotations

import random


def odd_below(extent: int, generator: random.Random) -> int:
    """An odd number that is smaller by at most a sixteenth of the extent, and by at least one; 1 stays.

    The work stays comparable: 64 becomes 61 or 63, which fill the same vectors.

    >>> sorted({odd_below(64, random.Random(seed)) for seed in range(20)}), odd_below(1, random.Random(0))
    ([61, 63], 1)
    """
    if extent == 1:
        return 1
    candidates = [size for size in range(extent - max(extent // 16, 2), extent) if size % 2]
    return generator.choice(candidates)
