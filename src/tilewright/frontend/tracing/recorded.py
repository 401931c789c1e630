"""Operations of several operators: recorded while a function is traced, evaluated by the interpreter for plain arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.frontend.tracing.foreign_arrays import constant_array
from tilewright.frontend.tracing.maps import recorder_of, tensor_of
from tilewright.frontend.tracing.traced import Traced
from tilewright.graph.builders.builder import Builder
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Tensor


def recorded(name: str, record: Callable[..., Tensor], operands: Sequence[Any]) -> Any:
    """The traced result of what `record` makes of a builder and the operands' tensors, or its value for plain arrays.

    None among the operands stays None.
    """
    given = [operand for operand in operands if operand is not None]
    if any(isinstance(operand, Traced) for operand in given):
        recorder = recorder_of(given)
        tensors = [None if operand is None else tensor_of(recorder, operand) for operand in operands]
        return Traced(recorder, record(recorder, *tensors))
    builder = Builder(name)
    arrays = {f"x{number}": np.asarray(operand) for number, operand in enumerate(operands) if operand is not None}
    inputs = {key: builder.input(key, array.shape, array.dtype.name) for key, array in arrays.items()}
    result = record(builder, *(inputs.get(f"x{number}") for number in range(len(operands))))
    return evaluate(builder.graph((result.name,)), arrays)[result.name]


def array_of(x: Any) -> Any:
    """An operand as a traced value or a NumPy array; None stays."""
    return x if x is None or isinstance(x, Traced) else constant_array(x)
