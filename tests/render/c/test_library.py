"""Whole programs: equal chains are one routine, large programs several files, calls may be timed chain by chain."""

from __future__ import annotations

import subprocess
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tilewright import compiler
from tilewright.artifact import Artifact
from tilewright.c_text.statements import without_names
from tilewright.errors import TilewrightError
from tilewright.lower.workspace import allocations, arena_bytes
from tilewright.plan.types import ModelPlan
from tilewright.render.c import library
from tilewright.runtime.executable import Executable, load

LAYERS = 6
RNG = np.random.default_rng(5)
WEIGHTS = [(RNG.standard_normal((40, 40)) / 6).astype(np.float32) for _ in range(LAYERS)]
SHIFTS = [RNG.standard_normal(40).astype(np.float32) for _ in range(LAYERS)]


def layers(x: object) -> object:
    for weight, shift in zip(WEIGHTS, SHIFTS, strict=True):
        x = tw.softmax(tw.relu(x @ weight + shift) * 3, axis=-1)
    return x


def widening(x: object) -> object:
    for number in range(LAYERS):
        x = tw.tanh(x @ np.full((16 + 8 * number, 24 + 8 * number), 0.1, np.float32))
    return x


def planned(function: object, *shape: int) -> ModelPlan:
    return tw.jit(function, fuse=False).lower(tw.spec(shape)).model_plan


def loaded(model_plan: ModelPlan, artifact: Artifact | None = None, threads: int = 1) -> tuple[Executable, list[np.ndarray]]:
    """With the constants that calls read."""
    artifact = compiler.generate(model_plan) if artifact is None else artifact
    values = {name: constant.array for name, constant in model_plan.graph.constants}
    executable = load(artifact, threads=threads, constants=[values[slot.name] for slot in artifact.signature.constants])
    return executable, [values[slot.name] for slot in artifact.signature.inputs if slot.name in values]


def result(executable: Executable, x: np.ndarray, held: list[np.ndarray]) -> np.ndarray:
    outputs = executable.new_outputs([x, *held])
    executable.run([x, *held], outputs)
    return outputs[0]


def test_equal_layers_are_one_routine() -> None:
    """The first layer reads an argument and the last one writes one: their strides are known at run time only."""
    model_plan = planned(layers, 8, 40)
    text = compiler.generate(model_plan).source
    assert len(model_plan.plans) > 2 * LAYERS - 1
    assert text.count("_task(void *argument") <= 3 * len(model_plan.plans) // LAYERS
    x = RNG.standard_normal((8, 40)).astype(np.float32)
    executable, held = loaded(model_plan)
    np.testing.assert_allclose(result(executable, x, held), layers(x), rtol=1e-4, atol=1e-6)


def test_large_programs_are_several_files_with_the_same_results(monkeypatch: pytest.MonkeyPatch) -> None:
    model_plan = planned(widening, 8, 16)
    monkeypatch.setattr(library, "LEAST_CHARACTERS", 1 << 20)
    whole = compiler.generate(model_plan)
    monkeypatch.setattr(library, "LEAST_CHARACTERS", 4000)
    monkeypatch.setattr(library, "FILE_CHARACTERS", 4000)
    parts = compiler.generate(model_plan)
    assert not whole.linked
    assert len(parts.linked) >= 3
    assert parts.key != whole.key
    assert all(str(one.content) in parts.source for one in parts.linked)
    x = RNG.standard_normal((8, 16)).astype(np.float32)
    expected = result(*swapped(loaded(model_plan, whole), x))
    assert (result(*swapped(loaded(model_plan, parts), x)) == expected).all()


def swapped(pair: tuple[Executable, list[np.ndarray]], x: np.ndarray) -> tuple[Executable, np.ndarray, list[np.ndarray]]:
    return pair[0], x, pair[1]


def test_files_export_the_entry_points_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "LEAST_CHARACTERS", 4000)
    monkeypatch.setattr(library, "FILE_CHARACTERS", 4000)
    executable, _ = loaded(planned(widening, 8, 16))
    listing = subprocess.run(["nm", "-D", executable.path], capture_output=True, text=True, check=True).stdout
    symbols = {line.split()[-1] for line in listing.splitlines() if " w " not in line}
    assert symbols <= {f"tilewright_run{end}" for end in ("", "_workspace_bytes", "_prepare", "_packed_bytes")}


def test_text_is_the_same_in_every_run() -> None:
    assert compiler.generate(planned(layers, 8, 40)) == compiler.generate(planned(layers, 8, 40))


@pytest.mark.parametrize("rows", [40, tw.Dim("rows", low=2, high=90, hint=40)])
@pytest.mark.parametrize("threads", [1, 2])
def test_maps_write_over_what_they_read_last(rows: object, threads: int) -> None:
    """The second product is read again at the end: what follows it must lie elsewhere. That of the sum is not."""

    def maps(x: object) -> object:
        first = x @ WEIGHTS[0]
        second = tw.relu(first) @ WEIGHTS[1]
        third = tw.softmax(tw.relu(second @ WEIGHTS[2] + SHIFTS[2]), axis=-1)
        return tw.softmax(third * 2 + second, axis=-1)

    model_plan = planned(maps, rows, 40)
    assert any(len(tenant.names) > 1 for tenant in allocations(model_plan))
    executable, held = loaded(model_plan, threads=threads)
    x = RNG.standard_normal((40, 40)).astype(np.float32)
    np.testing.assert_allclose(result(executable, x, held), maps(x), rtol=1e-4, atol=1e-5)
    size, alive = arena_bytes(model_plan)
    assert alive <= size <= 3 * 40 * 48 * 4


def test_workspaces_of_calls_at_once_are_apart() -> None:
    executable, held = loaded(planned(layers, 64, 40), threads=2)
    inputs = [RNG.standard_normal((64, 40)).astype(np.float32) for _ in range(4)]
    expected = [result(executable, x, held) for x in inputs]
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(100):
            if not (result(executable, inputs[number], held) == expected[number]).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert wrong == []


def test_profile_times_every_chain() -> None:
    model_plan = planned(layers, 8, 40)
    executable, held = loaded(model_plan, threads=2)
    x = RNG.standard_normal((8, 40)).astype(np.float32)
    outputs = executable.new_outputs([x, *held])
    times = executable.profile([x, *held], outputs)
    assert [name for name, _ in times] == [plan.chain.name for plan in model_plan.plans]
    assert all(0 <= seconds < 10 for _, seconds in times)
    assert (outputs[0] == result(executable, x, held)).all()
    with pytest.raises(TilewrightError, match="refuses argument 0"):
        executable.profile([x[:, 1:], *held], outputs)


names_of_variables = st.lists(st.sampled_from("abcdegh"), min_size=3, max_size=3, unique=True)


@given(names_of_variables)
def test_local_names_do_not_count(names: list[str]) -> None:
    def text(x: str, y: str, z: str) -> str:
        return f"const long {x} = 1; float *const {y} = call->tensors[0]; for (long {z} = {x}; {z} < n; {z}++) f({y}, 1.0f);"

    assert without_names(text(*names)) == without_names(text("a", "b", "c"))


@pytest.mark.parametrize(
    "other",
    [
        "const long a = 2; long b = a; f(a, b);",
        "const long a = 1; long b = a; f(b, a);",
        "const long a = 1; long b = a; g(a, b);",
        "const long a = 1; float b = a; f(a, b);",
        "const long a = 1; long b = n; f(a, b);",
    ],
)
def test_everything_else_counts(other: str) -> None:
    assert without_names("const long a = 1; long b = a; f(a, b);") != without_names(other)
