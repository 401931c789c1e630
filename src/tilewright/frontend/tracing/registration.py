"""Registration of the functions that trace: how a recording function becomes one of them, of one operator or of several."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from tilewright.frontend.tracing.foreign_arrays import constant_array
from tilewright.frontend.tracing.maps import converted, recorder_of, tensor_of
from tilewright.frontend.tracing.namespace import FUNCTIONS
from tilewright.frontend.tracing.promotion import Rule, dtype_of, text_of
from tilewright.frontend.tracing.traced import Traced
from tilewright.graph.builders.builder import Builder
from tilewright.graph.interpreter import evaluate
from tilewright.graph.types import Tensor

F = TypeVar("F", bound=Callable[..., Any])


def traceable(reference: Callable[..., Any] | str) -> Callable[[F], F]:
    """Register a recording function; without traced arguments, `reference` (or NumPy's function of that name) is called."""

    def decorate(record: F) -> F:
        plain = getattr(np, reference) if isinstance(reference, str) else reference

        @functools.wraps(record)
        def function(*args: Any, **options: Any) -> Any:
            return record(*args, **options) if _has_traced((*args, *options.values())) else plain(*args, **options)

        FUNCTIONS[record.__name__] = function
        return cast(F, function)

    return decorate


def _has_traced(values: Sequence[Any]) -> bool:
    return any(isinstance(v, Traced) or (isinstance(v, list | tuple) and _has_traced(v)) for v in values)


def record_operator(
    build: Callable[..., Any], operands: Sequence[Any], rule: Rule, *arguments: Any, kind: str, **options: Any
) -> Any:
    """The traced result of an operator that is no map, which computes with its operands in the type that a rule says."""
    tensors = in_one_type(operands, rule, kind)
    recorder = recorder_of(operands)
    return Traced(recorder, recorder.record(build, *tensors, *arguments, kind=kind, **options))


def in_one_type(operands: Sequence[Any], rule: Rule, kind: str) -> list[Tensor]:
    """The operands of an operator that is no map, in the type that it computes in. Raises `DTypeError` if kernels do not."""
    recorder = recorder_of(operands)
    kinds = [dtype_of(operand) for operand in operands]
    dtype = rule(kind, kinds)
    recorder.check_result(kind, text_of(kinds), dtype.name, is_map=False)
    return [tensor_of(recorder, converted(operand, dtype)) for operand in operands]


def record_index_change(build: Callable[..., Any], operands: Sequence[Any], *arguments: Any, kind: str, **options: Any) -> Any:
    """The traced result of an operator that keeps the elements of its operands as they are, of whatever type."""
    recorder = recorder_of(operands)
    tensors = [tensor_of(recorder, operand) for operand in operands]
    return Traced(recorder, recorder.record(build, *tensors, *arguments, kind=kind, **options))


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
