"""Required results of a case, and shortfalls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

ODD_POINTS = 0.05
"""How much smaller the share of a case of odd sizes may be than that of its even counterpart."""


@dataclass(frozen=True, slots=True)
class Required:
    """The least shares of the peak and of the bandwidth, both or (`either`) one of them; the least ratio of the best peer's time
    to ours, or of the library `peer`'s, and the least geometric mean (`mean`) of ratios to the best peers over a table."""

    share: float = 0.0
    read_share: float = 0.0
    ratio: float = 0.0
    either: bool = False
    mean: float = 0.0
    peer: str = ""

    def __str__(self) -> str:
        """For a cell of a table.

        >>> str(Required(read_share=0.92, ratio=1.1)), str(Required())
        ('92% of a read, 1.10x', '-')
        >>> str(Required(share=0.75, read_share=0.85, either=True))
        '75% of peak or 85% of a read'
        """
        shares = [f"{self.share:.0%} of peak"] if self.share else []
        shares += [f"{self.read_share:.0%} of a read"] if self.read_share else []
        parts = [" or ".join(shares)] if self.either else shares
        parts += [f"{self.ratio:.2f}x {self.peer}".rstrip()] if self.ratio else []
        return ", ".join(parts) or "-"


NOTHING = Required()
"""For cases that are shown beside the required ones."""


def missed(required: Required, share: float | None, read_share: float | None, ratio: float | None) -> Iterator[str]:
    """What was measured and what was wanted, for people; a figure of None was not measured and misses nothing.

    >>> list(missed(Required(share=0.9, ratio=1.1), 0.8, None, None))
    ['80.0% of the peak (90% wanted)']
    >>> list(missed(Required(share=0.75, read_share=0.85, either=True), 0.7, 0.9, None))
    []
    """
    shares = []
    if share is not None and share < required.share:
        shares.append(f"{share:.1%} of the peak ({required.share:.0%} wanted)")
    if read_share is not None and read_share < required.read_share:
        shares.append(f"{read_share:.1%} of the bandwidth ({required.read_share:.0%} wanted)")
    if not required.either or len(shares) == 2:
        yield from shares
    if ratio is not None and ratio < required.ratio:
        yield f"{ratio:.3f} of {required.peer or 'the best peer'}'s speed ({required.ratio:.2f} wanted)"
