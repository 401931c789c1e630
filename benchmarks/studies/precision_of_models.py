"""Errors of whole models by precision: largest difference from float64, over the deviation of the outputs.

    python -m benchmarks.studies.precision_of_models [--models resnet50,unet]

Models of `benchmarks.onnx_models` with random weights, as published in size. A line per model: the errors of sessions with
precision "strict", "float32" and "fast", and of onnxruntime; the second over the first is the ratio that "float32" is allowed
to reach 2 of (docs/correctness.md).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime

import tilewright.onnx as ort
from benchmarks.onnx_models import cases
from benchmarks.onnx_models.exporting import export
from tilewright.backends.c_cpu import BACKEND

MODELS = "resnet50,densenet_121,unet,detector,regnet,shufflenet"
"""With convolutions of 3 x 3 neighbours."""
Array = np.ndarray[Any, Any]


def error(found: list[Array], exact: list[Array]) -> float:
    """The largest of all outputs."""
    return max(float(np.abs(ours - theirs).max() / theirs.std()) for ours, theirs in zip(found, exact, strict=True))


def line(name: str, *, small: bool = False) -> str:
    """The figures of a model."""
    case = cases.make(name, small=small)
    with TemporaryDirectory(prefix="tilewright-precision-") as directory:
        path = Path(directory, "model.onnx")
        export(case, path, exporter="old")
        feeds, exact = case.feeds(), case.in_float64()
        sessions = {str(precision): ort.InferenceSession(path, precision=precision) for precision in BACKEND.precisions}
        errors = {name: error(session.run(None, feeds), exact) for name, session in sessions.items()}
        peer = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        errors["onnxruntime"] = error([np.asarray(one) for one in peer.run(None, feeds)], exact)
    shown = "  ".join(f"{name} {each:.1e}" for name, each in errors.items())
    return f"{name}: {shown}  float32/strict {errors['float32'] / errors['strict']:.2f}"


def main() -> None:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.precision_of_models", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--small", action="store_true", help="small models, for tests")
    options = parser.parse_args()
    for name in options.models.split(","):
        print(line(name, small=options.small), flush=True)


if __name__ == "__main__":
    main()
