"""The seconds of a run: what is optional stops early, so that what is not has its time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic


@dataclass(slots=True)
class Budget:
    """Seconds of a whole run, and what was left out for want of them."""

    seconds: float
    clock: Callable[[], float] = monotonic
    left_out: list[str] = field(default_factory=list)
    """In words, each once."""
    _begin: float = field(init=False)

    def __post_init__(self) -> None:
        self._begin = self.clock()

    @property
    def left_s(self) -> float:
        """What is left, below 0 where the run is late."""
        return self.seconds - (self.clock() - self._begin)

    def allows(self, what: str, *, share: float = 1.0, needs_s: float = 0.0) -> bool:
        """Whether something may begin that has the first `share` of the run, and takes `needs_s`; a no is written down.

        >>> budget = Budget(10.0, clock=lambda: 0.0)
        >>> budget.allows("kernels"), budget.allows("counters", needs_s=20.0), budget.left_out
        (True, False, ['counters'])
        """
        spent = self.seconds - self.left_s
        if spent + needs_s <= share * self.seconds:
            return True
        if what not in self.left_out:
            self.left_out.append(what)
        return False
