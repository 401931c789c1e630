"""A model from wherever it is: a path, bytes, or a `ModelProto`."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError
from onnx import ModelProto

from tilewright.frontend.onnx.files import ExternalFiles, without_large_contents
from tilewright.frontend.onnx.model import Model
from tilewright.frontend.onnx.reading import read
from tilewright.ort_errors import ArgumentTypeError, InvalidProtobuf, NoSuchFile


def load(source: Any) -> Model:
    """The model of a path, of bytes, or of a `ModelProto`.

    Raises `InvalidModel` for what is none, and `UnsupportedOperation` for operators that are not known.
    """
    if isinstance(source, ModelProto):
        return read(source, ExternalFiles(None))
    if isinstance(source, (bytes, bytearray, memoryview)):
        fixed = source if isinstance(source, bytes) else bytes(source)
        return _read(memoryview(fixed), "bytes", ExternalFiles(None))
    if isinstance(source, (str, os.PathLike)):
        path, files = Path(source), ExternalFiles(Path(source).parent)
        return _read(_content(path, files), str(path), files)
    raise ArgumentTypeError(f"a model cannot be a {type(source).__name__}", hint="pass a path, bytes or an onnx.ModelProto")


def _read(content: memoryview, where: str, files: ExternalFiles) -> Model:
    """Large contents of tensors are not copied: arrays share the memory of `content`."""
    try:
        rest, large = without_large_contents(content)
    except InvalidProtobuf as problem:
        raise InvalidProtobuf(problem.message, where=where, why=problem.why) from problem
    return replace(read(_parsed(rest, where), files, large), check_files=files.check)


def _content(path: Path, files: ExternalFiles) -> memoryview:
    try:
        return files.mapped(path)
    except OSError as problem:
        kind = NoSuchFile if isinstance(problem, FileNotFoundError) else InvalidProtobuf
        raise kind(f"{path} cannot be read", where=str(path), why=str(problem)) from problem


def _parsed(content: bytes, where: str) -> Any:
    proto = ModelProto()
    try:
        proto.ParseFromString(content)
    except (DecodeError, ValueError, RecursionError) as problem:
        raise InvalidProtobuf("this is no ONNX model, or a damaged one", where=where, why=str(problem)) from problem
    return proto
