"""Products and convolutions of bytes for micro kernels of two types: signs change by 128, and zero points leave the sums.

With operands a and b, zero points za and zb, and k steps of the reduction,

    sum (a - za)(b - zb) = sum a b  -  za * sum b  -  zb * sum a  +  k * za * zb

A signed operand becomes unsigned by adding 128 to it and to its zero point, an unsigned one signed by subtracting 128. Terms of
zero points that are 0 fold away. Sums of 32 bits wrap. The equation holds modulo 2^32, so that results are those of the operator
as it is written. It needs zero points that are the same at all steps of the reduction, and operands that are read at every step.

`Compensation` is that around an algorithm for products without zero points: micro kernels of an unsigned and a signed operand
("zero points apart"), or of two signed ones ("signed bytes"), which are exact for constant weights that have an opposite in 8
bits, -127 to 127, where those of unsigned activations would have to take every byte apart; and any algorithm for convolutions
("zero points apart, ..."), where an image is unsigned and filters are signed. That needs a sum over all taps of a window, those
that stand out of the image included: there the guard gives the zero point itself, whose difference is 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.zero_points import centred_reads
from tilewright.graph.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.scalar import Apply, Literal, Load, Scalar, apply
from tilewright.graph.types import PRODUCT, SUM, Access, Axis, AxisKind, Operator, Tensor
from tilewright.kernels import registry
from tilewright.plan.algorithms import (
    depthwise,
    filter_lanes,
    im2col,
    pixel_rows,
    pixels_of_bytes,
    pointwise,
    shifted_rows,
    windows_by_columns,
)
from tilewright.plan.algorithms.as_written import AS_WRITTEN
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.product_roles import roles_of
from tilewright.plan.contraction_roles import contraction_roles

LEFT, RIGHT = "uint8", "int8"
"""What the micro kernel multiplies."""
SHIFTS = {LEFT: 128, RIGHT: -128}
"""What makes each of the other type, added to an element and to its zero point."""
LARGEST = 127
"""Of |weight| in a type that has the opposite of each."""


@dataclass(frozen=True, slots=True)
class Factor:
    """An operand of a product: its bytes, and what is subtracted from them: an element and a number."""

    access: Access
    zero: Access | None
    shift: int = 0

    @property
    def is_centred(self) -> bool:
        """Whether anything is subtracted."""
        return self.zero is not None or self.shift != 0


Types: TypeAlias = Callable[[Problem], Sequence[str]]
"""The element types that an algorithm takes of a product of bytes as they are; none where it is not to be offered."""


def factors(operator: Operator) -> tuple[Factor, ...]:
    """The two operands that an operator sums the products of; none if it computes something else."""
    match operator.body:
        case Apply("multiply", parts) if operator.reduction == SUM:
            reads, places = operator.reads, [centred_reads(part) for part in parts]
            found = [Factor(reads[p[0]], None if p[1] is None else reads[p[1]]) for p in places if p]
            return tuple(found) if len(found) == 2 else ()
    return ()


def are_bytes(problem: Problem, found: Sequence[Factor]) -> bool:
    """Whether two factors are bytes that every step reads, less zero points that are the same at all of them, summed in int32."""
    operator, steps = problem.operator, frozenset(axis.name for axis in problem.operator.reduction_axes())
    zeros = [factor.zero for factor in found if factor.zero is not None]
    return (
        bool(found)
        and {operator.accumulator, problem.result.dtype} == {"int32"}
        and all(problem.tensors[factor.access.tensor].dtype in SHIFTS for factor in found)
        and all(steps <= factor.access.axes() for factor in found)
        and all(zero.is_affine() and steps.isdisjoint(zero.axes()) for zero in zeros)
        and all(isinstance(axis.extent, int) for axis in operator.reduction_axes())
    )


def without_zeros(problem: Problem, found: Sequence[Factor]) -> Problem:
    """The product of factors as they are."""
    reads = tuple(factor.access for factor in found)
    return replace(problem, operator=replace(problem.operator, reads=reads, body=PRODUCT))


@dataclass(frozen=True, slots=True)
class Compensation:
    """An algorithm for products of bytes, between changes of their signs and a map that takes the zero points out of the sums."""

    base: Algorithm
    types: Types

    def applies(self, problem: Problem) -> bool:
        """Whether zero points or signs keep the algorithm from an operator that it could compute otherwise."""
        found = factors(problem.operator)
        if not are_bytes(problem, found):
            return False
        plain = without_zeros(problem, found)
        types = self.types(plain)
        needs_change = problem.operator.body != PRODUCT or _types(plain) != list(types)
        return bool(types) and needs_change and self.base.applies(plain)

    def expand(self, problem: Problem, builder: Builder) -> Tensor:
        """The bytes, their sums by the algorithm, and the map."""
        found = factors(problem.operator)
        types = self.types(without_zeros(problem, found))
        changed = [_of_type(problem, builder, factor, dtype) for factor, dtype in zip(found, types, strict=True)]
        constants = {new.access.tensor for old, new in zip(found, changed, strict=True) if old.access.tensor in problem.constants}
        sums = builder.declare(Tensor(builder.unique("t"), problem.result.shape, "int32"))
        operator = without_zeros(problem, changed).operator
        operator = replace(operator, write=replace(operator.write, tensor=sums.name))
        inner = Problem(operator, builder.tensors, problem.constants | constants, problem.machine)
        return _compensated(problem, builder, self.base.expand(inner, builder), changed)


def _of_type(problem: Problem, builder: Builder, factor: Factor, dtype: str) -> Factor:
    """A factor as bytes of this type."""
    tensor = problem.tensors[factor.access.tensor]
    if tensor.dtype == dtype:
        return factor
    shift = SHIFTS[dtype]
    shifted = builder.body(apply("add", Load(0), Literal(float(shift))), tensor, dtype=dtype, kind="change_sign")
    guard = factor.access.guard and replace(factor.access.guard, otherwise=factor.access.guard.otherwise + shift)
    return Factor(replace(factor.access, tensor=shifted.name, guard=guard), factor.zero, shift)


def _compensated(problem: Problem, builder: Builder, sums: Tensor, changed: Sequence[Factor]) -> Tensor:
    """Sums of products as they are, less what zero points add to them."""
    pairs = [(factor, other) for factor, other in zip(changed, reversed(changed), strict=True) if factor.is_centred]
    terms = [(factor, _total(problem, builder, other)) for factor, other in pairs]
    return builder.record(_corrected, problem, sums, terms, kind="zero_points") if terms else sums


def _corrected(
    problem: Problem, sums: Tensor, terms: Sequence[tuple[Factor, Access]], *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """The sums less, for each centred factor, its zero point times the total of the other one."""
    operator = problem.operator
    reads = [replace(operator.write, tensor=sums.name)]
    zeros = [_zero(factor, reads) for factor, _ in terms]
    value: Scalar = Load(0)
    for zero, (_, total) in zip(zeros, terms, strict=True):
        value = apply("subtract", value, apply("multiply", zero, _load(total, reads)))
    if len(zeros) == 2:
        steps = prod(extent for axis in operator.reduction_axes() if isinstance(extent := axis.extent, int))
        value = apply("add", value, apply("multiply", Literal(float(steps)), apply("multiply", *zeros)))
    axes = tuple(Axis(axis.name, axis.extent) for axis in operator.axes if axis.kind is AxisKind.PARALLEL)
    write = replace(operator.write, tensor=result)
    corrected = Operator(name, "zero_points", axes, tuple(reads), write, value, accumulator="int32")
    return corrected, Tensor(result, problem.result.shape, "int32")


def _zero(factor: Factor, reads: list[Access]) -> Scalar:
    """What is subtracted from a factor, as an expression of the reads."""
    shift = Literal(float(factor.shift))
    if factor.zero is None:
        return shift
    number = _load(factor.zero, reads)
    return apply("add", number, shift) if factor.shift else number


def _load(access: Access, reads: list[Access]) -> Load:
    """The load of an access, which is added to the reads if they lack it."""
    if access not in reads:
        reads.append(access)
    return Load(reads.index(access))


def _total(problem: Problem, builder: Builder, factor: Factor) -> Access:
    """The sum of a factor over all steps, by its parallel axes."""
    used = factor.access.axes()
    parallel = tuple(axis for axis in problem.operator.axes if axis.kind is AxisKind.PARALLEL and axis.name in used)
    tensor = builder.record(_summed, problem, factor.access, parallel, kind="total")
    return Access(tensor.name, tuple(axis_index(axis.name) for axis in parallel))


def _summed(problem: Problem, read: Access, parallel: tuple[Axis, ...], *, name: str, result: str) -> tuple[Operator, Tensor]:
    axes = (*parallel, *problem.operator.reduction_axes())
    write = Access(result, tuple(axis_index(axis.name) for axis in parallel))
    operator = Operator(name, "sum", axes, (read,), write, Load(0), SUM, "int32")
    return operator, Tensor(result, tuple(axis.extent for axis in parallel), "int32")


def _types(plain: Problem) -> list[str]:
    return [plain.operand(read).dtype for read in (0, 1)]


def _is_affine(plain: Problem) -> bool:
    """Whether no operand is padded, or read by other than affine indices."""
    return all(access.is_affine() for access in (*plain.operator.reads, plain.operator.write))


def _by_role(plain: Problem) -> Sequence[str]:
    """An unsigned and a signed one: as they are, for which there are kernels in both orders, or by their roles."""
    types = _types(plain) if _is_affine(plain) else ()
    if not types or {*types} == {LEFT, RIGHT}:
        return types
    left = contraction_roles(plain.operator).left
    return [LEFT if place == left else RIGHT for place in range(2)]


def _signed(plain: Problem) -> Sequence[str]:
    """Two signed ones, where the right operand is a constant of weights that have an opposite."""
    if not _is_affine(plain):
        return ()
    right = contraction_roles(plain.operator).right
    magnitudes = plain.operand(right).magnitudes
    is_opposable = magnitudes is not None and magnitudes.largest <= LARGEST and plain.is_constant(right)
    has_kernel = bool(registry.for_machine(plain.machine, element_types=(RIGHT, RIGHT, "int32")))
    return (RIGHT, RIGHT) if is_opposable and has_kernel else ()


def _of_windows(plain: Problem) -> Sequence[str]:
    """Images are unsigned, filters signed."""
    roles = roles_of(plain, least_outputs=1)
    is_image_first = roles is None or roles.image == plain.operator.reads[0]
    return (LEFT, RIGHT) if is_image_first else (RIGHT, LEFT)


def _compensation(name: str, base: Algorithm, types: Types) -> Algorithm:
    around = Compensation(base, types)
    return Algorithm(name, Licence.EXACT, around.applies, around.expand, base.reads_tiles)


ALGORITHM = _compensation("zero points apart", AS_WRITTEN, _by_role)
SIGNED_BYTES = _compensation("signed bytes", AS_WRITTEN, _signed)
PRODUCTS = (pointwise, im2col, windows_by_columns, shifted_rows, pixel_rows, pixels_of_bytes, filter_lanes)
BASES = (*(module.ALGORITHM for module in PRODUCTS), depthwise.MAP_OF_TAPS)
ALGORITHMS = (SIGNED_BYTES, *(_compensation(f"zero points apart, {base.name}", base, _of_windows) for base in BASES))
