"""What `explain` says of plans for accelerators: units and spaces of a core, and how each operator is computed."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.machine.accelerator import Accelerator
from tilewright.machine.machine import Machine
from tilewright.plan.types import OperatorPlan, Plan
from tilewright.report import units
from tilewright.report.layout import columns, wrapped


def device_lines(machine: Machine, accelerator: Accelerator) -> list[str]:
    """Architecture and cores; rates of the units of a core; sizes of its spaces."""
    cores = f"{machine.architecture}, {units.quantity(machine.cores, 'cores')} at {machine.frequency_hz / 1e9:.3g} GHz"
    rates = (
        f"{unit.name} {unit.operands} {units.flop_rate(unit.flops_per_cycle * machine.frequency_hz)} ({unit.source.value})"
        for unit in accelerator.units
    )
    spaces = (f"{space.name} {units.size(space.size_bytes)} of a {space.scope}" for space in accelerator.spaces)
    return wrapped(cores, f"units of a core: {_listed(rates)}", f"spaces: {_listed(spaces)}")


def device_rows(plan: Plan) -> list[str]:
    """A line for each operator: its leaf, the axes that have a role in it, and the numbers that it depends on."""
    rows = [_row(plan, part) for part in plan.operators if not part.epilogue_of]
    return columns(rows)


def _row(plan: Plan, part: OperatorPlan) -> list[str]:
    maps = [other.operator for other in plan.operators if other.epilogue_of == part.operator]
    name = ", ".join([part.operator, *maps])
    if part.leaf is None:
        return [name, "", "", ""]
    roles = _listed(f"{role} {axis}" for role, axis in part.leaf.axes)
    return [name, part.leaf.title, roles, _listed(f"{number} {value:g}" for number, value in part.leaf.numbers)]


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(texts) or "-"
