"""A deep Q-network that unrolls loops: PolyDL's two blocks of dense layers, batch normalisation and dropout (section 4.2), and
the choice of factors as an environment of gymnasium (Figure 7)."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from torch import nn

from tilewright.tune.unroll.searches import MOST_STEPS, BudgetSpent, Factors, Registers, Speed, Trace, step

STOP = 6
ACTIONS = 7
"""More and fewer rows, columns and steps, and no further action."""
ILLEGAL_REWARD = -1.0
MOST_MOVES = 20
"""Of an episode."""
WIDTH, DROPOUT = 64, 0.25
DISCOUNT = 0.9
EXPLORATION_DECAY, LEAST_EXPLORATION = 0.97, 0.05
"""Every move explores this much less than the move before; always a little."""
MEMORY, BATCH, STEP = 4000, 32, 1e-3
WARM_UP, UPDATES = 8, 1
"""Moves that are remembered before the first batch, and batches that the network is fitted to after every move: measurements are
what takes time."""
MOVES = 8
"""Of an episode in a search: more episodes begin elsewhere."""
MOST_IDLE_EPISODES = 20
"""Episodes without a new measurement after which a search ends: the policy stays where it knows everything."""

Move = tuple[np.ndarray, int, float, np.ndarray, bool]
"""Observation, action, reward, next observation, and whether the episode ended there."""


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


def q_network() -> nn.Sequential:
    """Two blocks, then as many outputs as actions."""
    blocks: list[nn.Module] = []
    for inputs in (3, WIDTH):
        blocks += [nn.Linear(inputs, WIDTH), nn.ReLU(), nn.BatchNorm1d(WIDTH), nn.Dropout(DROPOUT)]
    return nn.Sequential(*blocks, nn.Linear(WIDTH, ACTIONS))


class Agent:
    """Explores at first, and follows its network later; it learns from remembered moves after each move."""

    def __init__(self, seed: int) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.network = q_network()
        self.optimiser = torch.optim.Adam(self.network.parameters(), STEP)
        self.source, self.exploration = random.Random(seed), 1.0
        self.memory: deque[Move] = deque(maxlen=MEMORY)

    def action(self, observation: np.ndarray) -> int:
        """A random one while exploring, else that of the greatest expected reward."""
        if self.source.random() < self.exploration:
            return self.source.randrange(ACTIONS)
        self.network.eval()
        with torch.no_grad():
            return int(self.network(torch.from_numpy(observation)[None]).argmax())

    def learn(self, move: Move) -> None:
        """Remember a move, and fit the network to batches of those remembered."""
        self.memory.append(move)
        self.exploration = max(LEAST_EXPLORATION, self.exploration * EXPLORATION_DECAY)
        for _ in range(UPDATES if len(self.memory) >= WARM_UP else 0):
            self.fit()

    def fit(self) -> None:
        """Fit the network to a batch of moves that are remembered."""
        batch = self.source.sample(self.memory, min(BATCH, len(self.memory)))
        observations, actions, rewards, following, ended = zip(*batch, strict=True)
        self.network.eval()
        with torch.no_grad():
            after = self.network(torch.from_numpy(np.stack(following))).max(dim=1).values
        wanted = torch.tensor(rewards, dtype=torch.float32) + DISCOUNT * after * (1 - torch.tensor(ended, dtype=torch.float32))
        self.network.train()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.source.randrange(1 << 31))
            given = self.network(torch.from_numpy(np.stack(observations)))[range(len(batch)), list(actions)]
        self.optimiser.zero_grad()
        nn.functional.smooth_l1_loss(given, wanted).backward()
        self.optimiser.step()


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch computes on one thread meanwhile: threads cost more than a network that is so small computes.

    >>> with one_thread():
    ...     torch.get_num_threads()
    1
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def agent_search(trace: Trace, registers: Registers, seed: int, new_agent: Callable[[int], Agent] = Agent) -> None:
    """Short episodes until the budget is spent or nothing new is found: from random factors while the agent explores, else from
    the fastest known ones. The first begins where the trace says. `new_agent` makes an agent of a seed."""
    every, start, idle = list(registers.all_factors()), trace.start, 0
    with one_thread(), suppress(BudgetSpent):
        agent, environment = new_agent(seed), UnrollEnvironment(trace, registers)
        while idle < MOST_IDLE_EPISODES and len(trace.found) < trace.budget:
            known = len(trace.found)
            begin = start or _beginning(agent, trace, every)
            trace(begin)
            _episode(agent, environment, begin)
            start, idle = None, 0 if len(trace.found) > known else idle + 1


def _beginning(agent: Agent, trace: Trace, every: Sequence[Factors]) -> Factors:
    explores = not trace.found or agent.source.random() < agent.exploration
    return agent.source.choice(every) if explores else trace.best()


def _episode(agent: Agent, environment: UnrollEnvironment, start: Factors) -> None:
    """Up to `MOVES` moves from some factors, from each of which the agent learns."""
    observation, _ = environment.reset(options={"factors": start})
    for _ in range(MOVES):
        action = agent.action(observation)
        following, reward, stopped, _, _ = environment.step(action)
        agent.learn((observation, action, reward, following, stopped))
        observation = following
        if stopped:
            return
