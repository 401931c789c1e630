"""The choice of unroll factors as an environment of gymnasium: PolyDL, section 4.2 and Figure 7."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from tilewright.tune.unroll.factors import MOST_STEPS, Factors, Registers
from tilewright.tune.unroll.searches import Speed, step

STOP = 6
ACTIONS = 7
"""More and fewer rows, columns and steps, and no further action."""
ILLEGAL_REWARD = -1.0
MOST_MOVES = 20
"""Of an episode."""


class UnrollEnvironment(gymnasium.Env[Any, Any]):
    """States are factors as shares of the largest; the reward of a move is the relative change of the speed.

    A move to factors that registers do not hold changes nothing and costs `ILLEGAL_REWARD`. An episode ends with the action that
    stops it, and is cut after `MOST_MOVES` moves.
    """

    def __init__(self, speed: Speed, registers: Registers) -> None:
        self.speed, self.registers = speed, registers
        self.factors, self.moves = registers.first, 0
        self.action_space = spaces.Discrete(ACTIONS)
        self.observation_space = spaces.Box(0.0, 1.0, (3,), np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin with the factors of `options`, by default with one vector."""
        super().reset(seed=seed)
        self.factors, self.moves = (options or {}).get("factors", self.registers.first), 0
        return self.observation(), {"factors": self.factors}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, reward, whether the agent stopped, whether the episode was cut, and the factors."""
        self.moves += 1
        reward = 0.0
        if action != STOP:
            moved = step(self.factors, int(action), self.registers.lanes)
            reward = self._reward(moved)
            self.factors = moved if self.registers.holds(moved) else self.factors
        return self.observation(), reward, action == STOP, self.moves >= MOST_MOVES, {"factors": self.factors}

    def _reward(self, moved: Factors) -> float:
        if not self.registers.holds(moved):
            return ILLEGAL_REWARD
        before, after = self.speed(self.factors), self.speed(moved)
        return after / before - 1 if before and after else ILLEGAL_REWARD

    def observation(self) -> Any:
        """The factors as shares."""
        most = self.registers.count
        shares = (self.factors.rows / most, self.factors.columns / self.registers.lanes / most, self.factors.steps / MOST_STEPS)
        return np.array(shares, np.float32)
