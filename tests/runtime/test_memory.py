"""Memory of results is lent again when nobody holds an array in it, and not before."""

import ctypes
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import tilewright as tw
from tilewright.runtime import memory, native

FLOAT = np.dtype(np.float32)
SHAPE = (3, 40, 1000)


@pytest.fixture(autouse=True)
def _trimmed() -> Iterator[None]:
    memory.trim()
    yield
    memory.trim()


def address(array: np.ndarray) -> int:
    return array.ctypes.data


def test_memory_comes_back_when_the_last_view_is_gone() -> None:
    first = memory.new_result(SHAPE, FLOAT)
    assert first.shape == SHAPE
    assert first.flags.writeable
    assert address(first) % 64 == 0
    place, view = address(first), first[1:, ::2].T
    del first
    assert memory.idle_bytes() == 0
    other = memory.new_result(SHAPE, FLOAT)
    assert address(other) != place
    del view
    assert memory.idle_bytes() > 0
    assert address(memory.new_result(SHAPE, FLOAT)) == place


def test_sizes_that_differ_a_little_share_memory() -> None:
    place = address(memory.new_result((100, 1000), FLOAT))
    assert address(memory.new_result((101, 1000), FLOAT)) == place
    assert address(memory.new_result((100, 500), np.dtype(np.float64))) == place


def test_small_results_are_numpys() -> None:
    assert memory.new_result((3, 0, 7), FLOAT).flags.owndata
    assert memory.new_result((), FLOAT).shape == ()
    assert memory.idle_bytes() == 0


def test_idle_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes.c_long.in_dll(native.library(), "tw_most_idle_bytes"), "value", 3 << 20)
    held = [memory.new_result((1 << 18,), FLOAT) for _ in range(5)]
    held.clear()
    assert 0 < memory.idle_bytes() <= 3 << 20
    memory.trim()
    assert memory.idle_bytes() == 0


def test_results_that_are_held_stay_as_they_are() -> None:
    doubled = tw.jit(lambda x: x + x)
    x = np.arange(1 << 16, dtype=np.float32).reshape(256, 256)
    held = [doubled(x + step) for step in range(4)]
    doubled(x)
    for step, result in enumerate(held):
        np.testing.assert_array_equal(result, 2 * (x + step))


def test_threads_take_different_memory() -> None:
    def work(number: int) -> bool:
        for _ in range(200):
            mine = memory.new_result((1 << 15,), FLOAT)
            mine[:] = number
            if not (mine == number).all():
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
