"""Abs, Add, Ceil, Floor, Mul, Neg, Round, Sign and Sub: functions whose results have the type of the operands."""

from __future__ import annotations

import numpy as np

from tilewright.frontend.onnx.operators.math.element_function import define_functions

define_functions(
    {
        "Abs": (np.abs, "abs"),
        "Add": (np.add, "add"),
        "Ceil": (np.ceil, "ceil"),
        "Floor": (np.floor, "floor"),
        "Mul": (np.multiply, "multiply"),
        "Neg": (np.negative, "negative"),
        "Sub": (np.subtract, "subtract"),
    }
)
define_functions({"Sign": (np.sign, "sign")}, since=9)
define_functions({"Round": (np.rint, "round")}, since=11)
