"""DepthToSpace and SpaceToDepth: blocks of pixels from channels, and channels from blocks of pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.errors import ShapeError
from tilewright.frontend.onnx.definition import define
from tilewright.graph.builders.builder import Builder
from tilewright.graph.shapes import shape_text
from tilewright.graph.types import Tensor

TO_SPACE = {"DCR": (0, 3, 4, 1, 5, 2), "CRD": (0, 1, 4, 2, 5, 3)}
"""The order of dimensions, by mode: columns and rows of a block before the channels, or behind."""

TO_DEPTH = {"DCR": (0, 3, 5, 1, 2, 4), "CRD": (0, 1, 3, 5, 2, 4)}
"""The order of dimensions of the inverse, by mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthToSpace:
    """Channels as blocks of pixels."""

    blocksize: int
    mode: str = "DCR"

    def reference(self, x: Any) -> Any:
        split, shape = _to_space(x.shape, self.blocksize, self.mode)
        return np.reshape(np.transpose(np.reshape(x, split), TO_SPACE[self.mode]), shape)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        split, shape = _to_space(x.shape, self.blocksize, self.mode)
        return builder.reshape(builder.transpose(builder.reshape(x, split), TO_SPACE[self.mode]), shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceToDepth:
    """Blocks of pixels as channels."""

    blocksize: int
    mode: str = "DCR"

    def reference(self, x: Any) -> Any:
        split, shape = _to_depth(x.shape, self.blocksize, self.mode)
        return np.reshape(np.transpose(np.reshape(x, split), TO_DEPTH[self.mode]), shape)

    def lower(self, builder: Builder, x: Tensor) -> Tensor:
        split, shape = _to_depth(x.shape, self.blocksize, self.mode)
        return builder.reshape(builder.transpose(builder.reshape(x, split), TO_DEPTH[self.mode]), shape)


def _to_space(shape: Any, block: int, mode: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    n, c, h, w = _four("DepthToSpace", shape)
    if block < 1 or c % block**2 or mode not in TO_SPACE:
        raise ShapeError(f"DepthToSpace of {shape_text(shape)} by blocks of {block}, {mode}", where="DepthToSpace")
    depth = c // block**2
    split = (n, block, block, depth, h, w) if mode == "DCR" else (n, depth, block, block, h, w)
    return split, (n, depth, h * block, w * block)


def _to_depth(shape: Any, block: int, mode: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    n, c, h, w = _four("SpaceToDepth", shape)
    if block < 1 or h % block or w % block or mode not in TO_DEPTH:
        raise ShapeError(f"SpaceToDepth of {shape_text(shape)} by blocks of {block}, {mode}", where="SpaceToDepth")
    return (n, c, h // block, block, w // block, block), (n, c * block**2, h // block, w // block)


def _four(where: str, shape: Any) -> Any:
    if len(shape) != 4 or not all(isinstance(extent, int) for extent in shape[1:]):
        raise ShapeError(f"{where} of {shape_text(shape)}", where=where, why="it takes (batch, channels, height, width)")
    return shape


define("DepthToSpace", DepthToSpace)
define("SpaceToDepth", SpaceToDepth)
