"""What a price is made of, as counts: how often each coefficient of the price is paid, beside the times that have none.

Everything but the traffic is linear in the coefficients, so that a count is the work under a coefficient of one cycle and all
others of none. Whoever fits coefficients, or asks which term of a price is wrong, starts here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from tilewright.plan.cost import Work
from tilewright.plan.nesting import Blocking, works
from tilewright.plan.setting import Coefficients, Setting

FUNCTIONS = "function_cycles_per_vector"


def features(setting: Setting, blocking: Blocking) -> dict[str, dict[str, float]]:
    """By operator: `arithmetic_s` (edges included), `bytes_into_<level>`, and by cycle coefficient how often it counts."""
    found = {operator.name: _times(work) for operator, work in works(setting, blocking)}
    for name, coefficients in unit_coefficients(setting.coefficients).items():
        unit = replace(setting, coefficients=coefficients)
        for operator, work in works(unit, blocking):
            count = _cycles(setting, work)
            if count:
                found[operator.name][name] = count
    return found


def unit_coefficients(coefficients: Coefficients) -> dict[str, Coefficients]:
    """For every coefficient in cycles: itself 1, all others 0; functions of scalars by their own names.

    >>> unit_coefficients(Coefficients())["block_cycles"].block_cycles
    1.0
    """
    names = [field.name for field in fields(coefficients) if "cycles" in field.name and field.name != FUNCTIONS]
    functions = [name for name, _ in coefficients.function_cycles_per_vector]
    zeros: dict[str, Any] = {FUNCTIONS: tuple((name, 0.0) for name in functions), **dict.fromkeys(names, 0.0)}
    changes: dict[str, dict[str, Any]] = {name: {name: 1.0} for name in names}
    for one in functions:
        changes[f"{one}_cycles"] = {FUNCTIONS: tuple((name, float(name == one)) for name in functions)}
    return {name: replace(coefficients, **{**zeros, **change}) for name, change in changes.items()}


def _times(work: Work) -> dict[str, float]:
    traffic: Mapping[str, float] = work.traffic_bytes
    return {"arithmetic_s": float(work.arithmetic_s), **{f"bytes_into_{level}": float(b) for level, b in traffic.items()}}


def _cycles(setting: Setting, work: Work) -> float:
    return float(work.functions_s + work.packing_s + work.overhead_s) * setting.machine.frequency_hz
