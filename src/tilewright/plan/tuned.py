"""Tuned plans: what measuring chose for a chain in the place of the planner's choice, and the plan that it becomes.

A choice is in the numbers of the canonical chain, so that it serves every chain of the same structure.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from tilewright.block.execution import Execution
from tilewright.graph import data_format
from tilewright.graph.types import Chain
from tilewright.plan.binding import bound_plan, numbered_plan
from tilewright.plan.chains import canonical_form, names_of
from tilewright.plan.schedule import Schedule
from tilewright.plan.types import KeyBlocks, OperatorPlan, Plan, Price, Tuned
from tilewright.records import record


@record
class TunedChoice:
    """The decisions of a plan, in canonical names, and the measurement that they won."""

    schedule: Schedule
    operators: tuple[OperatorPlan, ...]
    parallel_axes: tuple[str, ...]
    scratch_bytes: int
    prefetched_inputs: tuple[str, ...]
    price: Price
    constant_bytes: int
    prefetching_operators: tuple[str, ...]
    non_temporal: tuple[str, ...]
    key_blocks: KeyBlocks | None
    execution: Execution
    tuned: Tuned


def problem_key(chain: Chain) -> str:
    """The digest of what a chain computes: the same for chains that differ in names only."""
    return hashlib.sha256(data_format.encode(canonical_form(chain), Chain)).hexdigest()


def choice_of(plan: Plan, tuned: Tuned) -> TunedChoice:
    """What is kept of a plan that won."""
    numbered = numbered_plan(plan)
    kept = {name: getattr(numbered, name) for name in TunedChoice.__dataclass_fields__ if name != "tuned"}
    return TunedChoice(**kept, tuned=tuned)


def with_choice(plan: Plan, choice: TunedChoice) -> Plan:
    """The plan of the same chain and machine with the decisions of a choice; its bounds and cuts stay."""
    decisions = {name: getattr(choice, name) for name in TunedChoice.__dataclass_fields__}
    tuned = replace(numbered_plan(plan), **decisions, levels=(), movements=(), rejected=(), taken_over=None)
    return bound_plan(tuned, plan.chain, names_of(plan.chain))


def encoded(choice: TunedChoice) -> bytes:
    """As bytes; `decoded` is the inverse."""
    return data_format.encode(choice, TunedChoice)


def decoded(content: bytes) -> TunedChoice:
    """Raises `data_format.Unreadable` for what is no choice."""
    return data_format.decode(content, TunedChoice)
