"""Products, MLPs and feed-forward blocks, with weights as operands and as constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

import tilewright as tw
from tests.replay.planning import Planned, traced

ACTIVATIONS = ("relu", "gelu", "silu", "tanh", "sigmoid", "erf", "exp")
PRODUCTS = {
    "square": ((256, 256), (256, 256)),
    "small": ((16, 16), (16, 16)),
    "odd": ((37, 61), (61, 53)),
    "deep": ((32, 20000), (20000, 24)),
    "wide": ((8, 64), (64, 30000)),
    "tall": ((30000, 64), (64, 8)),
    "batched": ((6, 50, 70), (6, 70, 90)),
    "broadcast": ((6, 50, 70), (70, 90)),
}
EINSUMS = {
    "transposed-left": ("km,kn->mn", (200, 120), (200, 160)),
    "transposed-right": ("mk,nk->mn", (120, 200), (160, 200)),
    "transposed-result": ("mk,kn->nm", (120, 200), (200, 160)),
    "outer-product": ("m,n->mn", (300,), (500,)),
    "two-sums": ("abk,kbn->an", (40, 12, 30), (30, 12, 50)),
    "batch-last": ("mkb,knb->mnb", (20, 30, 64), (30, 24, 64)),
}


def graphs() -> Mapping[str, Planned]:
    found = {f"product-{name}": traced(tw.matmul, *one) for name, one in PRODUCTS.items()}
    found |= {f"einsum-{name}": traced(_einsum(one[0]), *one[1:]) for name, one in EINSUMS.items()}
    found |= {f"layer-{name}": traced(_mlp((96, 160), name), (64, 96)) for name in ACTIVATIONS}
    found |= {f"mlp-{name}": traced(_mlp((128, 256, 256, 64), name), (200, 128)) for name in ("relu", "gelu", "tanh")}
    found |= {
        "mlp-unfused": traced(_mlp((128, 256, 64), "relu"), (200, 128), fuse=False),
        "mlp-fused": traced(_mlp((128, 256, 64), "relu"), (200, 128), fuse=True),
        "mlp-deep": traced(_mlp((48, 48, 48, 48, 48, 48), "relu"), (32, 48)),
        "mlp-one-row": traced(_mlp((128, 256, 64), "relu"), (1, 128)),
        "mlp-lengths": traced(_mlp((128, 256, 64), "gelu"), tw.spec((tw.Dim("rows", 1, 4096, 64), 128))),
        "constant-weights": traced(lambda x: tw.relu(x @ _numbers(256, 1024)), (512, 256)),
        "ffn-constant": traced(_ffn(192, 768), (100, 192)),
        "ffn-large": traced(_ffn(768, 3072), (128, 768)),
        "gated": traced(_gated, (100, 96), (96, 256), (96, 256), (256, 96)),
        "two-results": traced(_two_results, (64, 64), (64, 96), (64, 32)),
        "chain-of-three": traced(lambda a, b, c, d: a @ b @ c @ d, (80, 60), (60, 100), (100, 70), (70, 90)),
        "bias-of-rows": traced(lambda x, w, b: x @ w + b, (64, 96), (96, 128), (64, 1)),
    }
    return found


def _einsum(subscripts: str) -> Callable[..., Any]:
    return lambda a, b: tw.einsum(subscripts, a, b)


def _mlp(widths: tuple[int, ...], activation: str) -> Callable[[Any], Any]:
    """Linear layers with an activation between."""
    weights = [(_numbers(*sizes), _numbers(sizes[1])) for sizes in pairwise(widths)]

    def forward(x: Any) -> Any:
        for number, (weight, bias) in enumerate(weights):
            x = x @ weight + bias
            x = getattr(tw, activation)(x) if number < len(weights) - 1 or number == 0 else x
        return x

    return forward


def _ffn(width: int, hidden: int) -> Callable[[Any], Any]:
    """A feed-forward block with its norm and its residual."""
    up, down = _numbers(width, hidden), _numbers(hidden, width)
    gain, shift = _numbers(2, width)
    return lambda x: x + tw.gelu(tw.layer_norm(x, (width,), gain, shift) @ up) @ down


def _gated(x: Any, gate: Any, up: Any, down: Any) -> Any:
    return (tw.silu(x @ gate) * (x @ up)) @ down


def _two_results(x: Any, first: Any, second: Any) -> Any:
    hidden = tw.relu(x @ first)
    return hidden, hidden[:, :64] @ second


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape, np.float32)
