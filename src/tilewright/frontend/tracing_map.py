"""How elementwise functions of traced values are recorded: scalars become literals, arrays become reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tilewright.errors import DTypeError, UnsupportedOperation
from tilewright.frontend.tracing_location import user_location
from tilewright.frontend.tracing_record import Recorder, current_recorder
from tilewright.frontend.tracing_value import Traced
from tilewright.graph.operators.elementwise import body_of, elementwise
from tilewright.graph.scalar import Apply, Literal, Load, Scalar, apply, rewrite
from tilewright.graph.scalar_functions import FUNCTIONS
from tilewright.graph.types import Tensor


def recorder_of(values: Sequence[Any]) -> Recorder:
    """The one trace that all traced values belong to."""
    for value in values:
        if isinstance(value, list | tuple) and any(isinstance(element, Traced) for element in value):
            raise UnsupportedOperation(
                f"a {type(value).__name__} of traced values was used as an array",
                where=user_location(),
                why="in an argument, lists and tuples are containers, whose elements are traced one by one",
                hint="pass numpy.asarray(...) of it, or use its elements",
            )
    recorders = {id(value.recorder): value.recorder for value in values if isinstance(value, Traced)}
    if len(recorders) != 1:
        raise UnsupportedOperation(
            "traced arrays of different calls were mixed",
            where=user_location(),
            why="an array of an earlier trace outlived its function (a global or an attribute)",
            hint="return it from the function instead",
        )
    recorder = next(iter(recorders.values()))
    if recorder is not current_recorder():
        raise UnsupportedOperation(
            "a traced array was used after its trace had ended",
            where=user_location(),
            why="it stands for the values of one call while the function is traced, and outlived it (a global or an attribute)",
            hint="return it from the function, or pass it as an argument",
        )
    return recorder


def tensor_of(recorder: Recorder, value: Any) -> Tensor:
    """The tensor of a traced value, or a constant for an array or a number."""
    return value.tensor if isinstance(value, Traced) else recorder.constant(np.asanyarray(value))


def numeric(value: Any) -> Any:
    """Truth values as the numbers 0 and 1; anything else as it is."""
    if isinstance(value, Traced):
        return apply_map("where", value, 1.0, 0.0) if value.dtype == np.bool_ else value
    array = np.asanyarray(value)
    return array.astype(np.float32) if array.dtype == np.bool_ else value


def apply_map(function: str, *operands: Any) -> Traced:
    """Record a function of FUNCTIONS or COMPOSITES; numbers among the operands are weakly typed literals in the body."""
    return record_map(function, body_of(function), operands)


def record_map(kind: str, body: Scalar, operands: Sequence[Any], dtype: str | None = None) -> Traced:
    """Record a map whose body refers to `operands` by number, whether they are arrays or numbers."""
    recorder = recorder_of(operands)
    tensors: list[Tensor] = []
    values: list[Scalar] = []
    for operand in operands:
        if is_number(operand):
            values.append(Literal(_number(operand)))
            continue
        tensor = tensor_of(recorder, operand)
        if tensor not in tensors:
            tensors.append(tensor)
        values.append(Load(tensors.index(tensor)))
    types: dict[Scalar, str] = {Load(number): tensor.dtype for number, tensor in enumerate(tensors)}
    filled = _coerced(rewrite(body, lambda node: values[node.read] if isinstance(node, Load) else None), types, None)
    chosen = dtype or result_dtype(kind, filled, operands[1:] if kind == "where" else operands)
    result = recorder.record(partial(elementwise, kind=kind), filled, tensors, kind=kind, dtype=chosen)
    return Traced(recorder, result)


def is_number(value: Any) -> bool:
    """Whether a value is a Python or NumPy scalar: weakly typed, it takes the type of the arrays around it."""
    return isinstance(value, bool | int | float | np.generic)


def result_dtype(kind: str, body: Scalar, operands: Sequence[Any]) -> str:
    """NumPy's promotion of arrays, with weak scalars (float32 if there is nothing else); bool for conditions."""
    if isinstance(body, Apply) and body.function in FUNCTIONS and FUNCTIONS[body.function].is_condition:
        return "bool"
    if all(is_number(operand) for operand in operands):
        return "float32"
    parts = [_weak(operand) if is_number(operand) else _array_dtype(operand) for operand in operands]
    common = np.result_type(*parts)
    if kind in FUNCTIONS and FUNCTIONS[kind].is_real and not np.issubdtype(common, np.floating):
        return "float64"
    return "float32" if common == np.bool_ else common.name


def _weak(number: Any) -> Any:
    """The Python scalar of a number: NumPy scalars are weak, too, so that `x / np.sqrt(64)` keeps the type of x."""
    return number.item() if isinstance(number, np.generic) else number


def _array_dtype(operand: Any) -> np.dtype[Any]:
    dtype = operand.dtype if isinstance(operand, Traced) else np.asarray(operand).dtype
    return np.dtype(np.float32) if dtype == np.bool_ else dtype


def _number(value: Any) -> float:
    if isinstance(value, complex | np.complexfloating) or (isinstance(value, np.generic) and value.dtype.kind not in "fiub"):
        raise DTypeError(f"{value!r} is no real number", where=user_location())
    try:
        return float(value)
    except OverflowError:  # an integer beyond float64
        return math.inf if value > 0 else -math.inf


def _coerced(body: Scalar, types: Mapping[Scalar, str], wanted: bool | None) -> Scalar:
    """`body` as a condition (wanted is True), as a number (False) or as what it is (None): 0 and 1 stand for truth values."""
    is_condition = types.get(body) == "bool"
    if isinstance(body, Apply):
        wants = FUNCTIONS[body.function].takes_conditions
        body = Apply(body.function, tuple(_coerced(o, types, want) for o, want in zip(body.operands, wants, strict=True)))
        is_condition = FUNCTIONS[body.function].is_condition
    if wanted is True and not is_condition:
        return apply("not_equal", body, Literal(0.0))
    if wanted is False and is_condition:
        return apply("where", body, Literal(1.0), Literal(0.0))
    return body
