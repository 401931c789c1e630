"""Plans that tuning chose, in the place of the planner's: found in the tuning database when a model is planned.

Without a database nothing is read and nothing changes. A database that cannot be used is left aside with one warning.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import replace

from tilewright.errors import CacheError
from tilewright.graph.data_format import Unreadable
from tilewright.kernels.contract import MicroKernel
from tilewright.machine.machine import Machine
from tilewright.plan.tuned import TunedChoice, decoded, problem_key, with_choice
from tilewright.plan.types import ModelPlan, Plan
from tilewright.runtime.switches import switched_on
from tilewright.runtime.tuning import database as tuning_database

LOG = logging.getLogger("tilewright.tune")

_ignored = ContextVar("tuned_plans_ignored", default=False)
_warned: set[str] = set()


def ignored() -> AbstractContextManager[None]:
    """Inside, plans are the planner's: somebody tunes, or compares."""
    return switched_on(_ignored)


def digest(machine: Machine) -> str:
    """Of all choices for a machine; empty without any. Whatever is kept of plans must be kept apart by it."""
    found = _winners(machine)
    if not found:
        return ""
    return hashlib.sha256(b"".join(problem.encode() + choice for problem, choice in found.items())).hexdigest()


def applied(model_plan: ModelPlan) -> ModelPlan:
    """The plan with the choices that the database has for its chains."""
    return with_winners(model_plan, _winners(model_plan.machine)) if model_plan.plans else model_plan


def with_winners(model_plan: ModelPlan, found: dict[str, bytes]) -> ModelPlan:
    """The plan with choices, by the keys of problems, for its chains."""
    return replace(model_plan, plans=tuple(_applied(plan, found) for plan in model_plan.plans)) if found else model_plan


def _applied(plan: Plan, found: dict[str, bytes]) -> Plan:
    choice = _choice(found.get(problem_key(plan.chain)))
    return (_chosen(plan, choice) if choice is not None else None) or plan


def choice_for(plan: Plan, database: tuning_database.TuningDatabase) -> TunedChoice | None:
    """What a database says of a chain on the plan's machine; None where calls use the planner's choice."""
    found = _choice(database.winners(tuning_database.machine_key(plan.machine)).get(problem_key(plan.chain)))
    return found if found is not None and _chosen(plan, found) else None


def _choice(content: bytes | None) -> TunedChoice | None:
    """None where there is none, or where another release wrote what this one cannot read."""
    try:
        return decoded(content) if content is not None else None
    except Unreadable:
        return None


def _chosen(plan: Plan, choice: TunedChoice) -> Plan | None:
    """The plan with a choice; None where its micro kernels are not those of this release, or where it is of no such chain."""
    from tilewright.kernels import registry
    from tilewright.plan.space.executability import is_executable

    known, machine = registry.by_name(), plan.machine
    kernels = [known.get(one.micro_kernel) for one in choice.operators if one.micro_kernel]
    if any(kernel is None or not kernel.runs_on(machine.architecture, machine.features) for kernel in kernels):
        return None
    if any(one.roles is not None and known[one.micro_kernel or ""].binding(one.roles) != one.leaf for one in choice.operators):
        return None  # a micro kernel of this name has another tile now
    if any(kernel is not None and kernel.flushes for kernel in kernels) and not _flushes(plan, known):
        return None  # found with precision="bf16", which has the same chains
    try:
        found = with_choice(plan, choice)
        fits = [one.operator for one in found.operators] == [one.operator for one in plan.operators]
        return found if fits and is_executable(found.chain, found.schedule) else None
    except KeyError:  # it names what the chain has not
        return None


def _flushes(plan: Plan, kernels: Mapping[str, MicroKernel]) -> bool:
    """Whether a plan has a kernel that takes denormal numbers for zeros, and so was allowed to."""
    return any(one.micro_kernel and kernels[one.micro_kernel].flushes for one in plan.operators)


def _winners(machine: Machine) -> dict[str, bytes]:
    if _ignored.get():
        return {}
    database = tuning_database.default()
    if not database.path.exists():
        return {}
    try:
        return database.winners(tuning_database.machine_key(machine))
    except CacheError as problem:
        if str(database.path) not in _warned:
            _warned.add(str(database.path))
            LOG.warning("plans are the planner's: %s", problem)
        return {}
