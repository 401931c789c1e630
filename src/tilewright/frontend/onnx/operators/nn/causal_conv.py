"""CausalConvWithState: every channel's convolution with what is before it, and the end of the sequence for the next call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.graph.special_functions import silu


@dataclass(frozen=True, slots=True, kw_only=True)
class CausalConvWithState:
    """Of x [batch, channels, length] and weight [channels, 1, k]: results like x, and the last k - 1 positions.

    `past_state` [batch, channels, k - 1] comes before x, zeros without it. Sums are float32 at least.
    """

    activation: str = "none"

    def reference(self, x: Any, weight: Any, bias: Any = None, past_state: Any = None) -> Any:
        if self.activation not in ("none", "silu", "swish"):
            raise UnsupportedOperation(f"activation {self.activation!r}", where="CausalConvWithState")
        if np.ndim(x) != 3 or np.ndim(weight) != 3 or weight.shape[:2] != (x.shape[1], 1) or not weight.shape[2]:
            raise ShapeError(f"{np.shape(x)} with weights {np.shape(weight)}", where="CausalConvWithState")
        before = (*x.shape[:2], weight.shape[2] - 1)
        past = np.zeros(before, x.dtype) if past_state is None else past_state
        if np.shape(past) != before or (bias is not None and np.shape(bias) != x.shape[1:2]):
            raise ShapeError(f"a state of {np.shape(past)}, a bias of {np.shape(bias)}", where="CausalConvWithState")
        sequence = np.concatenate([past, x], axis=2)
        wide = np.result_type(x.dtype, np.float32)
        taps = np.lib.stride_tricks.sliding_window_view(np.asarray(sequence, wide), weight.shape[2], axis=2)
        sums = np.einsum("bclk,ck->bcl", taps, np.asarray(weight[:, 0], wide))
        sums = sums if bias is None else sums + np.asarray(bias, wide)[:, None]
        result = sums if self.activation == "none" else silu(sums)
        return result.astype(x.dtype), sequence[:, :, x.shape[2] :]


define("CausalConvWithState", CausalConvWithState, since=27)
