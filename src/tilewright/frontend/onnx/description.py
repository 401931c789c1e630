"""What a model says of itself."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.frontend.onnx.model import Declared
from tilewright.records import record


@record
class Description:
    """What a model says of itself, its nodes and constants apart."""

    name: str
    inputs: tuple[Declared, ...]
    outputs: tuple[Declared, ...]
    defaults: tuple[str, ...]
    """The inputs that have one, by unique name."""
    needs: tuple[str, ...]
    """The values that calls must give, by unique name."""
    producer: str
    domain: str
    text: str
    version: int
    metadata: Mapping[str, str]
