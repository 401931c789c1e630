"""The card: what it is, tensors on it, the seconds of calls by its events. PyTorch is imported when one is asked for."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, Protocol, TypeAlias

import numpy as np

from tilewright.backends.triton_gpu.launch import check_version
from tilewright.errors import TilewrightError

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Call: TypeAlias = Callable[[], Any]
PACKAGES = ("torch", "triton")
TURN_S = 1e-3
"""Of a turn, at least: events resolve half a microsecond (CUDA Runtime API, cudaEventElapsedTime)."""
MOST_CALLS, WARM_CALLS = 64, 3
UNKNOWN = "unknown"


class Device(Protocol):
    """What runs kernels of Triton and PyTorch's tensors."""

    card: str
    driver: str
    capability: tuple[int, int]
    runner: str
    """As `Lowered.compile` takes it: "" compiles for the card."""
    has_resources: bool
    """Whether compiled kernels tell their registers."""
    torch: Any
    """The module."""

    def tensor(self, array: Array) -> Any:
        """On the device."""

    def array(self, tensor: Any) -> Array:
        """Of a result."""

    def stopwatch(self, call: Call) -> Callable[[], float]:
        """Runs a call warm, and returns what takes its seconds."""

    def synchronise(self) -> None:
        """Wait for the device."""


def missing() -> str:
    """What a run lacks here, in words; empty where it has all."""
    absent = [name for name in PACKAGES if find_spec(name) is None]
    if absent:
        return f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed (pip install -e '.[gpu]')"
    try:
        check_version(_version("triton"))
    except TilewrightError as problem:
        return f"{problem.message}: {problem.why}"
    import torch

    return "" if torch.cuda.is_available() else f"no GPU: PyTorch {torch.__version__} finds none"


def versions() -> dict[str, str]:
    """Of the packages that decide what is measured."""
    return {name: _version(name) for name in ("tilewright", *PACKAGES)}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # of distributions with other names, such as pytorch-triton
        return str(getattr(import_module(package), "__version__", UNKNOWN))


class Cuda:
    """The first card of this machine."""

    runner = ""
    has_resources = True

    def __init__(self) -> None:
        import torch

        self.torch: Any = torch
        self.card = str(torch.cuda.get_device_name())
        self.capability: tuple[int, int] = torch.cuda.get_device_capability()
        self.driver = _driver()

    def tensor(self, array: Array) -> Any:
        """A copy on the card."""
        return self.torch.from_numpy(array).cuda()

    def array(self, tensor: Any) -> Array:
        """A copy on the CPU."""
        result: Array = tensor.cpu().numpy()
        return result

    def synchronise(self) -> None:
        """Wait for all streams."""
        self.torch.cuda.synchronize()

    def stopwatch(self, call: Call) -> Callable[[], float]:
        """Of calls that were recorded as a CUDA graph, so that neither Python nor launches from the CPU are measured.

        Calls that cannot be recorded raise `TilewrightError`.
        """
        for _ in range(WARM_CALLS):
            call()
        count = max(1, min(MOST_CALLS, round(TURN_S / max(self._seconds(call), 1e-9))))
        graph = self._graph(call, count)
        self._seconds(graph.replay)
        return lambda: self._seconds(graph.replay) / count

    def _graph(self, call: Call, count: int) -> Any:
        """`count` calls, one after the other."""
        torch = self.torch
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        try:
            with torch.cuda.stream(stream):
                call()  # what a stream makes at its first call is no part of the graph
            torch.cuda.current_stream().wait_stream(stream)
            with torch.cuda.graph(graph, stream=stream):
                for _ in range(count):
                    call()
        except RuntimeError as problem:
            why = str(problem).strip().splitlines()[0]
            raise TilewrightError("the calls cannot be recorded as a CUDA graph", why=why) from problem
        return graph

    def _seconds(self, call: Call) -> float:
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end)) * 1e-3


def _driver() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return UNKNOWN
    return found[0] if found else UNKNOWN
