"""Sanity of plans: each has a finite price that no floor is above, and fits memory that software fills.

A price below its floor is arithmetic gone wrong (a count below zero, an operand left out): what is chosen by it is chosen
by nothing. It is found here, where a plan is made, and not where a search has no winner. Hardware moves aside what does not fit a
cache; no one does so where software fills a level.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from pprint import pformat

from tilewright.coefficients import Coefficients
from tilewright.errors import InternalError, PlanningError
from tilewright.graph.printer import to_text
from tilewright.graph.types import Chain, Graph
from tilewright.machine.description import Filling
from tilewright.machine.machine import Machine
from tilewright.plan.schedule import Schedule
from tilewright.plan.types import Floor, Plan, Price

ROUNDING = 1e-6
"""Prices are sums of floats: by this share they may be below a floor that they equal."""


def check_price(chain: Chain, machine: Machine, schedule: Callable[[], Schedule], price: Price, floor_s: float) -> None:
    """Raise `InternalError` with a dump if a price, or a term of it, cannot be one.

    `floor_s` is what the price is at least: see `attainable_seconds`.
    """
    if problem := why_wrong(price, floor_s):
        dump = "\n".join([_chain_text(chain), machine.name, pformat(schedule()), pformat(price.terms)])
        raise InternalError(f"the plan of {chain.name} has no price that could be true: {problem}", dump=dump)


def why_wrong(price: Price, floor_s: float) -> str:
    """What is wrong with a price; empty if nothing is."""
    seconds = price.seconds
    if not isfinite(seconds):
        return f"it is {seconds}"
    if seconds < floor_s * (1 - ROUNDING):
        return f"{seconds:.4g} s is below the floor of {floor_s:.4g} s"
    return f"{seconds:.4g} s is below zero" if seconds < 0 else ""


def attainable_seconds(floor: Floor, coefficients: Coefficients) -> float:
    """The floor of a price with these coefficients: traffic that arithmetic hides counts by the share that has to be hidden."""
    return max(floor.compute_s * bool(coefficients.arithmetic), floor.memory_s * min(coefficients.overlapped_traffic, 1.0))


def check_capacity(plan: Plan) -> None:
    """Raise `PlanningError` where the blocks of a plan need more than the whole of a level, or a space, that software fills."""
    caches = {level.name for level in plan.machine.levels if level.filling is Filling.CACHE}
    for level in plan.levels:
        if level.level not in caches and level.used_bytes > level.capacity_bytes:
            raise PlanningError(
                f"no plan of {plan.chain.name} fits {level.level}",
                where=plan.machine.name,
                why=f"its smallest blocks found need {level.used_bytes} bytes of {level.capacity_bytes}, which software fills",
                hint="plan the operators of the chain unfused (fuse=False), or for a machine with more memory",
            )


def no_price(chain: Chain, machine: Machine, missing: str) -> InternalError:
    """The bug of a search that has nothing to choose from."""
    dump = "\n".join([_chain_text(chain), machine.name])
    return InternalError(f"the search for a schedule of {chain.name} on {machine.name} found nothing: {missing}", dump=dump)


def _chain_text(chain: Chain) -> str:
    return to_text(Graph(chain.name, chain.tensors, chain.operators, chain.inputs, (chain.output,)))
