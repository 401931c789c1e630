"""And, Not, Or and Xor: functions of truth values."""

from __future__ import annotations

import numpy as np

from tilewright.frontend.onnx.operators.math.element_function import define_functions

define_functions(
    {
        "And": (np.logical_and, "logical_and"),
        "Not": (np.logical_not, "logical_not"),
        "Or": (np.logical_or, "logical_or"),
        "Xor": (np.logical_xor, "logical_xor"),
    },
    dtype="bool",
)
