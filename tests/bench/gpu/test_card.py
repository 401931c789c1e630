"""What only a card can run, with the card replaced: Triton's compiler behind a driver that loads nothing, PyTorch's events and
graphs that count calls."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

import tilewright as tw
from tests.support.gpu_bench import SMALL, profiled_calls
from tests.support.triton_process import missing
from tilewright import compiler
from tilewright.backends.triton_gpu import launch
from tilewright.leaves import lowerings
from tilewright_bench.gpu import contract
from tilewright_bench.gpu.cases import HALF
from tilewright_bench.gpu.device import MOST_CALLS, WARM_CALLS, Cuda

REGISTERS, SPILLS = 77, 3


class Driver:
    """Of a card with this architecture, which tells the same registers of every kernel."""

    def __init__(self, number: int) -> None:
        from triton.backends.compiler import GPUTarget

        self.target = GPUTarget("cuda", number, 32)
        self.utils = SimpleNamespace(
            load_binary=lambda *of: (1, 2, REGISTERS, SPILLS, 1024),
            get_device_properties=lambda number: {"max_shared_mem": 166912},
            unload_module=lambda module: None,
        )
        self.launcher_cls = lambda source, metadata: None

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, number: int = 0) -> int:
        return 0

    def get_current_target(self) -> Any:
        return self.target


@contextmanager
def card(number: int, directory: Any) -> Iterator[Any]:
    """Inside, Triton compiles for a card, whose tensors are those of the CPU."""
    if reason := missing():
        pytest.skip(reason)
    import torch
    from triton.runtime import driver

    with (
        patch.dict(os.environ, {"TRITON_CACHE_DIR": str(directory)}),
        patch.object(torch.cuda, "device", lambda place: nullcontext()),
        patch.object(driver, "_active", Driver(number)),
        patch.object(launch, "CUDA", "cpu"),
    ):
        yield torch


@pytest.mark.parametrize(("target", "number"), [("a100", 80), ("h100", 90)])
@pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")
def test_resources_are_those_that_the_driver_tells(target: str, number: int, tmp_path: Any) -> None:
    case = SMALL[0]
    plan = tw.jit(case.function, target=target).lower(*(tw.spec(shape, HALF) for shape in case.shapes)).model_plan
    with card(number, tmp_path) as torch:
        loaded = launch.load(compiler.generate(plan), is_interpreted=False)
        (found,) = loaded.resources([torch.from_numpy(array) for array in case.arguments()])
    assert (found.kernel, found.registers, found.spills) == (loaded.launches[0][0], REGISTERS, SPILLS)
    assert found.shared_bytes > 0


@pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION")
def test_a_lowering_is_held_to_its_resources(tmp_path: Any) -> None:
    lowering = lowerings.named("fragments_2x2_float16")
    with card(80, tmp_path) as torch:
        function = launch.names_of(lowering.code.text, is_interpreted=False)[lowering.code.function]
        found = contract._resources(lowering, lowering.code, function, SimpleNamespace(tensor=torch.from_numpy, torch=torch))
    assert contract._excesses(lowering, found, True) == [f"{SPILLS} registers spilled"]


def test_one_turn_of_each_contender_is_profiled(interpreter: ProcessPoolExecutor) -> None:
    assert interpreter.submit(profiled_calls, "chain").result() == ["start", "marker", "marker", "marker", "stop"]


class FakeTorch:
    """Events whose clock goes on by what a call takes; graphs that replay what was called while they were recorded."""

    def __init__(self, call_s: float) -> None:
        self.now, self.calls, self.call_s, self.recorded = 0.0, 0, call_s, 0
        self.is_recording = False
        stream = SimpleNamespace(wait_stream=lambda other: None)
        self.cuda = SimpleNamespace(
            Event=lambda enable_timing: Event(self),
            Stream=lambda: stream,
            current_stream=lambda: stream,
            stream=lambda of: nullcontext(),
            CUDAGraph=lambda: SimpleNamespace(replay=self.replay),
            graph=self.graph,
        )

    def call(self) -> None:
        self.calls += 1
        if self.is_recording:
            self.recorded += 1
        else:
            self.now += self.call_s

    def replay(self) -> None:
        self.now += self.recorded * self.call_s

    @contextmanager
    def graph(self, graph: Any, stream: Any) -> Iterator[None]:
        self.is_recording = True
        yield
        self.is_recording = False


class Event:
    """Of `FakeTorch`."""

    def __init__(self, torch: FakeTorch) -> None:
        self.torch, self.at = torch, 0.0

    def record(self) -> None:
        self.at = self.torch.now

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, other: Event) -> float:
        return (other.at - self.at) * 1e3


@pytest.mark.parametrize(("call_s", "calls"), [(1e-6, MOST_CALLS), (1e-4, 10), (0.5, 1)])
def test_a_stopwatch_replays_calls_of_a_millisecond_or_so(call_s: float, calls: int) -> None:
    card = Cuda.__new__(Cuda)
    card.torch = fake = FakeTorch(call_s)
    watch = card.stopwatch(fake.call)
    assert fake.recorded == calls
    assert fake.calls == WARM_CALLS + 2 + calls
    assert watch() == pytest.approx(call_s)
    assert fake.calls == WARM_CALLS + 2 + calls
