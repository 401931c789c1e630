"""Packed constants: whoever wants the same constant packed alike reads the same memory."""

from __future__ import annotations

import gc
import mmap
import weakref
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright import compiler
from tilewright.artifact import Artifact
from tilewright.runtime import constants
from tilewright.runtime.executable import Executable, load

RNG = np.random.default_rng(3)
WEIGHTS = [RNG.standard_normal((48, 48)).astype(np.float32) for _ in range(3)]


def artifact(rows: int) -> Artifact:
    def layers(x: object) -> object:
        for weight in WEIGHTS:
            x = tw.relu(x @ weight)
        return x

    return compiler.generate(tw.jit(layers, target="x86-64-v3").lower(tw.spec((rows, 48))).model_plan)


def fixed(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Copies that nobody can write to."""
    return [np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape) for array in arrays]


def addresses(executable: Executable) -> list[int]:
    return [array.ctypes.data for array in executable.packed.arrays]


@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_of_several_shapes_share_what_they_pack(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "LEAST_PARALLEL_BYTES", 0)
    one, other = artifact(64), artifact(96)
    assert [slot.layout for slot in one.signature.packed] == [slot.layout for slot in other.signature.packed]
    arrays = fixed(WEIGHTS)
    first = load(one, threads=threads, constants=arrays)
    assert len(set(addresses(first))) == len(WEIGHTS)
    assert addresses(load(other, threads=threads, constants=arrays)) == addresses(first)
    assert addresses(load(other, threads=threads, constants=fixed(WEIGHTS))) == addresses(first)


def test_arrays_that_changed_are_packed_again() -> None:
    arrays = [array.copy() for array in WEIGHTS]
    first = load(artifact(64), threads=1, constants=arrays)
    arrays[1][7, 7] += 1
    second = load(artifact(64), threads=1, constants=arrays)
    shared = [a == b for a, b in zip(addresses(first), addresses(second), strict=True)]
    assert shared == [True, False, True]


def test_what_is_packed_is_read_only_and_goes_with_its_last_kernel() -> None:
    arrays = [2 * array for array in WEIGHTS]
    executable = load(artifact(64), threads=1, constants=arrays)
    assert not any(array.flags.writeable for array in executable.packed.arrays)
    packed = [weakref.ref(array) for array in executable.packed.arrays]
    assert len(packed) == len(WEIGHTS)
    del executable
    gc.collect()
    assert [array() for array in packed] == [None] * len(WEIGHTS)


class Lazy(Sequence[np.ndarray]):
    """Constants that are read when they are asked for; knows how many of them are held at once."""

    def __init__(self) -> None:
        self.alive = self.most = 0

    def __len__(self) -> int:
        return len(WEIGHTS)

    def __getitem__(self, number: int) -> np.ndarray:  # type: ignore[override]
        array = WEIGHTS[number].copy()
        self.alive += 1
        self.most = max(self.most, self.alive)
        weakref.finalize(array, self.leave)
        return array

    def leave(self) -> None:
        self.alive -= 1


def test_one_constant_is_held_at_a_time() -> None:
    lazy = Lazy()
    executable = load(artifact(64), threads=1, constants=lazy)
    assert (lazy.alive, lazy.most) == (0, 1)
    assert addresses(load(artifact(64), threads=1, constants=WEIGHTS)) == addresses(executable)


def test_pages_of_a_mapped_file_are_let_go_and_can_be_read_again(tmp_path: Path) -> None:
    values = RNG.standard_normal(1 << 18).astype(np.float32)
    values.tofile(tmp_path / "weights")
    with (tmp_path / "weights").open("rb") as file:
        mapped = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.float32)[7:]
    assert (mapped == values[7:]).all()
    for view in (mapped, mapped[: 511 * 512].reshape(511, 512).T):
        before = resident_bytes()
        constants.release_pages(view)
        assert resident_bytes() < before - view.nbytes // 2
        assert (mapped == values[7:]).all()


def test_a_copy_of_a_mapped_tensor_is_in_memory_alone(tmp_path: Path) -> None:
    values = RNG.standard_normal((1021, 5 << 12)).astype(np.float32)
    values.tofile(tmp_path / "weights")
    with (tmp_path / "weights").open("rb") as file:
        mapped = np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.float32).reshape(values.shape)
    before = resident_bytes()
    (copy,) = constants.residents([mapped])
    assert resident_bytes() - before < 1.5 * mapped.nbytes
    assert (copy == values).all()


def test_pages_that_were_written_to_stay(tmp_path: Path) -> None:
    np.zeros(1 << 18, np.float32).tofile(tmp_path / "weights")
    mapped = np.memmap(tmp_path / "weights", np.float32, mode="c")
    mapped[...] = 3
    constants.release_pages(mapped)
    assert (mapped == 3).all()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
