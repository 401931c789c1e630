"""ONNX operators by name and version, applied to operands of a test."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.frontend.onnx.definition import definition
from tilewright.graph.builders.builder import Builder
from tilewright.graph.interpreter import evaluate


def operator(name: str, version: int, domain: str = "", **attributes: Any) -> Any:
    """An operator with these attributes (and `output_count`): it has `reference` and perhaps `lower`."""
    found = definition(name, version, domain)
    assert found is not None, f"no definition of {domain} {name}"
    return found.operator(**attributes)


def lowered(name: str, version: int, *operands: np.ndarray, **attributes: object) -> np.ndarray:
    """The first result by interpretation of a lowering."""
    builder = Builder("f")
    tensors = [builder.input(f"x{n}", one.shape, one.dtype.name) for n, one in enumerate(operands)]
    result = operator(name, version, **attributes).lower(builder, *tensors)
    result = result[0] if isinstance(result, tuple) else result
    values = {tensor.name: one for tensor, one in zip(tensors, operands, strict=True)}
    return evaluate(builder.graph((result.name,)), values)[result.name]


def agree(name: str, version: int, *operands: np.ndarray, **attributes: object) -> None:
    """Fails unless lowering and reference implementation give the same type, shape and values."""
    with np.errstate(all="ignore"):
        expected = operator(name, version, **attributes).reference(*operands)
    expected = expected[0] if isinstance(expected, tuple) else expected
    result = lowered(name, version, *operands, **attributes)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    rtol = 2e-3 if expected.dtype == np.float16 else 2e-5
    np.testing.assert_allclose(result.astype("f8"), expected.astype("f8"), rtol=rtol, atol=1e-6)
