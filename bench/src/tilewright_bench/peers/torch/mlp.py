"""PyTorch on linear layers: modules of them, eager and compiled with frozen weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tilewright_bench.cases.mlp import MlpCase
from tilewright_bench.cases.mlp_networks import EPSILON, network
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.torch import compilation as torch_compile


def prepare(case: MlpCase, threads: int) -> Iterator[Contender]:
    """Compilation, in which frozen weights are packed, ends with the first call."""
    import torch

    torch.set_num_threads(threads)
    torch_compile.forget()
    module, rows = _module(case), torch.from_numpy(case.rows)
    yield _contender("torch", module, rows)
    yield _contender("torch.compile", torch_compile.compiled(lambda: module, freezing=True), rows)


def _module(case: MlpCase) -> Any:
    """Weights are (out, in), as in `torch.nn.Linear`."""
    import torch

    class Layers(torch.nn.Module):  # type: ignore[misc]  # torch is not followed
        def __init__(self) -> None:
            super().__init__()
            weights = [torch.from_numpy(weight).t().contiguous() for weight in case.weights]
            self.weights = torch.nn.ParameterList([torch.nn.Parameter(weight, False) for weight in weights])
            biases = [torch.from_numpy(bias) for bias in case.biases]
            self.biases = torch.nn.ParameterList([torch.nn.Parameter(bias, False) for bias in biases])

        def forward(self, x: Any) -> Any:
            return network(case.shape, Eager(), x, list(self.weights), list(self.biases))

    return Layers().eval()


def _contender(name: str, module: Callable[[Any], Any], rows: Any) -> Contender:
    """Without gradients; Inductor freezes weights outside of inference mode only."""
    import torch

    last: list[Any] = []

    def call() -> None:
        with torch.no_grad():
            last[:] = [module(rows)]

    return Contender(name, call, lambda: last[0].numpy())


class Eager:
    """By `torch.nn.functional`."""

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        import torch

        return torch.nn.functional.linear(x, weight, bias)

    def relu(self, x: Any) -> Any:
        import torch

        return torch.nn.functional.relu(x)

    def gelu(self, x: Any) -> Any:
        import torch

        return torch.nn.functional.gelu(x)

    def silu(self, x: Any) -> Any:
        import torch

        return torch.nn.functional.silu(x)

    def add(self, x: Any, y: Any) -> Any:
        return x + y

    def multiply(self, x: Any, y: Any) -> Any:
        return x * y

    def layer_norm(self, x: Any) -> Any:
        import torch

        return torch.nn.functional.layer_norm(x, x.shape[-1:], eps=EPSILON)


PEER = Peer(
    "torch",
    ("torch",),
    prepare,
    "no gradients; weights (out, in); eager, and compiled by Inductor with frozen weights, packed before the measurement",
)
