"""Gelu: x Phi(x), with the error function or by the tanh that approximates it (Hendrycks and Gimpel, arXiv:1606.08415, 2016)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.graph.definition import define
from tilewright.graph.special_functions import gelu, gelu_tanh
from tilewright.graph.types import Tensor

if TYPE_CHECKING:
    from tilewright.graph.builder import Builder


def meaning(x: Any, *, approximate: str = "none") -> Any:
    """The same by NumPy."""
    return np.asarray((gelu if approximate == "none" else gelu_tanh)(x), x.dtype)


def lower(builder: Builder, x: Tensor, *, approximate: str = "none") -> Tensor:
    """One map."""
    return builder.map("gelu" if approximate == "none" else "gelu_tanh", x)


define("Gelu", meaning, lower, since=20)
