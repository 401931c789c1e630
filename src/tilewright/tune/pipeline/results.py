"""What tuning reports, chain by chain, and of calls as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class Judgement(Enum):
    """What becomes of the plans that were measured."""

    STAYS = auto()
    """Calls use the plan of before."""
    WINS = auto()
    """The best plan is faster than that of before; calls as a whole decide at the end whether they use it."""
    KEPT = auto()
    """Calls use the best plan from now on."""


@dataclass(frozen=True, slots=True)
class Result:
    """Of one chain; with `is_whole`, of calls of a function or model of several chains, with all plans that won."""

    name: str
    measured: int
    """Plans."""
    ratio: float
    """The time of the best plan over that of the plan in use, in pairs; 1 where nothing was compared."""
    judgement: Judgement
    wins: float = 0.0
    """The share of pairs that the best plan won, in its worst series."""
    why: str = ""
    """Where nothing was compared."""
    machine: str = ""
    """On which it was measured."""
    was_tuned: bool = False
    """Whether the plan in use was itself tuned, by an earlier run."""
    is_whole: bool = False
