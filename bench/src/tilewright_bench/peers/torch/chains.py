"""PyTorch on chains: two batched products, and its fused attention."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright_bench.cases.chains import ChainCase
from tilewright_bench.measurement.contender import Contender, Peer


def prepare(case: ChainCase, threads: int) -> Iterator[Contender]:
    """`bmm` with its results in tensors made ahead; `scaled_dot_product_attention` with keys in the order that it likes."""
    import torch

    torch.set_num_threads(threads)
    a, b, d = (torch.from_numpy(operand) for operand in case.operands)
    scores, out = torch.empty(case.shape.batch, case.shape.m, case.shape.l), torch.empty(case.result_shape)

    def call() -> None:
        with torch.inference_mode():
            torch.bmm(a, b, out=scores)
            torch.bmm(torch.softmax(scores, -1) if case.softmax else scores, d, out=out)

    yield Contender("torch", call, out.numpy)
    if not case.softmax:
        return
    keys = b.transpose(1, 2).contiguous()
    attended = [out]

    def attend() -> None:
        with torch.inference_mode():
            attended[0] = torch.nn.functional.scaled_dot_product_attention(a[None], keys[None], d[None], scale=1.0)[0]

    yield Contender("torch sdpa", attend, lambda: attended[0].numpy())


PEER = Peer(
    "torch",
    ("torch",),
    prepare,
    "as installed, inference mode; for sdpa the keys are transposed ahead",
    prepacked_note="as any other operand: it has no prepacked batched product",
)
