"""Commands that read models need a package that the installation may lack."""

from __future__ import annotations

from importlib.util import find_spec

from tilewright.errors import TilewrightError


def require_onnx(model: str) -> None:
    """Raise `TilewrightError` if the package that reads models is missing.

    >>> require_onnx("model.onnx")
    """
    if find_spec("onnx") is None:
        raise TilewrightError("models need the package onnx", where=model, why="it is not installed", hint="pip install onnx")
