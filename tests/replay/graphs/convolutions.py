"""Convolutions with every attribute, transposed ones, pooling, and chains of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tests.replay.onnx_text import Shape, model
from tests.replay.planning import Planned, imported

X = (1, 16, 28, 30)
LAYERS: dict[str, tuple[Shape, Shape, str]] = {
    "pointwise": (X, (32, 16, 1, 1), "group = 1"),
    "pointwise-stride": (X, (32, 16, 1, 1), "strides = [2, 2]"),
    "three": (X, (32, 16, 3, 3), "pads = [1, 1, 1, 1]"),
    "three-valid": (X, (32, 16, 3, 3), "group = 1"),
    "three-stride": (X, (32, 16, 3, 3), "pads = [1, 1, 1, 1], strides = [2, 2]"),
    "three-dilated": (X, (32, 16, 3, 3), "pads = [2, 2, 2, 2], dilations = [2, 2]"),
    "three-same": (X, (32, 16, 3, 3), 'auto_pad = "SAME_UPPER", strides = [2, 2]'),
    "five": (X, (24, 16, 5, 5), "pads = [2, 2, 2, 2]"),
    "seven-stride": ((1, 3, 64, 64), (32, 3, 7, 7), "pads = [3, 3, 3, 3], strides = [2, 2]"),
    "oblong": (X, (32, 16, 1, 5), "pads = [0, 2, 0, 2]"),
    "uneven-pads": (X, (32, 16, 3, 3), "pads = [0, 1, 2, 1]"),
    "batch": ((4, 16, 14, 14), (32, 16, 3, 3), "pads = [1, 1, 1, 1]"),
    "groups": (X, (32, 4, 3, 3), "pads = [1, 1, 1, 1], group = 4"),
    "depthwise": (X, (16, 1, 3, 3), "pads = [1, 1, 1, 1], group = 16"),
    "depthwise-stride": (X, (16, 1, 5, 5), "pads = [2, 2, 2, 2], strides = [2, 2], group = 16"),
    "depthwise-double": (X, (32, 1, 3, 3), "pads = [1, 1, 1, 1], group = 16"),
    "patches": ((1, 3, 64, 64), (96, 3, 16, 16), "strides = [16, 16]"),
    "one-dimension": ((2, 16, 200), (32, 16, 9), "pads = [4, 4]"),
    "one-dimension-causal": ((2, 16, 200), (32, 16, 3), "pads = [4, 0], dilations = [2]"),
    "three-dimensions": ((1, 8, 8, 12, 12), (16, 8, 3, 3, 3), "pads = [1, 1, 1, 1, 1, 1]"),
    "large": ((1, 64, 56, 56), (64, 64, 3, 3), "pads = [1, 1, 1, 1]"),
}
TRANSPOSED: dict[str, tuple[Shape, Shape, str]] = {
    "transposed": (X, (16, 8, 3, 3), "pads = [1, 1, 1, 1]"),
    "transposed-stride": (X, (16, 8, 2, 2), "strides = [2, 2]"),
    "transposed-overlap": (X, (16, 8, 4, 4), "strides = [2, 2], pads = [1, 1, 1, 1]"),
    "transposed-groups": (X, (16, 2, 3, 3), "group = 4"),
}
POOLS = {
    "max-pool": "y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)",
    "max-pool-pads": "y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x)",
    "average-pool": "y = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)",
    "global-pool": "y = GlobalAveragePool (x)",
    "resize-nearest": 'y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric"> (x, , s)',
    "resize-linear": 'y = Resize <mode = "linear"> (x, , s)',
}
SCALES = np.array([1, 1, 2, 2], np.float32)
SQUARE = "pads = [1, 1, 1, 1]"
CHAINS = {
    "relu": f"a = Conv <{SQUARE}> (x, w, b)\ny = Relu (a)",
    "residual": f"a = Conv <{SQUARE}> (x, w, b)\nc = Add (a, x)\ny = Relu (c)",
    "swish": f"a = Conv <{SQUARE}> (x, w, b)\nc = Sigmoid (a)\ny = Mul (a, c)",
    "norm": f"a = Conv <{SQUARE}> (x, w)\ny = BatchNormalization (a, b, b, b, v)",
    "pair": f"a = Conv <{SQUARE}> (x, w)\nc = Relu (a)\ny = Conv <{SQUARE}> (c, w)",
    "pool": f"a = Conv <{SQUARE}> (x, w, b)\nc = Relu (a)\ny = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)",
    "separable": f"a = Conv <{SQUARE}, group = 16> (x, d)\nc = Relu (a)\ny = Conv (c, p)",
    "bottleneck": f"a = Conv (x, p)\nc = Relu (a)\ne = Conv <{SQUARE}> (c, w)\nf = Relu (e)\ng = Conv (f, p)\ny = Add (g, x)",
    "concat": f"a = Conv <{SQUARE}> (x, w)\nc = Conv (x, p)\ny = Concat <axis = 1> (a, c)",
    "excite": "a = GlobalAveragePool (x)\nc = Conv (a, p)\ne = Sigmoid (c)\ny = Mul (x, e)",
}

WEIGHTS: dict[str, Shape | np.ndarray] = {
    "w": (16, 16, 3, 3),
    "p": (16, 16, 1, 1),
    "d": (16, 1, 3, 3),
    "b": (16,),
    "v": np.ones(16, np.float32),
}


def graphs() -> Mapping[str, Planned]:
    found = {name: _layer("Conv", *one) for name, one in LAYERS.items()}
    found |= {name: _layer("ConvTranspose", *one) for name, one in TRANSPOSED.items()}
    found |= {name: imported(lambda body=body: model(body, {"x": X}, {"s": SCALES})) for name, body in POOLS.items()}
    found |= {f"chain-{name}": imported(lambda body=body: model(body, {"x": X}, WEIGHTS)) for name, body in CHAINS.items()}
    found["given-weights"] = imported(
        lambda: model(f"y = Conv <{SQUARE}> (x, w)", {"x": X, "w": (32, 16, 3, 3)}),
    )
    return found


def _layer(operator: str, x: Shape, weights: Shape, attributes: str) -> Planned:
    return imported(lambda: model(f"y = {operator} <{attributes}> (x, w)", {"x": x}, {"w": weights}))
