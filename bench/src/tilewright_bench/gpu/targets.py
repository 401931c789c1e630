"""Which target describes a card: by its name and compute capability, else the nearest by capability."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tilewright.machine import Machine

TARGETS = ("a100", "h100", "h200")


@dataclass(frozen=True, slots=True)
class Target:
    """The machine to plan for."""

    machine: Machine
    """With the card's architecture, so that its kernels run there."""
    is_of_card: bool
    """Whether its figures are those of the card."""

    def sentence(self, card: str) -> str:
        """For people."""
        if self.is_of_card:
            return f"plans are for the target {self.machine.name}"
        return f"no target describes {card}: plans are for {self.machine.name}, the nearest by compute capability"


def target_of(card: str, capability: tuple[int, int], names: Iterable[str] = TARGETS) -> Target:
    """The target of a card.

    >>> target_of("NVIDIA A100-SXM4-40GB", (8, 0)).machine.name, target_of("NVIDIA L4", (8, 9)).machine.architecture
    ('a100', 'sm_89')
    """
    machines = [Machine.named(name) for name in names]
    number = 10 * capability[0] + capability[1]
    named = [machine for machine in machines if _sm(machine) == number and re.search(rf"\b{machine.name}\b", card.lower())]
    nearest = min(machines, key=lambda machine: (abs(_sm(machine) - number), machine.name))
    return Target(replace(named[0] if named else nearest, architecture=f"sm_{number}"), bool(named))


def _sm(machine: Machine) -> int:
    return int(machine.architecture.removeprefix("sm_"))
