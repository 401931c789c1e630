"""Divisions by constants as products with their reciprocals, where last bits are free: a product takes a tenth of the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from tilewright.graph.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.rewrites import Rewrite
from tilewright.graph.rewrites.constants.constant_part import moderate_constants
from tilewright.graph.rewrites.exactness.mark_exact import exact_parts_of
from tilewright.graph.rewrites.rebuild import unused, with_operators, with_used_reads
from tilewright.graph.scalar import Apply, Literal, Load, Scalar, apply, subexpressions
from tilewright.graph.types import Access, Axis, Graph, Operator, Tensor

LEAST, MOST = 1e-30, 1e30
"""Divisors of which float32 holds the reciprocal as a normal number: products with it leave the range where quotients do."""


@dataclass(frozen=True, slots=True)
class Reciprocals(Rewrite):
    """Maps in float32 that divide by a number, or by elements of a constant, whose reciprocals are made when kernels are loaded.

    Single numbers (scales of quantised tensors) keep their divisions, since nothing is gained for them.
    """

    licence: ClassVar[Licence] = Licence.RANGE

    def run(self, graph: Graph) -> Graph:
        """The graph with products in the place of such divisions."""
        multiplying = _Multiplying({tensor.name: tensor for tensor in graph.tensors}, moderate_constants(graph))
        operators = [part for operator in graph.operators for part in multiplying.parts(operator)]
        return with_operators(replace(graph, tensors=tuple(multiplying.tensors.values())), operators)


@dataclass(slots=True)
class _Multiplying:
    tensors: dict[str, Tensor]
    constants: set[str]
    inverses: dict[str, str] = field(default_factory=dict)
    """By constant the tensor that holds the reciprocals of its elements."""

    def parts(self, operator: Operator) -> Iterator[Operator]:
        """A map with products in it, behind what makes the reciprocals that it is the first to read."""
        is_able = operator.is_map() and operator.accumulator == "float32" and operator.axes
        if not is_able or "divide" not in operator.functions() or operator.write.tensor in self.constants:
            yield operator
            return
        divisors = dict.fromkeys(self.divisors(operator))
        reads = list(operator.reads)
        products: dict[Scalar, Scalar] = {}
        for divisor in divisors:
            constant = operator.reads[divisor.read].tensor
            if constant not in self.inverses:
                yield self.inverse(constant)
            products[divisor] = Load(len(reads))
            reads.append(replace(operator.reads[divisor.read], tensor=self.inverses[constant]))
        exact = exact_parts_of(operator, self.tensors)
        yield with_used_reads(replace(operator, reads=tuple(reads), body=_multiplying(operator.body, exact, products)))

    def divisors(self, operator: Operator) -> Iterator[Load]:
        """The reads of constants that last bits allow to be reciprocals."""
        exact = exact_parts_of(operator, self.tensors)
        for part in subexpressions(operator.body):
            match part:
                case Apply("divide", (_, Load(number) as divisor)) if part not in exact and number not in operator.looked_up():
                    read = operator.reads[number]
                    is_float = self.tensors[read.tensor].dtype == "float32"
                    if is_float and read.tensor in self.constants and read.guard is None and not read.lookups:
                        yield divisor

    def inverse(self, constant: str) -> Operator:
        """The operator that makes the reciprocals of a constant."""
        tensor = self.tensors[constant]
        name = unused(f"{constant}_inverse", self.tensors)
        self.tensors[name], self.inverses[constant] = replace(tensor, name=name, magnitudes=None, entries=None), name
        axes = tuple(Axis(f"d{number}", extent) for number, extent in enumerate(tensor.shape))
        indices = tuple(axis_index(axis.name) for axis in axes)
        return Operator(name, "inverse", axes, (Access(constant, indices),), Access(name, indices), apply("reciprocal", Load(0)))


def _multiplying(scalar: Scalar, exact: frozenset[Scalar], products: dict[Scalar, Scalar]) -> Scalar:
    """An expression with products in the place of quotients by numbers and by these divisors."""
    if not isinstance(scalar, Apply):
        return scalar
    operands = tuple(_multiplying(operand, exact, products) for operand in scalar.operands)
    if scalar.function == "divide" and scalar not in exact:
        match operands:
            case (dividend, Literal(value)) if LEAST < abs(value) < MOST:
                return apply("multiply", dividend, Literal(float(np.float32(1 / value))))
            case (dividend, divisor) if divisor in products:
                return apply("multiply", dividend, products[divisor])
    return Apply(scalar.function, operands)
