from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tests.backends.interpreter_backend import Interpreter, machine
from tilewright import compiler
from tilewright.backends import registry
from tilewright.errors import TilewrightError, UnsupportedOperation
from tilewright.machine import Machine, targets

WEIGHT = np.random.default_rng(0).standard_normal((24, 40), dtype=np.float32)


@pytest.fixture
def interpreter() -> Iterator[Interpreter]:
    backend = Interpreter()
    registry.register(backend)
    yield backend
    registry.unregister(backend.name)


def layers(x):
    """Two chains: the transposed product of the second begins anew."""
    hidden = tw.maximum(x @ WEIGHT, 0.0)
    return tw.softmax(hidden, axis=-1), hidden.T @ x


def lowered(function, *shapes):
    lowered = tw.jit(function).lower(*(tw.spec(shape) for shape in shapes))
    return replace(lowered, options=replace(lowered.options, machine=machine()))


def test_every_named_machine_is_served_by_c() -> None:
    assert {registry.for_machine(Machine.named(name)).name for name in targets.names("cpu")} == {"c_cpu"}
    assert registry.for_machine(Machine.detect()).name == "c_cpu"


def test_a_registered_backend_runs_what_was_planned(interpreter: Interpreter) -> None:
    x = np.random.default_rng(1).standard_normal((33, 24), dtype=np.float32)
    plan = lowered(layers, x.shape)
    kernel = plan.compile()
    assert len(plan.model_plan.plans) > 1
    for actual, expected in zip(kernel(x), tw.jit(layers)(x), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)
    assert "tw_run" not in kernel.source


def test_a_registered_backend_builds_models_and_prints_its_programs(
    interpreter: Interpreter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_DUMP_DIR", str(tmp_path))
    plan = lowered(layers, (33, 24))
    executable = compiler.build(plan.model_plan)
    names = [chain.chain.name for chain in plan.model_plan.plans]
    (listing,) = tmp_path.glob("*.lower.txt")
    assert listing.read_text().splitlines() == names
    x = np.ones((33, 24), np.float32)
    outputs = executable.new_outputs([x, WEIGHT])
    assert [name for name, _ in executable.profile([x, WEIGHT], outputs)] == names
    assert outputs[1].shape == (40, 24)


def test_what_no_backend_serves_is_refused_with_what_to_do() -> None:
    with pytest.raises(UnsupportedOperation, match="no backend makes code for interpreter") as caught:
        lowered(layers, (33, 24)).compile()
    assert "device is 'interpreter'" in caught.value.why
    assert "c_cpu" in caught.value.why
    assert "add-a-backend" in caught.value.hint


def test_names_are_taken_once_and_the_package_keeps_its_backends(interpreter: Interpreter) -> None:
    with pytest.raises(TilewrightError, match="taken by another backend"):
        registry.register(interpreter)
    with pytest.raises(TilewrightError, match="no such backend was registered"):
        registry.unregister("c_cpu")
