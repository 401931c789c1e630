"""Blocks of pixels from channels or columns, and channels from blocks; the pixels of an encoded image.

DepthToSpace, SpaceToDepth and Col2Im; ImageDecoder, by Pillow if it is installed.
"""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from math import prod
from typing import Any

import numpy as np

from tilewright.errors import ShapeError, UnsupportedOperation
from tilewright.frontend.onnx.definition import SchemaAttributes, onnx_function, onnx_operator
from tilewright.frontend.onnx.operators.nn.sliding import window_of
from tilewright.frontend.onnx.operators.operands import Call, Composed, Known, Reshaped
from tilewright.frontend.onnx.operators.tensor.shapes import Transpose
from tilewright.graph.shapes import shape_text

TO_SPACE = {"DCR": (0, 3, 4, 1, 5, 2), "CRD": (0, 1, 4, 2, 5, 3)}
"""The order of dimensions, by mode: columns and rows of a block before the channels, or behind."""

TO_DEPTH = {"DCR": (0, 3, 5, 1, 2, 4), "CRD": (0, 1, 3, 5, 2, 4)}
"""The order of dimensions of the inverse, by mode."""


@onnx_operator("DepthToSpace")
class DepthToSpace(Composed, SchemaAttributes):
    """Channels as blocks of pixels: dimensions split, put into another order, and merged."""

    def composed(self, call: Call, known: Known, x: Any) -> Any:
        split, order, shape = self._moves(x.shape)
        return call(Reshaped(shape))(call(Transpose(perm=order))(call(Reshaped(split))(x)))

    def _moves(self, shape: Any) -> tuple[tuple[Any, ...], tuple[int, ...], tuple[Any, ...]]:
        (n, c, h, w), block = _four("DepthToSpace", shape), self.blocksize
        if block < 1 or c % block**2 or self.mode not in TO_SPACE:
            raise ShapeError(f"DepthToSpace of {shape_text(shape)} by blocks of {block}, {self.mode}", where="DepthToSpace")
        depth = c // block**2
        split = (n, block, block, depth, h, w) if self.mode == "DCR" else (n, depth, block, block, h, w)
        return split, TO_SPACE[self.mode], (n, depth, h * block, w * block)


@onnx_operator("SpaceToDepth")
class SpaceToDepth(DepthToSpace):
    """Blocks of pixels as channels."""

    def _moves(self, shape: Any) -> tuple[tuple[Any, ...], tuple[int, ...], tuple[Any, ...]]:
        (n, c, h, w), block = _four("SpaceToDepth", shape), self.blocksize
        if block < 1 or h % block or w % block or self.mode not in TO_DEPTH:
            raise ShapeError(f"SpaceToDepth of {shape_text(shape)} by blocks of {block}, {self.mode}", where="SpaceToDepth")
        split = (n, c, h // block, block, w // block, block)
        return split, TO_DEPTH[self.mode], (n, c * block**2, h // block, w // block)


def _four(where: str, shape: Any) -> Any:
    if len(shape) != 4 or not all(isinstance(extent, int) for extent in shape[1:]):
        raise ShapeError(f"{where} of {shape_text(shape)}", where=where, why="it takes (batch, channels, height, width)")
    return shape


@onnx_function("Col2Im", since=18)
def col2im(x: Any, image_shape: Any, block_shape: Any, *, dilations: Any, pads: Any, strides: Any) -> Any:
    """Every tap of the blocks added to its own places."""
    image, block = (tuple(int(extent) for extent in np.reshape(shape, -1)) for shape in (image_shape, block_shape))
    window = window_of(image, block, where="Col2Im", pads=pads, strides=strides, dilations=dilations)
    if x.ndim != 3 or x.shape[1] % prod(block) or x.shape[2] != prod(window.outputs):
        raise ShapeError(f"Col2Im of {shape_text(x.shape)} into {image} by {block}", where="Col2Im")
    columns = x.reshape(x.shape[0], -1, *block, *window.outputs)
    size = [max(window.seen(d), window.begins[d] + image[d]) for d in range(window.rank)]
    full: Any = np.zeros((*columns.shape[:2], *size), x.dtype)
    for tap in np.ndindex(*block):
        starts = [k * window.dilations[d] for d, k in enumerate(tap)]
        ends = [s + (window.outputs[d] - 1) * window.strides[d] + 1 for d, s in enumerate(starts)]
        places = tuple(slice(s, e, step) for s, e, step in zip(starts, ends, window.strides, strict=True))
        full[(..., *places)] += columns[(slice(None), slice(None), *tap)]
    return full[(..., *(slice(begin, begin + extent) for begin, extent in zip(window.begins, image, strict=True)))]


_MODES = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}


@onnx_function("ImageDecoder", since=20)
def image_decoder(stream: Any, *, pixel_format: Any) -> Any:
    """Uint8 pixels [height, width, channels]; none, [0, 0, channels], if the bytes are no image."""
    if pixel_format not in _MODES:
        raise UnsupportedOperation(f"pixel_format {pixel_format!r}", where="ImageDecoder", hint="choose RGB, BGR or Grayscale")
    pixels = _decoded(np.asarray(stream, np.uint8).tobytes(), _MODES[pixel_format])
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
    return pixels[..., ::-1] if pixel_format == "BGR" else pixels


def _decoded(data: bytes, mode: str) -> Any:
    try:
        pillow = import_module("PIL.Image")
    except ImportError as error:
        raise UnsupportedOperation("ImageDecoder without Pillow", why=str(error), hint="pip install pillow") from error
    try:
        with pillow.open(BytesIO(data)) as image:
            return np.array(image.convert(mode))
    except (OSError, ValueError, SyntaxError, pillow.DecompressionBombError):
        return np.zeros((0, 0, len(mode)), np.uint8)
