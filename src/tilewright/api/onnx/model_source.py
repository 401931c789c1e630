"""The model of a session, as it was given: its nodes are read when somebody asks for them.

What it says of itself is kept on disk by a digest of its bytes. A digest of them all is what results are found by that depend on
nodes and constants (`kept_stages.py`): nobody has to know which constants decided anything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.api.onnx.kept_stages import KeptModel
from tilewright.api.onnx.weights import held_model
from tilewright.errors import InvalidModel
from tilewright.frontend.onnx.description import Description
from tilewright.frontend.onnx.files import Content, opened
from tilewright.frontend.onnx.model import Array, Node
from tilewright.graph import data_format
from tilewright.records import record
from tilewright.runtime import artifacts
from tilewright.runtime.constants import PIECE_BYTES, held, release_pages

if TYPE_CHECKING:
    from tilewright.frontend.onnx.reading import Model


@record
class KeptDescription:
    """What is on disk of a model."""

    description: Description
    external: tuple[tuple[str, str], ...]
    """Files beside it with their digests."""


class ModelSource:
    """A path, bytes or a protobuf, and what was made of it. Raises as `reading.load` where it is no model."""

    def __init__(self, given: Any) -> None:
        self._content = opened(given)
        self._given = given if self._content is None else None
        self._model: Model | None = None
        self.key = ""
        """Of the bytes of the model and of all files beside it; empty where nothing is kept."""
        self.description = self._found() or self._described()

    def kept(self, overridden: frozenset[str]) -> KeptModel | None:
        """The stages that are kept of it, where calls give these inputs in place of their defaults."""
        if self._content is None or not self.key:
            return None
        return KeptModel(f"{self.key}\0{sorted(overridden)}", self._content)

    def contents(self, overridden: frozenset[str]) -> tuple[Sequence[Node], dict[str, Array]]:
        """The nodes, and the constants that calls do not override."""
        body = self.model.body
        return body.nodes, {name: array for name, array in body.constants.items() if name not in overridden}

    @property
    def model(self) -> Model:
        """With its nodes and constants."""
        if self._model is None:
            self.check_files()
            self._model = _read(self._given if self._content is None else self._content)
        return self._model

    def check_files(self) -> None:
        """Raise `InvalidModel` if a file that holds constants was written to since the model was given."""
        if self._content is not None:
            self._content.files.check()

    def hold(self) -> None:
        """Read no file any more: what lies in one is copied, and the model is read again where it is asked for."""
        if self._content is None:
            self._model = held_model(self.model)
        else:
            self._content.hold(_held)
            self._model = None

    @cached_property
    def _digest(self) -> str:
        return digest(self._content.whole) if self._content is not None else ""

    def _found(self) -> Description | None:
        """What the model says of itself, where it and all files beside it are as they were."""
        store = artifacts.models_store() if self._content is not None else None
        if self._content is None or store is None:
            return None
        with suppress(data_format.Unreadable, InvalidModel):  # reading tells what is wrong with a file
            found = data_format.decode(store.find(self._digest) or b"", KeptDescription)
            files = self._content.files
            if all(digest(files.at(place, "model")) == known for place, known in found.external):
                self.key = _key(self._digest, found.external)
                return found.description
        return None

    def _described(self) -> Description:
        """The same of a model that is read, and kept."""
        description, store = self.model.description, artifacts.models_store()
        if self._content is not None and store is not None and self.model.is_known:
            external = tuple((place, digest(content)) for place, content in sorted(self._content.files.contents.items()))
            with suppress(data_format.Unreadable):
                store.keep(self._digest, data_format.encode(KeptDescription(description, external), KeptDescription))
                self.key = _key(self._digest, external)
        return description


def _key(whole: str, external: tuple[tuple[str, str], ...]) -> str:
    return repr((whole, external))


def _held(content: memoryview) -> memoryview:
    (copy,) = held((np.frombuffer(content, np.uint8),)) if content else (np.empty(0, np.uint8),)
    return copy.data


def digest(content: memoryview) -> str:
    """SHA-256. Pages of a mapped file are let go: who packs constants finds them in the system's cache."""
    found = hashlib.sha256()
    for begin in range(0, len(content), PIECE_BYTES):
        piece = content[begin : begin + PIECE_BYTES]
        found.update(piece)
        release_pages(np.frombuffer(piece, np.uint8))
    return found.hexdigest()


def _read(given: Any) -> Model:
    try:
        from tilewright.frontend.onnx.reading import load, model_of
    except ModuleNotFoundError as problem:
        if problem.name not in ("onnx", "google"):
            raise
        raise ImportError("models need the package onnx: pip install onnx") from problem
    return model_of(given) if isinstance(given, Content) else load(given)
