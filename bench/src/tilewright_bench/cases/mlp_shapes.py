"""The networks of linear layers that `tilewright bench mlp` measures."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tilewright_bench.cases.odd_sizes import odd_below

Network: TypeAlias = Literal["relu", "low_rank", "gelu", "gated", "lora", "residual"]


@dataclass(frozen=True, slots=True)
class MlpShape:
    """Rows through linear layers with constant weights; extents in elements.

    "relu": `layers` of width x width with bias and relu. "low_rank": width -> hidden -> out. "gelu": width -> hidden -> width,
    with bias, and gelu (exact) between. "gated": (silu(x G) * (x U)) D. "lora": x W + (x A) B, W width x width, A width x hidden.
    "residual": layer_norm(x + gelu(x V + b) W + c).
    """

    name: str
    network: Network
    rows: int
    width: int
    hidden: int = 0
    layers: int = 2
    out: int = 0

    @property
    def matrices(self) -> tuple[tuple[int, int], ...]:
        """The shapes of the weights, (in, out) each, in the order of their use."""
        width, hidden = self.width, self.hidden
        return {
            "relu": ((width, width),) * self.layers,
            "low_rank": ((width, hidden), (hidden, self.out)),
            "gelu": ((width, hidden), (hidden, width)),
            "gated": ((width, hidden), (width, hidden), (hidden, width)),
            "lora": ((width, width), (width, hidden), (hidden, width)),
            "residual": ((width, hidden), (hidden, width)),
        }[self.network]

    @property
    def flops(self) -> int:
        """Of the products; a multiply and an add count as two.

        >>> mlp_shape("mlp_64").flops
        2147483648
        """
        return 2 * self.rows * sum(inner * outer for inner, outer in self.matrices)

    @property
    def moved_bytes(self) -> int:
        """Rows, weights and result, each once, in float32."""
        return 4 * (self.rows * (self.width + self.result[1]) + sum(inner * outer for inner, outer in self.matrices))

    @property
    def result(self) -> tuple[int, int]:
        """The shape of the result."""
        return self.rows, self.matrices[-1][1]

    def odd(self, generator: random.Random) -> MlpShape:
        """The same with odd extents, at most a sixteenth smaller; one row stays one."""
        rows, width, hidden, out = (
            odd_below(extent, generator) if extent else 0 for extent in (self.rows, self.width, self.hidden, self.out)
        )
        name = f"{self.name} odd {'x'.join(str(extent) for extent in (rows, width, hidden, out) if extent)}"
        return replace(self, name=name, rows=rows, width=width, hidden=hidden, out=out)


MLPS = (
    MlpShape("mlp_64", "relu", 65536, 64, layers=4),
    MlpShape("mlp_32", "relu", 262144, 32, layers=6),
    MlpShape("low_rank", "low_rank", 2048, 1024, 32, out=1024),
)
FFNS = tuple(MlpShape(f"ffn_{rows}", "gelu", rows, 768, 3072) for rows in (1, 16, 128, 512))
VARIANTS = (
    MlpShape("swiglu_128", "gated", 128, 768, 2048),
    MlpShape("lora_128", "lora", 128, 768, 16),
    MlpShape("residual_128", "residual", 128, 768, 3072),
)
SHAPES = (*MLPS, *FFNS, *VARIANTS)


def mlp_shape(name: str) -> MlpShape:
    """The one of that name; `KeyError` if there is none."""
    return {shape.name: shape for shape in SHAPES}[name]
