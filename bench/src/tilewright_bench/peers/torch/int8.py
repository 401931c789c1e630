"""PyTorch on products of bytes: the quantised linear layer of its oneDNN, with a result in float32."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilewright_bench.cases.int8 import ZERO, Int8Case
from tilewright_bench.measurement.contender import Contender, Peer


def prepare(case: Int8Case, threads: int) -> Iterator[Contender]:
    """What the quantiser of `torch.export` calls on x86; all scales are one."""
    import torch

    torch.set_num_threads(threads)
    a, weights = (torch.from_numpy(operand) for operand in (case.operands[0], case.operands[1].T.copy()))
    packed = torch.ops.onednn.qlinear_prepack(weights, list(a.shape))
    scales, zeros = torch.ones(case.shape.n), torch.zeros(case.shape.n, dtype=torch.int64)
    layer, last = torch.ops.onednn.qlinear_pointwise, list[Any]()

    def call() -> None:
        with torch.inference_mode():
            last[:] = [layer(a, 1.0, ZERO, packed, scales, zeros, None, 1.0, 0, torch.float32, "none", [], "")]

    yield Contender("torch qlinear", call, lambda: last[0].numpy())


PEER = Peer(
    "torch", ("torch",), prepare, "onednn.qlinear_pointwise in inference mode: prepacked weights, a new result in float32"
)
