"""Attention under masks: conditions over positions and over lengths per batch, in chains of any extents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

from tests.support.chains import chain
from tests.support.operators import contraction, mapping, softmax
from tilewright.graph.builders.norms import ROW_SOFTMAX, SAFE_ROW_SOFTMAX
from tilewright.graph.expressions.scalar import AxisValue, Literal, Load, Scalar, apply
from tilewright.graph.types import Chain, Extent

M, L = AxisValue("m"), AxisValue("l")
CAUSAL = apply("greater_equal", M, L)
LENGTHS = "Lengths"


def shifted(keys: int) -> Scalar:
    """Causal behind so many past keys."""
    return apply("less_equal", L, apply("add", M, Literal(float(keys))))


def window(left: int) -> Scalar:
    """At most so many keys before its own."""
    return apply("less_equal", apply("subtract", M, L), Literal(float(left)))


def both(*conditions: Scalar) -> Scalar:
    """All of them."""
    return reduce(lambda one, other: apply("logical_and", one, other), conditions)


def masked_chain(
    extents: Mapping[str, Extent],
    condition: Scalar,
    more: Sequence[str] = (),
    *,
    suffix: str = "",
    safe: bool = False,
    middle: str = "softmax",
    body: Scalar | None = None,
) -> Chain:
    """E[m,n] = softmax(where(condition, A B, -inf))[m,l] D[l,n], all with axis b; `more` is what the condition reads after A B.

    Without a softmax what is left out counts 0.
    """
    fill = Literal(float("-inf") if middle else 0.0)
    inside = body or apply("where", condition, Load(0), fill)
    scores, masked, weights = f"C{suffix}", f"T{suffix}", f"P{suffix}" if middle else f"T{suffix}"
    operators = [
        contraction("scores", "A:bmk", "B:bkl", f"{scores}:bml", extents),
        mapping("mask", inside, [f"{scores}:bml", *more], f"{masked}:bml", extents),
    ]
    if middle:
        rows = softmax("weights", f"{masked}:bml", f"{weights}:bml", "l", extents)
        operators.append(replace(rows, reduction=SAFE_ROW_SOFTMAX if safe else ROW_SOFTMAX))
    operators.append(contraction("out", f"{weights}:bml", "D:bln", f"E{suffix}:bmn", extents))
    return chain(f"masked{suffix}", operators)


def by_data() -> tuple[Scalar, tuple[str, ...]]:
    """l < lengths[b], l <= m + shifts[b], m - l <= windows[b], and what these read."""
    lengths = apply("less", L, Load(1))
    causal = apply("less_equal", L, apply("add", M, Load(2)))
    near = apply("less_equal", apply("subtract", M, L), Load(3))
    return both(lengths, causal, near), ("Lengths:b", "Shifts:b", "Windows:b")
