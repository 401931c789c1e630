"""Small versions of whole models, exported by torch, and two encoders that are traced."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import onnx

from tests.replay.planning import Planned, imported, traced
from tests.support import models

EXPORTED = (
    "bert",
    "vit",
    "gpt2",
    "gpt2_cached",
    "mobilenet_v2",
    "unet",
    "resnet50",
    "detector",
    "mixer",
    "shufflenet",
    "convnext",
)


def graphs() -> Mapping[str, Planned]:
    found = {name: imported(lambda name=name: _exported(name)) for name in EXPORTED}
    size, layers = models.SMALL, models.weights(models.SMALL)
    operands = size.input_shape, (1, 1, 1, size.rows)
    found["encoder"] = traced(models.encoder(size, layers), *operands)
    found["encoder-pre-norm"] = traced(models.encoder(size, layers, is_pre_norm=True), *operands)
    found["encoder-exported"] = traced(models.exported_encoder(size, layers), *operands)
    return found


@cache
def _exported(name: str) -> Any:
    from benchmarks.onnx_models.cases import make
    from benchmarks.onnx_models.exporting import export

    with TemporaryDirectory() as directory:
        path = Path(directory) / "model.onnx"
        export(make(name, small=True), path, exporter="torchscript")
        return onnx.load(path)
