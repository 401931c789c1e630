"""Choices of code generation that decide how values are rounded, each with its licence and where that is decided."""

from __future__ import annotations

from tilewright.graph.licences import Licence
from tilewright.records import record


@record
class Choice:
    """One way to compute what a plan names."""

    name: str
    licence: Licence
    told_by: str
    """What says in a graph or a plan that it may not be taken, or why it needs no permission."""


CHOICES = (
    Choice("order and accumulators of sums", Licence.EXACT, "left open by a reduction, decided before threads are known"),
    Choice("multiply-adds inside sums", Licence.EXACT, "left open by a reduction"),
    Choice("multiply-adds outside sums", Licence.ROUNDING, "products that are `rounded` (rewrite keep-roundings)"),
    Choice("reciprocal of what a row is divided by", Licence.ROUNDING, "divisors that are `rounded` (rewrite keep-roundings)"),
    Choice("softmax in blocks, divided after sums", Licence.ROUNDING, "reductions without rescaling rules (rewrite whole-rows)"),
    Choice("functions by polynomials in vectors", Licence.EXACT, "within the stated error of each function"),
    Choice("requantisation in the epilogue", Licence.EXACT, "the roundings of the elementwise operators, in their order"),
    Choice("products of bfloat16 without denormal numbers", Licence.RANGE, 'precision="bf16" alone'),
)
