"""Scalar functions as maps of one axis, in Triton's interpreter: for the process of `triton_process.py`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tests.support.operators import mapping
from tilewright.artifact import Artifact
from tilewright.backends.triton_gpu import BACKEND
from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.memory import BufferName, Range, View
from tilewright.block.program import Region
from tilewright.block.statements import Leaf
from tilewright.entry_point import Signature, TensorSlot
from tilewright.graph.expressions.scalar import Load, apply
from tilewright.graph.expressions.scalar_functions import FUNCTIONS, ScalarFunction
from tilewright.graph.types import Tensor
from tilewright.render.triton.functions import FLOATS, HELPERS, INTEGERS, WHOLE_HELPERS
from tilewright.render.triton.module import Routine, module

Array = np.ndarray[Any, np.dtype[Any]]
POINTS = 300
"""Of every function."""


def function_errors(dtype: str) -> dict[str, float]:
    """By scalar function of the tables the largest error against NumPy, over the larger of 1 and the value."""
    table = FLOATS.keys() | HELPERS.keys() if dtype == "float32" else INTEGERS.keys() | WHOLE_HELPERS.keys()
    return {name: _function_error(name, dtype) for name in sorted(table)}


def _function_error(name: str, dtype: str) -> float:
    arguments = _points(FUNCTIONS[name], dtype)
    with np.errstate(all="ignore"):
        wanted = np.asarray(FUNCTIONS[name].numpy(*arguments))
    found = _computed(name, dtype, arguments, wanted.dtype.name).astype(float)
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted.astype(float)))
    distance = np.abs(found - wanted.astype(float)) / np.maximum(np.abs(wanted.astype(float)), 1.0)
    return float(np.where(same, 0.0, distance).max())


def _computed(name: str, dtype: str, arguments: list[Array], result: str) -> Array:
    """What a kernel makes of some points."""
    one, tensors = routine(name, dtype, [x.dtype.name for x in arguments], result)
    slots = tuple(TensorSlot(tensor.name, tensor.dtype, (POINTS,)) for tensor in tensors)
    text = module("f", [one], ()).text
    artifact = Artifact("LAUNCHES", text, (), "sm_80", frozenset(), Signature((), slots[:-1], slots[-1:]))
    loaded = BACKEND.load(artifact, constants=(), threads=None, runner="interpreter")
    outputs = loaded.new_outputs(arguments)
    loaded.run(arguments, outputs)
    return outputs[0]


def routine(
    name: str,
    dtype: str = "float32",
    types: tuple[str, ...] | list[str] = ("float32",),
    result: str = "float32",
    points: int = POINTS,
) -> tuple[Routine, tuple[Tensor, ...]]:
    """The map of a function along one axis, and its tensors."""
    reads = [f"x{number}" for number in range(len(types))]
    tensors = (*(Tensor(read, (points,), of) for read, of in zip(reads, types, strict=True)), Tensor("y", (points,), result))
    one = mapping("f", apply(name, *map(Load, range(len(types)))), [f"{read}:m" for read in reads], "y:m", {"m": points})
    span = Range(0, points, points, frozenset((points,)))
    views = [View(BufferName(tensor.name), 0, (("m", 1),), tensor.dtype) for tensor in tensors]
    binding = LeafBinding("gpu_map", element_type="" if dtype == "float32" else dtype)
    leaf = Leaf(binding, replace(one, accumulator=dtype), (("m", span),), tuple(views[:-1]), views[-1])
    return Routine(Region("f", (leaf,)), tensors), tensors


def _points(function: ScalarFunction, dtype: str) -> list[np.ndarray]:
    """Numbers of both signs, zero, and what is not finite where the type has it; truth values for conditions."""
    generator = np.random.default_rng(len(function.name))
    found = []
    for number, is_condition in enumerate(function.takes_conditions):
        points = generator.standard_normal(POINTS) * 3 if dtype == "float32" else generator.integers(-40, 40, POINTS)
        points = points.astype(dtype)
        if dtype == "float32":
            points[:3] = 0.0, 0.5, -0.5
            points[3:6] = (np.nan, np.inf, -np.inf) if function.name in ("isnan", "isinf", "maximum", "minimum", "where") else 1.0
        if number and function.name in ("mod", "fmod", "floor_divide", "divide", "left_shift", "right_shift"):
            points = np.where(points == 0, points.dtype.type(3), np.abs(points) % 7 + 1 if "shift" in function.name else points)
        if function.name in ("log", "sqrt", "log1p", "reciprocal"):
            points = np.abs(points) + points.dtype.type(0.125)
        found.append(points > 0 if is_condition else points.astype(dtype))
    return found
