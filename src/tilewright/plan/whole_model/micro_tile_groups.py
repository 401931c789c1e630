"""Groups of a contraction and the maps that its micro tiles apply: when they are one chain without comparison.

Maps that read and write like the sums, each in the same order, do in registers what they would do in a pass of their own, which
reads the sums and writes them back besides. They may cost more where the sums lose blocks for threads by them, or do not fit.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.graph.index import Index
from tilewright.graph.types import Operator
from tilewright.plan.model.threads import LEAST_PARALLEL_S, enough_blocks
from tilewright.plan.types import Price, TermKind


def loses_nothing(price: Price, cores: int) -> bool:
    """Whether a chain of such a group fits, and threads have enough blocks of it."""
    fits = all(term.kind is not TermKind.SPILLS for term in price.terms)
    return fits and (price.blocks >= enough_blocks(cores) or price.seconds <= LEAST_PARALLEL_S)


def are_alike(first: Operator, *maps: Operator) -> bool:
    """Whether maps behind a contraction write in the order in which it would, and read so, or along one dimension at most."""
    written = first.write.indices
    return first.is_contraction() and all(
        map_.is_map()
        and map_.write.indices == written
        and all(access.indices == written or _is_broadcast(access.indices, written) for access in map_.reads)
        for map_ in maps
    )


def _is_broadcast(read: Sequence[Index], written: Sequence[Index]) -> bool:
    """Whether elements are read along one of the dimensions that are written, or none."""
    terms = [index for index in read if index.terms]
    return len(terms) == 0 or (len(terms) == 1 and terms[0] in written)
