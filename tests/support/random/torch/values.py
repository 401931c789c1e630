"""Tensors of all types, with ordinary, equal and special values, and with all kinds of strides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
TYPES = (*["float32"] * 7, "float64", "float16", "bfloat16", "int64", "int64", "int32", "int16", "int8", "uint8", "bool")
"""Frequent ones several times."""
STYLES = ("normal", "normal", "normal", "few", "few", "special")
LAYOUTS = (*[""] * 6, "transposed", "channels last", "with gaps", "behind", "expanded", "overlapping")


@dataclass(frozen=True)
class Given:
    """An argument or weight: how it is made."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    """Some extents are names of lengths."""
    style: str = "normal"
    layout: str = ""
    is_view_of: str = ""
    """An expression of arguments before it, whose memory it shares; then the rest does not count."""

    def made(self, lengths: Mapping[str, int], seed: int, before: Mapping[str, torch.Tensor]) -> torch.Tensor:
        """The tensor of a call."""
        if self.is_view_of:
            found: torch.Tensor = eval(self.is_view_of, {}, dict(before))
            return found
        shape = [extent if isinstance(extent, int) else lengths[extent] for extent in self.shape]
        random = np.random.default_rng((seed, *self.name.encode()))
        return in_layout(tensor(random, self.dtype, shape, self.style), self.layout)

    @property
    def text(self) -> str:
        """For readers."""
        return self.is_view_of or f"{self.dtype}{list(self.shape)} {self.style} {self.layout}"


def tensor(random: Any, dtype: str, shape: Sequence[int], style: str) -> torch.Tensor:
    """A contiguous tensor: of normal numbers, of few that are often equal, or with special ones among them."""
    if dtype == "bool":
        return _of(random.random(shape) < 0.5)
    few = _of(random.integers(0 if dtype == "uint8" else -3, 4, shape))
    if dtype in INTEGERS:
        if style == "special":
            limits = torch.iinfo(getattr(torch, dtype))
            chosen = random.choice([limits.min, limits.max, limits.min + 1, limits.max // 2, 0, 1, 7], few.shape)
            few = torch.where(_of(random.random(shape) < 0.3), _of(chosen), few)
        return few.to(getattr(torch, dtype))
    if style == "few":
        return (few / 2).to(getattr(torch, dtype))
    made = _of(random.standard_normal(shape)).to(getattr(torch, dtype))
    if style == "special":
        chosen = _of(random.choice(_special(dtype), made.shape)).to(made.dtype)
        made = torch.where(_of(random.random(shape) < 0.15), chosen, made)
    return made


def _of(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.asarray(array))


def _special(dtype: str) -> list[float]:
    limits = torch.finfo(getattr(torch, dtype))
    ends = [limits.max, limits.min, limits.tiny, limits.tiny / 8, -limits.tiny / 2]
    return [float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1.0, 0.5, -0.5, 2.5, *ends]


def in_layout(x: torch.Tensor, layout: str) -> torch.Tensor:
    """The same elements, lying otherwise; where elements lie upon one another, others."""
    match layout:
        case "transposed" if x.ndim > 1:
            return x.mT.contiguous().mT
        case "channels last" if x.ndim == 4:
            return x.to(memory_format=torch.channels_last)
        case "with gaps" if x.ndim:
            wide = torch.stack([torch.full_like(x, 1), x], -1)
            return wide[..., 1]
        case "behind":
            room = torch.cat([torch.ones(3, dtype=x.dtype), x.reshape(-1)])
            return room[3:].view(x.shape)
        case "expanded" if x.ndim and x.shape[0]:
            return x[:1].expand(x.shape)
        case "overlapping" if x.ndim > 1 and x.numel():
            return x.contiguous().as_strided(x.shape, [1] * x.ndim) if sum(x.shape) <= x.numel() else x
        case _:
            return x
