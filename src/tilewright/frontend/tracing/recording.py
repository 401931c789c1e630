"""Recording of operations on traced values, and registration of the functions that trace.

In maps scalars become literals, and arrays become reads. A recording function becomes one of the functions that trace.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from tilewright.errors import DTypeError, UnsupportedOperation
from tilewright.frontend.tracing import namespace
from tilewright.frontend.tracing.dynamic_dimensions import RunTimeNumber, run_time_scalar
from tilewright.frontend.tracing.location import located_call, user_location
from tilewright.frontend.tracing.numpy_functions import constant_array
from tilewright.frontend.tracing.promotion import Rule, check_numbers, dtype_of, kind_of, map_type, text_of
from tilewright.frontend.tracing.recorder import Recorder, current_recorder
from tilewright.frontend.tracing.traced import Traced
from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.elementwise import body_of, cast_steps, elementwise
from tilewright.graph.exactness import INTEGERS
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Scalar, apply, rewrite
from tilewright.graph.expressions.scalar_functions import COMPARISONS, FUNCTIONS
from tilewright.graph.types import SymbolicExtent, Tensor


def recorder_of(values: Sequence[Any]) -> Recorder:
    """The one trace that all traced values belong to."""
    for value in values:
        if isinstance(value, list | tuple) and any(isinstance(element, Traced) for element in value):
            text = f"a {type(value).__name__} of traced values was used as an array"
            why = "in an argument, lists and tuples are containers, whose elements are traced one by one"
            hint = "pass numpy.asarray(...) of it, or use its elements"
            raise UnsupportedOperation(text, where=user_location(), why=why, hint=hint)
    recorders = {id(value.recorder): value.recorder for value in values if isinstance(value, Traced)}
    if len(recorders) != 1:
        text, why = "traced arrays of different calls were mixed", "an array of an earlier trace outlived its function"
        hint = "return it from the function instead"
        raise UnsupportedOperation(text, where=user_location(), why=f"{why} (a global or an attribute)", hint=hint)
    recorder = next(iter(recorders.values()))
    if recorder is not current_recorder():
        why = "it stands for the values of one call while the function is traced, and outlived it (a global or an attribute)"
        hint = "return it from the function, or pass it as an argument"
        raise UnsupportedOperation("a traced array was used after its trace had ended", where=user_location(), why=why, hint=hint)
    return recorder


def tensor_of(recorder: Recorder, value: Any) -> Tensor:
    """The tensor of a traced value, or a constant for an array or a number."""
    return value.tensor if isinstance(value, Traced) else recorder.constant(constant_array(value))


def converted(value: Any, dtype: np.dtype[Any]) -> Any:
    """An array in an element type; truth values become the numbers 0 and 1."""
    if not isinstance(value, Traced):
        return constant_array(value).astype(dtype, copy=False)
    for body, between in cast_steps(value.dtype.name, dtype.name) if value.dtype != dtype else ():
        value = record_map("astype", body, (value,), dtype=between)
    return value


def apply_map(function: str, *operands: Any) -> Traced:
    """Record a function of FUNCTIONS or COMPOSITES; numbers among the operands are weakly typed literals in the body.

    Integers are compared as integers, as in NumPy: with numbers that their type does not hold, and signed ones with uint64,
    beside which float64 is the common type.
    """
    operands = tuple(beside_float16(operands))
    if function in COMPARISONS:
        operands = tuple(_comparable(operand, operands) for operand in operands)
        types = [np.dtype(bool) if is_number(operand) else dtype_of(operand) for operand in operands]
        signed = [number for number, dtype in enumerate(types) if dtype.kind == "i"]
        if signed and np.dtype(np.uint64) in types:
            return _compared_by_sign(function, operands, signed[0])
    if function in ("logical_and", "logical_or", "logical_not"):  # of any number, one that every type holds
        operands = tuple(bool(operand) if isinstance(operand, int | float | np.generic) else operand for operand in operands)
    return record_map(function, body_of(function), operands)


def beside_float16(operands: Sequence[Any]) -> Sequence[Any]:
    """Operands; numbers of the caller's as float16, where arrays are of that type alone, as NumPy has it (NEP 50)."""
    numbers = [operand for operand in operands if isinstance(operand, Traced) and operand.is_rounded]
    types = {dtype_of(operand).name for operand in operands if not _is_rounded(operand)} - {"bool"} if numbers else set()
    if types != {"float16"}:
        return operands
    return [
        converted(operand, np.dtype("float16")) if any(operand is one for one in numbers) else operand for operand in operands
    ]


def _comparable(operand: Any, operands: Sequence[Any]) -> Any:
    """An operand of a comparison: an infinity in the place of a number that the integers beside it cannot be."""
    limits = _limits([dtype_of(other) for other in operands if not is_number(other)])
    is_beyond = limits is not None and isinstance(operand, int | np.integer) and not limits[0] <= operand <= limits[1]
    return math.copysign(math.inf, operand) if is_beyond else operand


def _limits(types: Sequence[np.dtype[Any]]) -> tuple[int, int] | None:
    """The range of the one type of integers that arrays have; None if they have another one, or several."""
    if len(set(types)) != 1 or types[0].kind not in "iu":
        return None
    return int(np.iinfo(types[0]).min), int(np.iinfo(types[0]).max)


def _compared_by_sign(function: str, operands: Sequence[Any], signed: int) -> Traced:
    """Negative numbers are below all of uint64, all others are among them."""
    holds_below = bool(FUNCTIONS[function].numpy(*(-1 if number == signed else 0 for number in range(2))))
    is_below = apply_map("less", operands[signed], 0)
    among = record_map(function, body_of(function), [converted(operand, np.dtype(np.uint64)) for operand in operands])
    return apply_map("where", is_below, np.full((1,) * len(is_below.shape), holds_below), among)


def record_map(kind: str, body: Scalar, operands: Sequence[Any], dtype: str | None = None) -> Traced:
    """Record a map whose body refers to `operands` by number, whether they are arrays or numbers."""
    recorder = recorder_of(operands)
    tensors: list[Tensor] = []
    values: list[Scalar] = []
    beside = {dtype_of(operand).name for operand in operands if not is_number(operand)}
    for operand in (_exact(operand, beside) for operand in operands):
        if is_number(operand):
            values.append(_number_scalar(operand, beside))
            continue
        tensor = tensor_of(recorder, operand)
        if tensor not in tensors:
            tensors.append(tensor)
        values.append(Load(tensors.index(tensor)))
    chosen = dtype or map_type(kind, operands)
    check_numbers(kind, operands, chosen)
    recorder.check_result(kind, text_of([kind_of(operand) for operand in operands]), chosen)
    types: dict[Scalar, str] = {Load(number): tensor.dtype for number, tensor in enumerate(tensors)}
    wanted = None if chosen == "bool" else False
    filled = _coerced(rewrite(body, lambda node: values[node.read] if isinstance(node, Load) else None), types, wanted)
    result = recorder.record(partial(elementwise, kind=kind), filled, tensors, kind=kind, dtype=chosen)
    return Traced(recorder, result, is_rounded=all(map(_is_rounded, operands)))


def _is_rounded(operand: Any) -> bool:
    return operand.is_rounded if isinstance(operand, Traced) else is_number(operand)


def _exact(operand: Any, beside: Collection[str]) -> Any:
    """An operand; an array in the place of an integer that no float, and so no literal, is, beside integers."""
    limits = _limits([np.dtype(name) for name in beside]) if INTEGERS.issuperset(beside) else None
    if limits is None or not isinstance(operand, int | np.integer) or not limits[0] <= operand <= limits[1]:
        return operand
    return operand if int(float(operand)) == operand else np.array(operand, *beside)


def is_number(value: Any) -> bool:
    """Whether a value is a Python or NumPy scalar, or one made of extents: weakly typed, it takes the type of the arrays
    around it."""
    return isinstance(value, bool | int | float | np.generic | SymbolicExtent | RunTimeNumber)


def _number_scalar(value: Any, beside: Collection[str]) -> Scalar:
    """A number in a body. Raises `UnsupportedOperation` for one known at run time beside float16, where numbers are rounded."""
    scalar = run_time_scalar(value)
    if scalar is None:
        return Literal(_number(value, beside))
    if beside == {"float16"}:
        raise UnsupportedOperation(f"{value} beside float16 elements", where=user_location(), hint="convert them to float32")
    return scalar


def _number(value: Any, beside: Collection[str]) -> float:
    """The value of a number, rounded as float16 beside arrays of that type, whose interpreter computes in float32."""
    if isinstance(value, complex | np.complexfloating) or (isinstance(value, np.generic) and value.dtype.kind not in "fiub"):
        raise DTypeError(f"{value!r} is no real number", where=user_location())
    try:
        number = float(value)
    except OverflowError:  # an integer beyond float64
        return math.inf if value > 0 else -math.inf
    with np.errstate(over="ignore"):
        return float(np.float16(number)) if beside == {"float16"} else number


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


F = TypeVar("F", bound=Callable[..., Any])


def traceable(reference: Callable[..., Any] | str, name: str = "", text: str = "") -> Callable[[F], F]:
    """Register a recording function; without traced arguments, `reference` (or NumPy's function of that name) is called.

    A function that others like it are made by is given its name and its docstring.
    """

    def decorate(record: F) -> F:
        plain = getattr(np, reference) if isinstance(reference, str) else reference
        record.__name__ = record.__qualname__ = name or record.__name__
        record.__doc__ = text or record.__doc__

        @functools.wraps(record)
        def function(*args: Any, **options: Any) -> Any:
            return record(*args, **options) if _has_traced((*args, *options.values())) else plain(*args, **options)

        namespace.FUNCTIONS[record.__name__] = function
        return cast(F, function)

    return decorate


def _has_traced(values: Sequence[Any]) -> bool:
    return any(isinstance(v, Traced) or (isinstance(v, list | tuple) and _has_traced(v)) for v in values)


def record_operator(
    build: Callable[..., Any], operands: Sequence[Any], rule: Rule, *arguments: Any, kind: str, **options: Any
) -> Any:
    """The traced result of an operator that is no map, which computes with its operands in the type that a rule says."""
    recorder, tensors = in_one_type(operands, rule, kind)
    return Traced(recorder, recorder.record(build, *tensors, *arguments, kind=kind, **options))


def record_change(x: Any, change: Callable[[Recorder, Tensor], Tensor]) -> Any:
    """The traced result of an index change. Errors are given the place in the user's source."""
    recorder = recorder_of((x,))
    return Traced(recorder, located_call(change, recorder, tensor_of(recorder, x)))


def in_one_type(operands: Sequence[Any], rule: Rule, kind: str) -> tuple[Recorder, list[Tensor]]:
    """The trace, and the operands of an operator that is no map, in the type that it computes in.

    Raises `DTypeError` if kernels do not.
    """
    recorder = recorder_of(operands)
    kinds = [dtype_of(operand) for operand in operands]
    dtype = rule(kind, kinds)
    check_numbers(kind, operands, dtype.name)
    recorder.check_result(kind, text_of(kinds), dtype.name, is_map=False)
    return recorder, [tensor_of(recorder, converted(operand, dtype)) for operand in operands]


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
    from tilewright.graph.interpreter import evaluate

    return evaluate(builder.graph((result.name,)), arrays)[result.name]


def array_of(x: Any) -> Any:
    """An operand as a traced value or a NumPy array; None stays."""
    return x if x is None or isinstance(x, Traced) else constant_array(x)
