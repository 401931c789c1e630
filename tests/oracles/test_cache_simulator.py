"""The simulator against ordered dictionaries, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.cache_simulator import CacheLevel, Touches, simulate_touches
from tests.oracles.lru import counted, slow_counts
from tilewright.errors import TilewrightError

BUFFERS = ("x", "y", "z")


def level(sets: int, ways: int) -> CacheLevel:
    """A level with that many sets, which need not be a power of two; all lines in one set if there is one."""
    return CacheLevel(sets * ways * 64, 64, 0 if sets == 1 else ways)


LEVELS = st.lists(st.builds(level, st.integers(1, 5), st.integers(1, 6)), min_size=1, max_size=3)


@given(LEVELS, st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=300), st.booleans())
def test_counts_are_those_of_ordered_dictionaries(
    levels: list[CacheLevel], accesses: list[tuple[int, bool]], flush: bool
) -> None:
    lines = np.array([line for line, _ in accesses], np.int64)
    writes = np.array([write for _, write in accesses], np.bool_)
    touches = Touches(lines, writes, lines % len(BUFFERS), BUFFERS)
    assert counted(simulate_touches(touches, levels, flush=flush)) == slow_counts(touches, levels, flush=flush)


@pytest.mark.parametrize("associativity", [0, 4, 16])
def test_long_random_traces(associativity: int) -> None:
    generator = np.random.default_rng(associativity)
    lines = np.concatenate([generator.integers(0, high, 8000) for high in (50, 300, 5000)])
    touches = Touches(lines, generator.random(lines.size) < 0.3, lines % 3, BUFFERS)
    levels = [CacheLevel(4096, 64, associativity), CacheLevel(32768, 64, 8), CacheLevel(98304, 64, associativity)]
    assert counted(simulate_touches(touches, levels)) == slow_counts(touches, levels, flush=True)


def test_without_capacity_misses_every_line_is_fetched_once_and_written_back_once() -> None:
    generator = np.random.default_rng(1)
    lines, writes = generator.integers(0, 100, 5000), generator.random(5000) < 0.2
    traffic = simulate_touches(Touches(lines, writes, lines * 0, ("x",)), [CacheLevel(6400)]).levels[0].of("x")
    assert traffic.misses == len(np.unique(lines))
    assert traffic.write_backs == len(np.unique(lines[writes]))
    assert (traffic.bytes_in, traffic.hits) == (64 * traffic.misses, 5000 - traffic.misses)


def test_lines_far_apart_keep_their_places() -> None:
    lines = np.array([0, 1 << 39, (1 << 40) - 2, 0])
    touches = Touches(lines, lines < 0, lines * 0, ("x",))
    for associativity in (0, 1):
        assert simulate_touches(touches, [CacheLevel(256, 64, associativity)]).levels[0].of("x").hits == (1 - associativity)


def test_sizes_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(TilewrightError, match="cannot have 3 ways of 64 bytes"):
        CacheLevel(1024, 64, 3)
    nothing = Touches(np.zeros(0, int), np.zeros(0, bool), np.zeros(0, int), ("x",))
    with pytest.raises(TilewrightError, match="lines of one size"):
        simulate_touches(nothing, [CacheLevel(64, 64), CacheLevel(64, 32)])
