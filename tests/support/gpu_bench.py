"""`tilewright bench gpu` on a device that is none: Triton's interpreter, PyTorch on the CPU, seconds by a rule."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

from tilewright.tune.shapes import ConvChainShape
from tilewright_bench.gpu import cases, profiled
from tilewright_bench.gpu.budget import Budget
from tilewright_bench.gpu.cases import GpuCase
from tilewright_bench.gpu.results import GpuReport
from tilewright_bench.gpu.run import Settings, measured

CARD = "NVIDIA A100-SXM4-40GB"
SECONDS = 1e-5
SMALL = (
    cases.gemm_chain("chain", ((2, 33, 16), (2, 16, 40), (2, 40, 24))),
    cases.softmax_chain("softmax", ((1, 17, 16), (1, 16, 20), (1, 20, 24))),
    cases.conv_chain(ConvChainShape("conv", (3, 9, 8), channels=(5, 4), strides=(2, 1), kernels=(3, 1)), with_relu=False),
    cases.conv_chain(ConvChainShape("conv", (3, 9, 8), channels=(5, 4), strides=(1, 1), kernels=(1, 3)), with_relu=True),
    cases.causal_attention("attention", 2, 1, 9, 16),
    cases.mlp("mlp", 9, 16, 20),
)


class Interpreted:
    """A card in name: every call takes `SECONDS`."""

    card, driver, capability = CARD, "none", (8, 0)
    runner, has_resources = "interpreter", False

    def __init__(self) -> None:
        import torch

        self.torch: Any = torch

    def tensor(self, array: np.ndarray) -> Any:
        return self.torch.from_numpy(array.copy())

    def array(self, tensor: Any) -> np.ndarray:
        return np.asarray(tensor)

    def synchronise(self) -> None:
        pass

    def stopwatch(self, call: Callable[[], Any]) -> Callable[[], float]:
        return lambda: SECONDS


class Ticking:
    """A clock that goes on by a second whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def failing(case: GpuCase) -> GpuCase:
    """The case with functions that raise."""
    return GpuCase("failing", case.group, _raise, _raise, case.reference, case.shapes)


def _raise(*operands: Any) -> Any:
    raise RuntimeError("an illegal memory access")


def broken(case: GpuCase) -> GpuCase:
    """The case with a reference that is not its function."""
    return GpuCase("broken", case.group, case.function, case.eager, lambda *x: 1 + case.reference(*x), case.shapes)


FAULTS: dict[str, Callable[[GpuCase], GpuCase]] = {"": lambda case: case, "broken": broken, "failing": failing}


def interpreted(names: tuple[str, ...], seconds: float = 1e6, fault: str = "") -> GpuReport:
    """A run of small cases; seconds of the budget go by reads of its clock. `fault` is one of `FAULTS`."""
    chosen = [FAULTS[fault](case) for case in SMALL if case.name in names]
    settings = Settings(rounds=3, seconds=seconds, compiles=False)
    return measured(Interpreted(), chosen, settings, Budget(seconds, Ticking()))


def profiled_calls(name: str) -> list[str]:
    """What a profiler sees of the process of `ncu`, for one of the small cases."""
    seen: list[str] = []
    device = Interpreted()
    profiler = SimpleNamespace(start=lambda: seen.append("start"), stop=lambda: seen.append("stop"))
    device.torch = SimpleNamespace(cuda=SimpleNamespace(profiler=profiler, _sleep=lambda cycles: seen.append("marker")))
    with patch.object(profiled, "Cuda", lambda: device), patch.object(profiled, "all_cases", lambda: SMALL):
        device.tensor = Interpreted().tensor  # type: ignore[method-assign]
        profiled.main([name])
    return seen
