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
from benchmarks.onnx_models.transformers import Gpt2

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
        expand(path)


def _export_program(case: ModelCase, path: Path, dynamic: bool) -> None:
    names = {"input_names": case.input_names, "output_names": case.output_names}
    options = {"dynamic_shapes": _shapes(case)} if dynamic else {}
    torch.onnx.export(case.module, case.args, path, dynamo=True, opset_version=20, external_data=False, **names, **options)


def _shapes(case: ModelCase) -> tuple[Any, ...]:
    """The names of dimensions, as parameters of `forward` are grouped: those behind GPT-2's first are one tuple.

    torch.export takes an extent of 1 for a fixed one.
    """
    named = [
        {place: name for place, name in case.dynamic.get(operand, {}).items() if arg.shape[place] > 1}
        for operand, arg in zip(case.input_names, case.args, strict=True)
    ]
    is_variadic = isinstance(case.module, Gpt2) and len(named) > 1
    return (named[0], tuple(named[1:])) if is_variadic else tuple(named)


def _trace(case: ModelCase, path: Path, dynamic: bool, *, is_old: bool) -> None:
    mode = torch.onnx.TrainingMode.PRESERVE if is_old else torch.onnx.TrainingMode.EVAL
    options = {"opset_version": 14 if is_old else 17, "training": mode}
    names = {"input_names": list(case.input_names), "output_names": list(case.output_names)}
    axes = {name: dict(places) for name, places in case.dynamic.items()} if dynamic else None
    torch.onnx.export(case.module, case.args, path, dynamo=False, dynamic_axes=axes, **options, **names)


def expand(path: Path) -> None:
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
