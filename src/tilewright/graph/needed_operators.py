"""The operators on which tensors depend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilewright.graph.types import Operator


def needed_operators(operators: Sequence[Operator], outputs: Iterable[str]) -> list[Operator]:
    """Those of some operators in order on which tensors depend, in the same order."""
    needed, kept = set(outputs), []
    for operator in reversed(operators):
        if operator.write.tensor in needed:
            kept.append(operator)
            needed.update(access.tensor for access in operator.reads)
    return kept[::-1]
