"""Exports in the forms that exporters give a model: with operators of their own for norms and activations, or written out."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import onnx
import onnx.inliner
import torch

from benchmarks.onnx_models.cases import ModelCase

EXPORTERS: Mapping[str, str] = {
    "dynamo": "torch.export: one operator for every norm, Gelu and softmax (opset 20)",
    "torchscript": "traced: LayerNormalization, but Gelu and attention written out (opset 17)",
    "old": "traced for opset 14 as it is: layer norms written out, too, batch norms and dropouts kept",
    "expanded": "the first, with every operator that ONNX defines as a function replaced by the function's nodes",
}
KEPT = ("Softmax", "Relu", "Clip", "Range", "CastLike")
"""Functions that `expanded` keeps: their bodies are what no exporter writes."""


def export(case: ModelCase, path: Path, *, exporter: str, dynamic: bool = False) -> None:
    """Write the model to a file, in one of the forms of EXPORTERS; with `dynamic` some dimensions have names."""
    with _quiet():
        if exporter in ("dynamo", "expanded"):
            _export_program(case, path, dynamic)
        else:
            _trace(case, path, dynamic, is_old=exporter == "old")
    if exporter == "expanded":
        _expand(path)


def _export_program(case: ModelCase, path: Path, dynamic: bool) -> None:
    names = {"input_names": case.input_names, "output_names": case.output_names}
    shapes = tuple(dict(case.dynamic.get(name, {})) for name in case.input_names)
    options = {"dynamic_shapes": _by_parameter(shapes, case.module)} if dynamic else {}
    torch.onnx.export(case.module, case.args, path, dynamo=True, opset_version=20, external_data=False, **names, **options)


def _by_parameter(shapes: tuple[Any, ...], module: Any) -> tuple[Any, ...]:
    """Dimensions that vary, grouped as the parameters of `forward`: those behind the first are one tuple of GPT-2."""
    found = tuple(dict.fromkeys(one, torch.export.Dim.DYNAMIC) for one in shapes)
    return (found[0], found[1:]) if type(module).__name__ == "Gpt2" else found


def _trace(case: ModelCase, path: Path, dynamic: bool, *, is_old: bool) -> None:
    mode = torch.onnx.TrainingMode.PRESERVE if is_old else torch.onnx.TrainingMode.EVAL
    options = {"opset_version": 14 if is_old else 17, "training": mode}
    names = {"input_names": list(case.input_names), "output_names": list(case.output_names)}
    axes = {name: dict(places) for name, places in case.dynamic.items()} if dynamic else None
    torch.onnx.export(case.module, case.args, path, dynamo=False, dynamic_axes=axes, **options, **names)


def _expand(path: Path) -> None:
    """Replace what ONNX defines as a function, again and again, until nothing but primitive operators is left."""
    model = onnx.load(path)
    kept = [("", name) for name in KEPT]
    model = onnx.inliner.inline_selected_functions(model, kept, exclude=True, inline_schema_functions=True)
    onnx.save(model, path)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What exporters say is of no interest unless they fail."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(level)
