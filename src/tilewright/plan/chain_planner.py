"""Planners of devices: they plan a chain as one kernel, in the place of the search for memory that fills itself.

What can be fused, which fusion pays, names and reasons are the same for every device; the plan of a chain, and its price, are the
planner's.
"""

from __future__ import annotations

from typing import Protocol

from tilewright.graph.types import Chain
from tilewright.machine.machine import Machine
from tilewright.plan.types import Plan


class ChainPlanner(Protocol):
    """Plans a chain as one kernel of a device.

    A planner is a value: equal ones, with equal texts (`repr`), give equal plans, which are remembered by them. A record is one.
    """

    def plan(self, chain: Chain, machine: Machine) -> Plan:
        """The plan of a chain, whose names may be numbers; its price is that of the whole device, with one block.

        Raises `Unplannable`, with the reason that cuts of its edges then have, where one kernel cannot compute the chain. A chain
        of one operator has a plan, or the graph has none.
        """
