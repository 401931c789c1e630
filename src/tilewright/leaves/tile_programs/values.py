"""Scalar expressions as values of a tile program: in floats, or in integers that wrap.

A sum with a product is a multiply-add (`graph/multiply_adds.py` has the rule). Among integers, functions that integers lack
are taken of float64 and converted back; so is a constant that is no integer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from tilewright.errors import InternalError
from tilewright.graph.expressions.scalar import Apply, Literal, Scalar
from tilewright.graph.multiply_adds import multiply_add, rounded_quotient
from tilewright.leaves.tile_programs.conversions import mask_of, stored
from tilewright.leaves.tile_programs.functions import CONNECTIVES, Function, function_named, has_integer_form
from tilewright.tile.builder import Builder
from tilewright.tile.operations import Operation
from tilewright.tile.program import Value
from tilewright.tile.types import Type

Leaf = Callable[[Scalar], Value]
"""The value of what is no function and no constant."""
NOTHING: Mapping[Any, Any] = MappingProxyType({})
BOUNDS: Mapping[str, Operation] = {"maximum": Operation.LARGER, "minimum": Operation.SMALLER}


class Values:
    """Expressions as vectors of a type; what is `known` has a value already, and `own` are functions of the leaf itself."""

    def __init__(
        self,
        builder: Builder,
        computed: Type,
        leaf: Leaf,
        known: Mapping[Scalar, Value] = NOTHING,
        own: Mapping[str, Function] = NOTHING,
    ) -> None:
        """Of expressions in lanes of a type."""
        self.builder, self.type, self._leaf, self._known, self._own = builder, computed, leaf, known, own

    def value(self, scalar: Scalar) -> Value:
        """A number for every lane."""
        return self.number(self.any(scalar))

    def any(self, scalar: Scalar) -> Value:
        """A number, or of a condition a mask."""
        if scalar in self._known:
            return self._known[scalar]
        if isinstance(scalar, Literal):
            return self.literal(scalar.value)
        if not isinstance(scalar, Apply):
            return self._leaf(scalar)
        fused = multiply_add(scalar, self._known) if self.type.is_float else None
        if fused is not None:
            return self.builder.apply(Operation.MULTIPLY_ADD, *map(self.value, fused))
        return self.applied(scalar)

    def applied(self, scalar: Apply) -> Value:
        """A function."""
        name = scalar.function
        quotient = rounded_quotient(scalar, self._known) if self.type.is_float else None
        if quotient is not None:
            return self.of_numbers("rounded_quotient", list(map(self.value, quotient)))
        if name == "where":
            condition, yes, no = scalar.operands
            return self.builder.select(self.mask(condition), self.value(yes), self.value(no))
        if name in CONNECTIVES:
            return CONNECTIVES[name](*map(self.mask, scalar.operands))
        if name in BOUNDS and self.type.is_float and any(map(_is_number, scalar.operands)):
            number, bounded = sorted(scalar.operands, key=lambda operand: not _is_number(operand))
            return self.builder.apply(BOUNDS[name], self.value(number), self.value(bounded))
        return self.of_numbers(name, [self.as_operand(self.any(operand)) for operand in scalar.operands])

    def of_numbers(self, name: str, operands: list[Value]) -> Value:
        """A function of numbers: of integers where all are and it has such a form, else of floats."""
        if self.type.is_float:
            return self.checked(name, operands)
        if all(operand.type == self.type for operand in operands) and has_integer_form(name):
            return self.checked(name, operands)
        return self.checked(name, [self.builder.cast(operand, "float64") for operand in operands])

    def checked(self, name: str, operands: list[Value]) -> Value:
        """A function of operands of one type."""
        found = self._own.get(name) or function_named(name, operands[0].type.dtype)
        if found is None:
            raise InternalError(f"no tile program for the function {name} of {operands[0].type}")
        value = found(self.builder, *operands)
        return value if value.type.is_mask else self.number(value)

    def as_operand(self, value: Value) -> Value:
        """A number of the type that is computed in, or a float64 among integers."""
        return value if value.type.dtype == "float64" else self.number(value)

    def number(self, value: Value) -> Value:
        """A value in the type that is computed in; of a mask 1 or 0."""
        return value if value.type == self.type else stored(self.builder, value, self.type.dtype)

    def mask(self, condition: Scalar) -> Value:
        """The lanes in which a condition holds; a number does where it is not 0."""
        found = self.any(condition)
        found = found if found.type.is_mask else found.differs(0)
        return mask_of(self.builder, found, self.type.bits)

    def literal(self, value: float) -> Value:
        """A constant."""
        if self.type.is_float:
            return self.builder.constant(rounded(value, self.type.dtype), self.type)
        if math.isfinite(value) and value == int(value):
            return self.builder.constant(clamped(value, self.type.dtype), self.type)
        return self.builder.constant(value, self.type.of("float64"))


def rounded(value: float, dtype: str) -> float:
    """A number as a float type has it.

    >>> rounded(1e300, "float32"), rounded(1e300, "float64")
    (inf, 1e+300)
    """
    with np.errstate(over="ignore"):
        return float(np.dtype(dtype).type(value))


def clamped(value: float, dtype: str) -> int:
    """An integer within the limits of a type.

    >>> clamped(float("-inf"), "int8"), clamped(300, "uint8")
    (-128, 255)
    """
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    return high if value >= high else low if value <= low else int(value)


def _is_number(scalar: Scalar) -> bool:
    """Whether it is a literal that is not NaN: as the first operand it gives way to a NaN in the second."""
    return isinstance(scalar, Literal) and not math.isnan(scalar.value)
