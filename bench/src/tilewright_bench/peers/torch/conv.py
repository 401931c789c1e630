"""PyTorch on convolutions: NCHW and channels_last, eager; compiled by Inductor with frozen filters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tilewright_bench.cases.conv import ConvCase
from tilewright_bench.measurement.contender import Contender, Peer
from tilewright_bench.peers.torch import compilation


def prepare(case: ConvCase, threads: int) -> Iterator[Contender]:
    """Both memory formats, where images have two dimensions; image, filters and result are in the format."""
    yield from _eager(case, threads)


def prepare_compiled(case: ConvCase, threads: int) -> Iterator[Contender]:
    """Compilation, in which frozen filters are packed, ends with the first call."""
    import torch

    torch.set_num_threads(threads)
    compilation.forget()
    module = _module(case)
    compiled = compilation.compiled(lambda: module, freezing=True)
    yield _contender("torch.compile", lambda: compiled(torch.from_numpy(case.image)))


def _eager(case: ConvCase, threads: int) -> Iterator[Contender]:
    import torch

    torch.set_num_threads(threads)
    image, module = torch.from_numpy(case.image), _module(case)
    yield _contender("torch", lambda: module(image))
    if len(case.shape.image) == 2:
        last, turned = image.to(memory_format=torch.channels_last), _module(case).to(memory_format=torch.channels_last)
        yield _contender("torch channels_last", lambda: turned(last))


def _module(case: ConvCase) -> Any:
    import torch

    shape = case.shape
    kind = (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)[len(shape.image) - 1]
    options = {"stride": shape.stride, "padding": shape.padding, "dilation": shape.dilation, "groups": shape.groups}
    module = kind(shape.channels, shape.filters, shape.kernel, bias=False, **options)
    module.weight = torch.nn.Parameter(torch.from_numpy(case.filters), False)
    return module.eval()


def _contender(name: str, convolve: Callable[[], Any]) -> Contender:
    """Without gradients; Inductor freezes filters outside of inference mode only."""
    import torch

    last: list[Any] = []

    def call() -> None:
        with torch.no_grad():
            last[:] = [convolve()]

    return Contender(name, call, lambda: last[0].contiguous().numpy())


PEER = Peer(
    "torch", ("torch",), prepare, "eager modules, no gradients, NCHW and channels_last throughout", "as any other operand"
)
COMPILED = Peer(
    "torch.compile",
    ("torch",),
    prepare_compiled,
    "NCHW, compiled by Inductor before the measurement (seconds for every shape: only where it is asked for)",
    prepacked_note="frozen, which packs them",
    matters=lambda: False,
)
