"""Whole models exported by torch, and how far their results may be from exact ones."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks.onnx_models.cases import ModelCase
from benchmarks.onnx_models.exporting import export

UNIT_ROUNDOFF = 2.0**-24
"""Of float32."""


def exported(case: ModelCase, path: Path, exporter: str, *, dynamic: bool = False) -> Path:
    """The file; the test is skipped where the exporter needs a package that is missing."""
    if exporter in ("dynamo", "expanded"):
        pytest.importorskip("onnxscript")
    export(case, path, exporter=exporter, dynamic=dynamic)
    return path


def feeds(case: ModelCase, session: Any) -> dict[str, Any]:
    """The operands that a session asks for: exporters drop what has no influence."""
    every = case.feeds()
    return {one.name: every[one.name] for one in session.get_inputs()}


def tolerance(module: Any) -> float:
    """How far results may be from exact ones, over the largest of them: `2 u sqrt(sum(n))`, n the accumulation length of a layer.

    A float32 sum of n products with independent roundings is off by about `u sqrt(n)` of its size (N. Higham, T. Mary, "A new
    approach to probabilistic rounding error analysis", SISC 41(5), 2019, theorem 2.4). The errors of layers that follow each
    other, whose scale norms and residuals keep, are independent, too: their squares add. 2 is for what that leaves out.
    """
    return 2 * UNIT_ROUNDOFF * math.sqrt(sum(_length(part) for part in module.modules()))


def _length(part: Any) -> int:
    match part:
        case torch.nn.Linear():
            return part.in_features
        case torch.nn.Conv2d() | torch.nn.ConvTranspose2d():
            return part.in_channels // part.groups * math.prod(part.kernel_size)
        case torch.nn.Embedding() | torch.nn.LayerNorm() | torch.nn.BatchNorm2d():
            return part.weight.shape[-1]
    return 0


def distance(found: Sequence[Any], exact: Sequence[Any]) -> float:
    """The largest difference over the largest exact result, of the output for which this is largest."""
    return max(_apart(one, other) for one, other in zip(found, exact, strict=True))


def _apart(found: Any, exact: Any) -> float:
    assert found.shape == exact.shape
    assert np.isfinite(found).all()
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def onnxruntime_results(path: Path, given: Mapping[str, Any]) -> list[Any] | None:
    """What onnxruntime computes on one thread; None where it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, dict(given))
