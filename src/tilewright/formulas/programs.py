"""Formulas as data: a function of numbers, called once with symbols, gives the list of its operations.

A formula is Python over numbers and the helpers of `arrays`. Called with numbers or arrays it computes; `recorded` calls it with
symbols. Its inputs are parameters, numbers that are known before any schedule is (sizes), and variables (tiles). A Python branch
on parameters, or on the largest value of a variable, becomes a guard: the program holds for all inputs that the formula would
take the same way for. On a variable it cannot branch.

A program evaluates the operations of the formula in their order, each once, and so gives the same bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from tilewright.arrays import Condition, Quantity, either, largest, maximum, minimum, smallest
from tilewright.errors import InternalError
from tilewright.formulas.distinct_sums import distinct_sums
from tilewright.records import record

Number: TypeAlias = bool | int | float

_SIGNS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "and_", "or_")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
OPERATIONS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in (*_SIGNS, *_COMPARISONS, "neg")},
    "minimum": minimum,
    "maximum": maximum,
    "either": either,
    "largest": largest,
    "smallest": smallest,
    "distinct_sums": distinct_sums,
}
"""All operations of programs; `and_` and `or_` are those of conditions."""
_OF_NUMPY: Mapping[Any, str] = {
    **{np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "truediv"},
    **{np.floor_divide: "floordiv", np.remainder: "mod", np.minimum: "minimum", np.maximum: "maximum"},
    **{np.less: "lt", np.less_equal: "le", np.greater: "gt", np.greater_equal: "ge", np.equal: "eq", np.not_equal: "ne"},
    **{np.bitwise_and: "and_", np.bitwise_or: "or_", np.where: "either"},
}
"""What NumPy hands over to a symbol."""


@record
class Operation:
    """An operation on values: inputs in their order, then results of the operations before; -1 - k is constant number k.

    One that is none of `OPERATIONS` is a table by its operands: its results are given by name, as inputs are.
    """

    name: str
    operands: tuple[int, ...]


@record
class Guard:
    """What a condition on parameters, or on the largest value of a variable, has to be."""

    condition: int
    outcome: bool


@record
class Program:
    """A recorded formula; guards and results name values as operands do."""

    inputs: tuple[str, ...]
    constants: tuple[Number, ...]
    operations: tuple[Operation, ...]
    guards: tuple[Guard, ...]
    results: tuple[int, ...]


class NotRecordable(InternalError):
    """A formula does with a symbol what no operation of a program does."""


def recorded(
    formula: Callable[[Mapping[str, Any]], Sequence[Any]],
    parameters: Mapping[str, Number],
    variables: Mapping[str, Quantity | Condition],
) -> Program:
    """The program of a formula of inputs by name, whose branches are those for these values.

    >>> program = recorded(lambda of: [minimum(of["tile"], of["size"]) * 2], {"size": 7}, {"tile": 4})
    >>> evaluated(program, {"size": 9, "tile": np.array([4, 16])})
    [array([ 8, 18])]
    """
    recording = _Recording((*parameters, *variables))
    examples = {**parameters, **variables}.items()
    inputs = {name: Symbol(recording, at, example, name in variables) for at, (name, example) in enumerate(examples)}
    results = tuple(map(recording.number_of, formula(inputs)))
    guards = tuple(Guard(*guard) for guard in recording.guards.items())
    return Program(recording.inputs, tuple(recording.constants.values()), tuple(recording.operations), guards, results)


def evaluated(program: Program, inputs: Mapping[str, Any]) -> list[Any]:
    """The results for numbers or arrays. Raises `InternalError` where guards do not hold."""
    values = _values(program, inputs)
    if not _hold(program, values):
        raise InternalError("a program is evaluated for sizes that its formula takes another branch for")
    return [_at(program, values, result) for result in program.results]


def holds(program: Program, inputs: Mapping[str, Any]) -> bool:
    """Whether a program is that of its formula for these inputs."""
    return _hold(program, _values(program, inputs))


def apply(name: str, *operands: Any) -> Any:
    """An operation that no sign or helper stands for: of numbers and arrays its result, of symbols a recorded one."""
    symbols = [operand for operand in operands if isinstance(operand, Symbol)]
    return symbols[0].recording.apply(name, operands) if symbols else OPERATIONS[name](*operands)


def tabulated(names: Sequence[str], function: Callable[..., Sequence[Any]], *operands: Any) -> Sequence[Any]:
    """What a function that no program computes gives of numbers and arrays; of symbols a table by each of these names."""
    symbols = [operand for operand in operands if isinstance(operand, Symbol)]
    if not symbols:
        return function(*operands)
    recording, examples = symbols[0].recording, function(*map(_example, operands))
    results = zip(names, examples, strict=True)
    return [recording.append(recording.operation(name, operands), operands, example) for name, example in results]


def _example(operand: Any) -> Any:
    return operand.example if isinstance(operand, Symbol) else operand


def _values(program: Program, inputs: Mapping[str, Any]) -> list[Any]:
    """Of inputs and operations."""
    values = [inputs[name] for name in program.inputs]
    for operation in program.operations:
        operands = (_at(program, values, operand) for operand in operation.operands)
        values.append(OPERATIONS[operation.name](*operands) if operation.name in OPERATIONS else inputs[operation.name])
    return values


def _at(program: Program, values: Sequence[Any], number: int) -> Any:
    return values[number] if number >= 0 else program.constants[-1 - number]


def _hold(program: Program, values: Sequence[Any]) -> bool:
    return all(bool(values[guard.condition]) is guard.outcome for guard in program.guards)


@dataclass(slots=True)
class _Recording:
    """A program while its formula runs; equal operations are one."""

    inputs: tuple[str, ...]
    operations: list[Operation] = field(default_factory=list)
    numbers: dict[Operation, int] = field(default_factory=dict)
    constants: dict[str, Number] = field(default_factory=dict)
    """By their text, which tells 1 from 1.0 and True."""
    guards: dict[int, bool] = field(default_factory=dict)

    def number_of(self, value: Any) -> int:
        """The number of a symbol, or of a constant."""
        if isinstance(value, Symbol):
            return value.number
        constant = value.item() if isinstance(value, np.generic) else value
        if not isinstance(constant, Number):
            raise NotRecordable(f"a formula uses a {type(value).__name__} that is no input of it")
        self.constants.setdefault(repr(constant), constant)
        return -1 - list(self.constants).index(repr(constant))

    def apply(self, name: str, operands: Sequence[Any]) -> Symbol:
        """The result of an operation."""
        operation = self.operation(name, operands)
        return self.append(operation, operands, OPERATIONS[name](*map(_example, operands)))

    def operation(self, name: str, operands: Sequence[Any]) -> Operation:
        """An operation, or a table, of symbols and constants."""
        return Operation(name, tuple(map(self.number_of, operands)))

    def append(self, operation: Operation, operands: Sequence[Any], example: Any) -> Symbol:
        """The result of an operation that has this value for the inputs at hand."""
        if operation not in self.numbers:
            self.numbers[operation] = len(self.inputs) + len(self.operations)
            self.operations.append(operation)
        is_variable = any(isinstance(operand, Symbol) and operand.is_variable for operand in operands)
        is_variable = is_variable and operation.name not in ("largest", "smallest")
        return Symbol(self, self.numbers[operation], example, is_variable)


@record(eq=False)
class Symbol:
    """A value of a formula that is being recorded; `example` is what it is for the inputs at hand."""

    recording: _Recording
    number: int
    example: Any
    is_variable: bool

    def __bool__(self) -> bool:
        if self.is_variable:
            raise NotRecordable("a formula branches on a tile: `either` selects without a branch")
        return self.recording.guards.setdefault(self.number, bool(self.example))

    def max(self) -> Symbol:
        """The largest value of an array."""
        return self.recording.apply("largest", (self,))

    def min(self) -> Symbol:
        """The smallest one."""
        return self.recording.apply("smallest", (self,))

    def __index__(self) -> int:
        raise NotRecordable("a formula makes a Python number of a symbol")

    __int__ = __float__ = __index__

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **options: Any) -> Symbol:
        if method != "__call__" or options:
            raise NotRecordable(f"{function.__name__}.{method} is no operation of programs")
        return self.__array_function__(function, (), operands, {})

    def __array_function__(self, function: Any, _: Any, operands: Sequence[Any], options: Mapping[str, Any]) -> Symbol:
        if function not in _OF_NUMPY or options:
            raise NotRecordable(f"{function.__name__} is no operation of programs")
        return self.recording.apply(_OF_NUMPY[function], operands)


def _method(name: str, *, is_swapped: bool = False) -> Callable[..., Symbol]:
    def apply(this: Symbol, *that: Any) -> Symbol:
        return this.recording.apply(name, (*that, this) if is_swapped else (this, *that))

    return apply


for _name in OPERATIONS:
    _stem = _name.strip("_")
    if hasattr(operator, f"__{_stem}__"):
        setattr(Symbol, f"__{_stem}__", _method(_name))
    if _name in _SIGNS:
        setattr(Symbol, f"__r{_stem}__", _method(_name, is_swapped=True))
