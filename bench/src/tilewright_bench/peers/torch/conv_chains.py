"""PyTorch on chains of convolutions: NCHW and channels_last, eager; compiled by Inductor with frozen weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tilewright_bench.cases.conv_chain_networks import chain
from tilewright_bench.cases.conv_chains import ConvChainCase
from tilewright_bench.cases.conv_shapes import ConvShape
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.torch import compilation


def prepare(case: ConvChainCase, threads: int) -> Iterator[Contender]:
    """Both memory formats; image, filters and result are in the format."""
    import torch

    torch.set_num_threads(threads)
    image, module = torch.from_numpy(case.image), _module(case)
    yield _contender("torch", lambda: module(image))
    last, turned = image.to(memory_format=torch.channels_last), _module(case).to(memory_format=torch.channels_last)
    yield _contender("torch channels_last", lambda: turned(last))


def prepare_compiled(case: ConvChainCase, threads: int) -> Iterator[Contender]:
    """Compilation, in which frozen filters are packed, ends with the first call."""
    import torch

    torch.set_num_threads(threads)
    compilation.forget()
    module = _module(case)
    compiled = compilation.compiled(lambda: module, freezing=True)
    yield _contender("torch.compile", lambda: compiled(torch.from_numpy(case.image)))


def _module(case: ConvChainCase) -> Any:
    import torch

    class Chain(torch.nn.Module):  # type: ignore[misc]  # torch is not followed
        def __init__(self) -> None:
            super().__init__()
            self.filters, self.biases = (
                torch.nn.ParameterList([torch.nn.Parameter(torch.from_numpy(array), False) for array in arrays])
                for arrays in (case.filters, case.biases)
            )

        def forward(self, x: Any) -> Any:
            return chain(case.shape, Eager(), x, list(self.filters), list(self.biases))

    return Chain().eval()


def _contender(name: str, compute: Callable[[], Any]) -> Contender:
    """Without gradients; Inductor freezes weights outside of inference mode only."""
    import torch

    last: list[Any] = []

    def call() -> None:
        with torch.no_grad():
            last[:] = [compute()]

    return Contender(name, call, lambda: last[0].contiguous().numpy())


class Eager:
    """By `torch.nn.functional`."""

    def conv(self, shape: ConvShape, x: Any, filters: Any, bias: Any) -> Any:
        import torch

        return torch.nn.functional.conv2d(x, filters, bias, shape.stride, shape.padding, shape.dilation, shape.groups)

    def relu(self, x: Any) -> Any:
        import torch

        return torch.nn.functional.relu(x)

    def relu6(self, x: Any) -> Any:
        import torch

        return torch.nn.functional.relu6(x)

    def add(self, x: Any, y: Any) -> Any:
        return x + y


PEER = Peer("torch", ("torch",), prepare, "eager, no gradients, NCHW and channels_last throughout")
COMPILED = Peer(
    "torch.compile",
    ("torch",),
    prepare_compiled,
    "NCHW, compiled by Inductor with frozen weights before the measurement (seconds for every chain: only where it is asked for)",
    matters=lambda: False,
)
