"""ImageDecoder: the pixels of an encoded image, by Pillow if it is installed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define

_MODES = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageDecoder:
    """Uint8 pixels [height, width, channels]; none, [0, 0, channels], if the bytes are no image."""

    pixel_format: str = "RGB"

    def reference(self, stream: Any) -> Any:
        if self.pixel_format not in _MODES:
            raise UnsupportedOperation(
                f"pixel_format {self.pixel_format!r}", where="ImageDecoder", hint="choose RGB, BGR or Grayscale"
            )
        pixels = _decoded(np.asarray(stream, np.uint8).tobytes(), _MODES[self.pixel_format])
        pixels = pixels[..., None] if pixels.ndim == 2 else pixels
        return pixels[..., ::-1] if self.pixel_format == "BGR" else pixels


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


define("ImageDecoder", ImageDecoder, since=20)
