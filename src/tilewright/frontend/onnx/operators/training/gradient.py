"""Gradient: derivatives of a value of the graph around the node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.onnx.definition import define
from tilewright.frontend.onnx.operators.training.optimizers import DOMAIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Gradient:
    """No derivatives of operands alone: importers differentiate the graph around the node."""

    xs: Sequence[str]
    y: str
    zs: Sequence[str] = ()

    def reference(self, *operands: Any) -> Any:
        raise UnsupportedOperation("Gradient", why="it differentiates the graph around it", hint="export the model for inference")


define("Gradient", Gradient, domain=DOMAIN)
