"""Elements at positions that data gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.replay.onnx_text import model
from tests.replay.planning import Planned, imported

TABLE, IDS = (100, 48), ((2, 12), "int64")
GRAPHS: dict[str, tuple[str, dict[str, Any]]] = {
    "embedding": ("y = Gather (t, i)", {"t": TABLE, "i": IDS}),
    "embedding-sum": ("a = Gather (t, i)\nb = Gather (u, j)\ny = Add (a, b)", {"t": TABLE, "u": (9, 48), "i": IDS, "j": IDS}),
    "embedding-norm": (
        "a = Gather (t, i)\ny = LayerNormalization (a, g, h)",
        {"t": TABLE, "i": IDS, "g": (48,), "h": (48,)},
    ),
    "embedding-product": ("a = Gather (t, i)\ny = MatMul (a, w)", {"t": TABLE, "i": IDS, "w": (48, 64)}),
    "columns": ("y = Gather <axis = 1> (t, i)", {"t": TABLE, "i": ((7,), "int32")}),
    "of-computed": ("a = Tanh (t)\ny = Gather (a, i)", {"t": TABLE, "i": IDS}),
    "of-product": ("a = MatMul (t, w)\ny = Gather (a, i)", {"t": TABLE, "w": (48, 32), "i": ((5,), "int64")}),
    "elements": ("y = GatherElements <axis = 1> (t, i)", {"t": TABLE, "i": ((100, 5), "int64")}),
    "points": ("y = GatherND (t, i)", {"t": (10, 12, 8), "i": ((6, 2), "int64")}),
    "points-of-batch": ("y = GatherND <batch_dims = 1> (t, i)", {"t": (4, 12, 8), "i": ((4, 6, 1), "int64")}),
    "largest": ("a = ArgMax <axis = 1, keepdims = 0> (t)\ny = Gather (u, a)", {"t": TABLE, "u": (48, 6)}),
    "one-hot": ("y = OneHot (i, d, v)", {"i": IDS}),
}
DEPTH, VALUES = np.array(20, np.int64), np.array([0, 1], np.float32)


def graphs() -> Mapping[str, Planned]:
    return {name: imported(lambda one=one: _model(*one)) for name, one in GRAPHS.items()}


def _model(body: str, inputs: Mapping[str, Any]) -> Any:
    return model(body, inputs, {"d": DEPTH, "v": VALUES} if "OneHot" in body else {})
