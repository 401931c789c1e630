"""Packed constants: whoever wants the same constant packed alike reads the same memory."""

from __future__ import annotations

import gc
from collections.abc import Sequence

import numpy as np
import pytest

import tilewright as tw
from tilewright import compiler
from tilewright.codegen.artifact import Artifact
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
    return [array.ctypes.data for array in executable._constants.arrays]


@pytest.mark.parametrize("threads", [1, 2])
def test_kernels_of_several_shapes_share_what_they_pack(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "WORTH_THREADS_BYTES", 0)
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
    assert not any(array.flags.writeable for array in executable._constants.arrays)
    before = len(constants._shared.by_contents)
    del executable
    gc.collect()
    assert len(constants._shared.by_contents) == before - len(WEIGHTS)
