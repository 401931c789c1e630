"""Weights of a model that later compilations read, out of the files that hold them.

Whoever writes to a mapped file changes the arrays that lie in it, and whoever truncates it ends the process that reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.frontend.onnx.files import LARGE_BYTES
from tilewright.frontend.onnx.model import Array, Body, Node
from tilewright.runtime.constants import held

if TYPE_CHECKING:
    from tilewright.frontend.onnx.reading import Model


def held_model(model: Model) -> Model:
    """The model with all of its weights in memory: nothing reads its files any more."""
    return replace(model, body=_held_body(model.body), check_files=lambda: None)


def held_nodes(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Nodes whose graphs have their weights in memory."""
    return tuple(
        replace(node, bodies={name: _held_body(body) for name, body in node.bodies.items()}) if node.bodies else node
        for node in nodes
    )


def held_constants(constants: Mapping[str, Array]) -> dict[str, Array]:
    """Constants by name, in memory."""
    return dict(zip(constants, held([*constants.values()]), strict=True))


def _held_body(body: Body) -> Body:
    return replace(body, constants=held_constants(body.constants), nodes=held_nodes(body.nodes))


def frozen(value: Any) -> Any:
    """What every call gets, and none may change; large ones may lie in a file that does."""
    if not isinstance(value, np.ndarray):
        return value
    kept = value.copy() if value.nbytes >= LARGE_BYTES else value.view()
    kept.flags.writeable = False
    return kept
