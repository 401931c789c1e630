"""ONNX operators by name and version, for tests that apply them to operands of their own."""

from __future__ import annotations

from typing import Any

from tilewright.frontend.onnx.definition import definition


def operator(name: str, version: int, domain: str = "", **attributes: Any) -> Any:
    """An operator with these attributes (and `output_count`): it has `reference` and perhaps `lower`."""
    found = definition(name, version, domain)
    assert found is not None, f"no definition of {domain} {name}"
    return found.operator(**attributes)
