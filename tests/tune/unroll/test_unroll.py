"""Unrolled products: their text, their results at every size, the rules of the environment, and what searches may ask for."""

from __future__ import annotations

import ctypes
from itertools import product

import numpy as np
import pytest

pytest.importorskip("gymnasium")
pytest.importorskip("torch")

from benchmarks.papers.unrolled_product import GeneratedProduct
from benchmarks.papers.unrolled_text import NAME, generated, tile
from tests.support.kernel_build import c_library
from tilewright.kernels import dialect_for
from tilewright.machine import Machine
from tilewright.tune.unroll.agent import ILLEGAL_REWARD, MOST_MOVES, STOP, Agent, UnrollEnvironment, agent_search, q_network
from tilewright.tune.unroll.searches import Factors, Registers, Trace, at_random, hill_climbing, step

AVX512 = Registers(32, 16)
SEARCHES = (at_random, hill_climbing, agent_search)


def synthetic(factors: Factors) -> float:
    """Fastest at 6 rows of 4 vectors and 2 steps."""
    return 100.0 - abs(factors.rows - 6) - abs(factors.columns / 16 - 4) - abs(factors.steps - 2)


def test_the_papers_figure_6():
    """Loads of both rows of B and of all of A stand before four multiply-adds in the order of Figure 6."""
    assert tile(Factors(2, 16, 2), 16, is_whole=True) == (
        """\
vec c0_0 = load(&c[i * c_row + j]);
vec c1_0 = load(&c[(i + 1) * c_row + j]);
for (l = 0; l + 2 <= k; l += 2) {
  vec b0_0 = load(&b[l * b_row + j]);
  vec b1_0 = load(&b[(l + 1) * b_row + j]);
  vec a0_0 = splat(a[i * a_row + l]);
  vec a0_1 = splat(a[i * a_row + l + 1]);
  vec a1_0 = splat(a[(i + 1) * a_row + l]);
  vec a1_1 = splat(a[(i + 1) * a_row + l + 1]);
  c0_0 = multiply_add(a0_0, b0_0, c0_0);
  c1_0 = multiply_add(a1_0, b0_0, c1_0);
  c0_0 = multiply_add(a0_1, b1_0, c0_0);
  c1_0 = multiply_add(a1_1, b1_0, c1_0);
}
for (; l < k; l += 1) {
  vec b0_0 = load(&b[l * b_row + j]);
  vec a0_0 = splat(a[i * a_row + l]);
  vec a1_0 = splat(a[(i + 1) * a_row + l]);
  c0_0 = multiply_add(a0_0, b0_0, c0_0);
  c1_0 = multiply_add(a1_0, b0_0, c1_0);
}
store(&c[i * c_row + j], c0_0);
store(&c[(i + 1) * c_row + j], c1_0);"""
    )


@pytest.mark.parametrize("factors", [(1, 1, 1), (2, 1, 2), (3, 2, 3), (6, 2, 1), (1, 4, 8)])
@pytest.mark.parametrize("features", [frozenset(), frozenset({"avx2", "fma"}), None], ids=["portable", "avx2", "widest"])
def test_products_are_numpys_at_every_size(factors, features):
    found = Machine.detect()
    dialect = dialect_for(found.architecture, found.features if features is None else features)
    if not dialect.features <= found.features:
        pytest.skip(f"this machine lacks {sorted(dialect.features - found.features)}")
    rows, vectors, steps = factors
    library = c_library(dialect.features, generated(Factors(rows, vectors * dialect.lanes, steps), dialect.lanes))
    source = np.random.default_rng(0)
    for m, n, k in product((0, 1, 7, 12), (1, dialect.lanes - 1, 2 * dialect.lanes + 3), (0, 1, 5, 16)):
        a, b, c = (source.standard_normal(shape).astype(np.float32) for shape in ((m, k + 2), (k, n + 1), (m, n + 3)))
        wanted = c.copy()
        wanted[:, :n] += (a[:, :k].astype(np.float64) @ b[:, :n]).astype(np.float32)
        matrices = [argument for x in (a, b, c) for argument in (ctypes.c_void_p(x.ctypes.data), ctypes.c_long(x.shape[1]))]
        getattr(library, NAME)(*map(ctypes.c_long, (m, n, k)), *matrices)
        np.testing.assert_allclose(c, wanted, rtol=0, atol=1e-6 * (k + 1) * 8)


def test_measured_products_are_checked():
    generated_product = GeneratedProduct(5, 37, 19, Machine.detect())
    assert generated_product.speed(generated_product.registers.first) > 0


@pytest.mark.parametrize("registers", [AVX512, Registers(16, 8)])
def test_steps_obey_the_register_file(registers):
    environment = UnrollEnvironment(synthetic, registers)
    for factors in registers.all_factors():
        for action in range(6):
            environment.reset(options={"factors": factors})
            moved = step(factors, action, registers.lanes)
            observation, reward, stopped, _, info = environment.step(action)
            assert environment.observation_space.contains(observation)
            assert not stopped
            if registers.holds(moved):
                assert info["factors"] == moved
                assert reward == pytest.approx(synthetic(moved) / synthetic(factors) - 1)
            else:
                assert info["factors"] == factors
                assert reward == ILLEGAL_REWARD


def test_episodes_end_with_the_stop_and_are_cut():
    environment = UnrollEnvironment(synthetic, AVX512)
    environment.reset()
    assert environment.step(STOP)[1:4] == (0.0, True, False)
    environment.reset()
    cuts = [environment.step(0 if move % 2 == 0 else 1)[3] for move in range(MOST_MOVES)]
    assert cuts == [False] * (MOST_MOVES - 1) + [True]


def test_the_environment_is_one_of_gymnasiums():
    from gymnasium.utils.env_checker import check_env

    check_env(UnrollEnvironment(synthetic, AVX512), skip_render_check=True)


@pytest.mark.parametrize("search", SEARCHES)
def test_searches_keep_to_their_budget_and_the_register_file(search):
    trace = Trace(synthetic, 40)
    search(trace, AVX512, 0)
    assert len(trace.found) <= 40
    assert all(map(AVX512.holds, trace.found))
    assert trace.best() == max(trace.found, key=synthetic)


@pytest.mark.parametrize("search", [at_random, hill_climbing, agent_search])
def test_searches_are_repeatable_and_differ_by_seed(search):
    traces = []
    for seed in (1, 1, 2):
        trace = Trace(synthetic, 60)
        search(trace, AVX512, seed)
        traces.append(list(trace.found))
    assert traces[0] == traces[1] != traces[2]


def test_a_search_of_all_factors_finds_the_best():
    trace = Trace(synthetic, 10_000)
    at_random(trace, AVX512, 0)
    assert trace.best() == Factors(6, 64, 2)
    assert len(trace.found) == sum(1 for _ in AVX512.all_factors())


def test_the_network_is_the_papers():
    kinds = [type(layer).__name__ for layer in q_network()]
    block = ["Linear", "ReLU", "BatchNorm1d", "Dropout"]
    assert kinds == [*block, *block, "Linear"]
    assert q_network()[3].p == 0.25
    assert q_network()[-1].out_features == 7


def test_exploration_decays():
    agent, seen = Agent(0), []
    observation = np.zeros(3, np.float32)
    for _ in range(200):
        agent.learn((observation, 0, 0.1, observation, False))
        seen.append(agent.exploration)
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == 0.05
