"""Features of a price: how often each coefficient is paid, beside the times that have none.

Everything but the traffic is linear in the coefficients, so that a count is the work under a coefficient of one and all others
of none. Whoever fits coefficients, or asks which term of a price is wrong, starts here.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.plan.model.blocking import Blocking, works
from tilewright.plan.model.coefficients import FITTED, TERMS, Coefficients
from tilewright.plan.model.cost import Work, traffic_seconds
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.pricing import spills

TRAFFIC = TERMS["traffic"]


def features(context: CostContext, blocking: Blocking) -> dict[str, dict[str, float]]:
    """By operator: `bytes_into_<level>`, `seconds_into_<level>`, and what each fitted coefficient costs per unit, in seconds.

    What does not fit the fusion level is `spilled_s` of the last operator.
    """
    found = {operator.name: _traffic(context, work) for operator, work in works(context, blocking)}
    for name, coefficients in unit_coefficients(context.coefficients).items():
        for operator, work in works(replace(context, coefficients=coefficients), blocking):
            paid = float(work.arithmetic_s + work.functions_s + work.packing_s + work.overhead_s + work.line_buffer_s)
            if paid:
                found[operator.name][name] = paid
    found[context.chain.operators[-1].name]["spilled_s"] = spills(context, blocking.outer).seconds
    return found


def unit_coefficients(coefficients: Coefficients) -> dict[str, Coefficients]:
    """For every fitted coefficient that traffic does not have: itself 1, all others 0.

    >>> sorted(unit_coefficients(Coefficients()))[:2]
    ['arithmetic', 'block_cycles']
    """
    none = coefficients
    for term in TERMS:
        none = none.without(term)
    return {name: none.with_values({name: 1.0}) for name in FITTED if name not in TRAFFIC}


def _traffic(context: CostContext, work: Work) -> dict[str, float]:
    moved = {f"bytes_into_{level}": float(size_bytes) for level, size_bytes in work.traffic_bytes.items()}
    return {**moved, **{f"seconds_into_{level}": float(time) for level, time in traffic_seconds(context, work).items()}}
