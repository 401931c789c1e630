"""Capacity of memory that software fills: a plan must fit it, since no hardware moves aside what does not."""

from __future__ import annotations

from tilewright.errors import PlanningError
from tilewright.machine.description import Filling
from tilewright.machine.machine import Machine
from tilewright.plan.types import Plan


def fitting(plan: Plan) -> Plan:
    """The plan itself; raises `PlanningError` where its blocks need more than the whole of such a level."""
    for level in plan.levels:
        is_cache = plan.machine.level(level.level).filling is Filling.CACHE
        if not is_cache and level.used_bytes > level.capacity_bytes:
            raise PlanningError(
                f"no plan of {plan.chain.name} fits {level.level}",
                where=plan.machine.name,
                why=f"its smallest blocks found need {level.used_bytes} bytes of {level.capacity_bytes}, which software fills",
                hint="plan the operators of the chain apart (fuse=False), or for a machine with more memory",
            )
    return plan


def has_memory_to_fill(machine: Machine) -> bool:
    """Whether software fills any level of a machine."""
    return any(level.filling is not Filling.CACHE for level in machine.levels)
