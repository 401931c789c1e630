"""A deep Q-network that unrolls loops: PolyDL's two blocks of dense layers, batch normalisation and dropout (section 4.2)."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from tilewright.tune.unroll.environment import ACTIONS, UnrollEnvironment
from tilewright.tune.unroll.factors import Registers
from tilewright.tune.unroll.searches import BudgetSpent, Trace

WIDTH, DROPOUT = 64, 0.25
DISCOUNT = 0.9
EXPLORATION_DECAY, LEAST_EXPLORATION = 0.97, 0.05
"""Every move explores this much less than the move before; always a little."""
MEMORY, BATCH, STEP = 1000, 32, 1e-3
MOST_IDLE_EPISODES = 50
"""Episodes without a new measurement after which a search ends: the policy stays where it knows everything."""

Move = tuple[np.ndarray, int, float, np.ndarray, bool]
"""Observation, action, reward, next observation, and whether the episode ended there."""


def q_network() -> nn.Sequential:
    """Two blocks, then as many outputs as actions."""
    blocks: list[nn.Module] = []
    for inputs in (3, WIDTH):
        blocks += [nn.Linear(inputs, WIDTH), nn.ReLU(), nn.BatchNorm1d(WIDTH), nn.Dropout(DROPOUT)]
    return nn.Sequential(*blocks, nn.Linear(WIDTH, ACTIONS))


@dataclass(slots=True)
class Agent:
    """Explores at first, and follows its network later; it learns from remembered moves after each move."""

    seed: int
    network: nn.Sequential = field(init=False)
    optimiser: torch.optim.Optimizer = field(init=False)
    source: random.Random = field(init=False)
    memory: deque[Move] = field(default_factory=lambda: deque(maxlen=MEMORY))
    exploration: float = 1.0

    def __post_init__(self) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.network = q_network()
        self.optimiser = torch.optim.Adam(self.network.parameters(), STEP)
        self.source = random.Random(self.seed)

    def action(self, observation: np.ndarray) -> int:
        """A random one while exploring, else that of the greatest expected reward."""
        if self.source.random() < self.exploration:
            return self.source.randrange(ACTIONS)
        self.network.eval()
        with torch.no_grad():
            return int(self.network(torch.from_numpy(observation)[None]).argmax())

    def learn(self, move: Move) -> None:
        """Remember a move and fit the network to a batch of those remembered."""
        self.memory.append(move)
        self.exploration = max(LEAST_EXPLORATION, self.exploration * EXPLORATION_DECAY)
        if len(self.memory) < BATCH:
            return
        observations, actions, rewards, following, ended = zip(*self.source.sample(self.memory, BATCH), strict=True)
        self.network.eval()
        with torch.no_grad():
            after = self.network(torch.from_numpy(np.stack(following))).max(dim=1).values
        wanted = torch.tensor(rewards, dtype=torch.float32) + DISCOUNT * after * (1 - torch.tensor(ended, dtype=torch.float32))
        self.network.train()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.source.randrange(1 << 31))
            given = self.network(torch.from_numpy(np.stack(observations)))[range(BATCH), list(actions)]
        self.optimiser.zero_grad()
        nn.functional.smooth_l1_loss(given, wanted).backward()
        self.optimiser.step()


def agent_search(trace: Trace, registers: Registers, seed: int) -> None:
    """Episodes of an agent, each from where the last ended, until the budget is spent or nothing new is found."""
    agent, environment = Agent(seed), UnrollEnvironment(trace, registers)
    start, idle = trace.start or registers.first, 0
    try:
        trace(start)
        while idle < MOST_IDLE_EPISODES and len(trace.found) < trace.budget:
            known = len(trace.found)
            observation, _ = environment.reset(options={"factors": start})
            is_over = False
            while not is_over:
                action = agent.action(observation)
                following, reward, stopped, cut, _ = environment.step(action)
                agent.learn((observation, action, reward, following, stopped))
                observation, is_over = following, stopped or cut
            start = environment.factors
            idle = 0 if len(trace.found) > known else idle + 1
    except BudgetSpent:
        return
