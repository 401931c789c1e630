"""Features of a price: how often each coefficient is paid, beside the times that have none.

Everything but the traffic is linear in the fitted coefficients, so that a count is the work under a coefficient of one and all
other fitted ones of none, less the work under none of them: that work belongs to no fitted coefficient. Whoever fits
coefficients, or asks which term of a price is wrong, starts here.
"""

from __future__ import annotations

from dataclasses import replace

from tilewright.coefficients import Coefficients
from tilewright.machine.fit_files import FITTED
from tilewright.plan.model.cost import Work, traffic_seconds
from tilewright.plan.model.cost_context import CostContext
from tilewright.plan.model.pricing import Blocking, walk_of, works
from tilewright.price_terms import TERMS

TRAFFIC = TERMS["traffic"]


def features(context: CostContext, blocking: Blocking) -> dict[str, dict[str, float]]:
    """By operator: `bytes_into_<level>`, `seconds_into_<level>`, and what each fitted coefficient costs per unit, in seconds.

    What of a coefficient's seconds overlaps with traffic is `<coefficient>_computing`: maps transpose in their passes, packing
    beside them. What no fitted coefficient changes is `computing_s`, which overlaps with traffic, and `paid_s`. What does not fit
    the fusion level is `spilled_s` of the last operator.
    """
    found = {operator.name: _traffic(context, work) for operator, work in works(context, blocking)}
    without = _seconds(context, blocking, without_fitted(context.coefficients))
    for operator, (computing_s, paid_s) in without.items():
        found[operator] |= {"computing_s": computing_s, "paid_s": paid_s}
    for name, coefficients in unit_coefficients(context.coefficients).items():
        for operator, seconds in _seconds(context, blocking, coefficients).items():
            computing_s, paid_s = (new - old for new, old in zip(seconds, without[operator], strict=True))
            if seconds != without[operator]:
                found[operator] |= {name: computing_s + paid_s, f"{name}_computing": computing_s}
    found[context.chain.operators[-1].name]["spilled_s"] = walk_of(context, blocking).spills(context).seconds
    return found


def without_fitted(coefficients: Coefficients) -> Coefficients:
    """All coefficients that are fitted 0, all others as they are.

    >>> without_fitted(Coefficients()).block_cycles, without_fitted(Coefficients()).run_cycles
    (0.0, 60.0)
    """
    return coefficients.with_values(dict.fromkeys(FITTED, 0.0))


def unit_coefficients(coefficients: Coefficients) -> dict[str, Coefficients]:
    """For every fitted coefficient that traffic does not have: itself 1, all other fitted ones 0.

    >>> sorted(unit_coefficients(Coefficients()))[:2]
    ['arithmetic', 'block_cycles']
    """
    none = without_fitted(coefficients)
    return {name: none.with_values({name: 1.0}) for name in FITTED if name not in TRAFFIC}


def _seconds(context: CostContext, blocking: Blocking, coefficients: Coefficients) -> dict[str, tuple[float, float]]:
    """By operator: seconds of computing, and seconds that are paid in any case."""
    found = {}
    for operator, work in works(replace(context, coefficients=coefficients), blocking):
        paid_s = work.packing_s + work.overhead_s + work.line_buffer_s
        found[operator.name] = float(work.arithmetic_s + work.functions_s), float(paid_s)
    return found


def _traffic(context: CostContext, work: Work) -> dict[str, float]:
    moved = {f"bytes_into_{level}": float(size_bytes) for level, size_bytes in work.traffic_bytes.items()}
    return {**moved, **{f"seconds_into_{level}": float(time) for level, time in traffic_seconds(context, work).items()}}
