"""FBGEMM on products of bytes, through PyTorch's quantised linear layers, with prepacked weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tilewright_bench.cases.case import TOLERANCE
from tilewright_bench.cases.dynamic_int8 import SCALE, DynamicCase
from tilewright_bench.cases.int8 import ZERO, Int8Case
from tilewright_bench.measurement.contender import Contender, Peer

ENGINE = "fbgemm"
HALF_A_STEP = 0.51 / 127
"""Of a result that is rounded to 8 bits, over its largest magnitude."""


def prepare(case: Int8Case, threads: int) -> Iterator[Contender]:
    """All scales are one but that of the result, which is rounded to bytes: FBGEMM has no other for quantised operands."""
    import torch

    a, b = case.operands
    packed, quantised = _packed(b, 1.0, threads), _quantised(a, 1.0, ZERO)
    step = float(np.abs(case.reference).max()) / (ZERO - 1)
    yield _contender(
        "fbgemm linear",
        lambda: torch.ops.quantized.linear(quantised, packed, step, ZERO),
        lambda result: result.dequantize().numpy(),
        HALF_A_STEP,
    )


def dynamic(case: DynamicCase, threads: int) -> Iterator[Contender]:
    """The layer finds the scale and the zero point of its input in the call; of 256 values, as weights of 7 bits allow."""
    import torch

    a, packed = torch.from_numpy(case.operands[0]), _packed(case.operands[1], SCALE, threads)
    yield _contender(
        "fbgemm linear_dynamic", lambda: torch.ops.quantized.linear_dynamic(a, packed, False), lambda result: result.numpy()
    )


def _packed(b: Any, scale: float, threads: int) -> Any:
    """Weights (k, n) as a linear layer of this engine wants them. Raises `RuntimeError` where this PyTorch has no FBGEMM."""
    import torch

    torch.set_num_threads(threads)
    if ENGINE not in torch.backends.quantized.supported_engines:
        raise RuntimeError("this PyTorch was built without FBGEMM")
    torch.backends.quantized.engine = ENGINE
    return torch.ops.quantized.linear_prepack(_quantised(b.T.copy(), scale, 0), None)


def _quantised(array: Any, scale: float, zero: int) -> Any:
    """Bytes as a tensor of PyTorch's quantised types; these types are deprecated, of which it warns."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch._make_per_tensor_quantized_tensor(torch.from_numpy(array), scale, zero)


def _contender(name: str, layer: Callable[[], Any], numbers: Callable[[Any], Any], tolerance: float = TOLERANCE) -> Contender:
    import torch

    last = list[Any]()

    def call() -> None:
        with torch.inference_mode():
            last[:] = [layer()]

    return Contender(name, call, lambda: numbers(last[0]), tolerance=tolerance)


PEERS: dict[str, Peer[Any]] = {
    "int8": Peer(
        "fbgemm",
        ("torch",),
        prepare,
        "quantized.linear of PyTorch with its engine fbgemm: prepacked weights, a new result, which is rounded to bytes",
    ),
    "int8-dynamic": Peer(
        "fbgemm",
        ("torch",),
        dynamic,
        "quantized.linear_dynamic of PyTorch with its engine fbgemm: prepacked weights, a new result",
    ),
}
