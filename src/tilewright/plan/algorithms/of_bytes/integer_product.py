"""Products and convolutions of bytes for micro kernels of two types: signs change by 128, and zero points leave the sums.

With an unsigned left operand a, a signed right one b, their zero points za and zb, and k steps of the reduction,

    sum (a - za)(b - zb) = sum a b  -  za * sum b  -  zb * sum a  +  k * za * zb

A signed left operand becomes unsigned by adding 128 to it and to its zero point, an unsigned right one signed by subtracting 128.
Sums of 32 bits wrap. The equation holds modulo 2^32, so that results are those of the operator as it is written. It needs zero
points that are the same at all steps of the reduction, and operands that are read at every step, none of them padded.

Any algorithm for convolutions computes such sums of windows ("zero points apart, ..."); an image is unsigned and filters are
signed. It needs a sum over all taps of a window, those that stand out of the image included: there the guard gives the zero point
itself, whose difference is 0.

Micro kernels of two signed operands ("signed bytes") are exact for constant weights that have an opposite in 8 bits, -127 to 127,
where those of unsigned activations would have to take every byte apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from tilewright.graph.builders.builder import Builder
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
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.product_roles import roles_of
from tilewright.plan.contraction_roles import contraction_roles

LEFT, RIGHT = "uint8", "int8"
"""What the micro kernel multiplies."""
SHIFTS = {LEFT: 128, RIGHT: -128}
"""What makes each of the other type, added to an element and to its zero point."""


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


def applies(problem: Problem) -> bool:
    """Whether an operator sums products of bytes less their zero points, but for those that a micro kernel takes as they are."""
    found = affine_factors(problem)
    return bool(found) and needs_change(problem, found, wanted(problem, found))


def affine_factors(problem: Problem) -> tuple[Factor, ...]:
    """The factors of a product of bytes whose operands are read by affine indices, none of them padded; none of others."""
    operator, found = problem.operator, factors(problem.operator)
    is_affine = all(access.is_affine() for access in (*operator.reads, operator.write))
    return found if is_affine and are_bytes(problem, found) else ()


def needs_change(problem: Problem, found: Sequence[Factor], types: Sequence[str]) -> bool:
    """Whether factors have zero points, or are of other types than these."""
    return problem.operator.body != PRODUCT or types_of(problem, found) != list(types)


def types_of(problem: Problem, found: Sequence[Factor]) -> list[str]:
    """The element type of each factor."""
    return [problem.tensors[factor.access.tensor].dtype for factor in found]


def are_bytes(problem: Problem, found: Sequence[Factor]) -> bool:
    """Whether two factors are bytes that every step reads, less zero points that are the same at all of them, summed in int32."""
    operator, steps = problem.operator, frozenset(axis.name for axis in problem.operator.reduction_axes())
    zeros = [factor.zero for factor in found if factor.zero is not None]
    return (
        bool(found)
        and {operator.accumulator, problem.result.dtype} == {"int32"}
        and all(dtype in SHIFTS for dtype in types_of(problem, found))
        and all(steps <= factor.access.axes() for factor in found)
        and all(zero.is_affine() and steps.isdisjoint(zero.axes()) for zero in zeros)
        and all(isinstance(axis.extent, int) for axis in operator.reduction_axes())
    )


def factors(operator: Operator) -> tuple[Factor, ...]:
    """The two operands that an operator sums the products of; none if it computes something else."""
    match operator.body:
        case Apply("multiply", (left, right)) if operator.reduction == SUM:
            found = [_factor(operator, part) for part in (left, right)]
            return tuple(factor for factor in found if factor is not None) if None not in found else ()
    return ()


def _factor(operator: Operator, part: Scalar) -> Factor | None:
    match part:
        case Load(read):
            return Factor(operator.reads[read], None)
        case Apply("subtract", (Load(read), Load(zero))):
            return Factor(operator.reads[read], operator.reads[zero])
    return None


def expand(problem: Problem, builder: Builder) -> Tensor:
    """The product of operands that the micro kernel takes, their sums, and a map that puts them together."""
    found = factors(problem.operator)
    return product_in_types(problem, builder, found, wanted(problem, found))


def product_in_types(problem: Problem, builder: Builder, found: Sequence[Factor], types: Sequence[str]) -> Tensor:
    """The same for a micro kernel of these types."""
    changed = in_types(problem, builder, found, types)
    products = builder.record(product_of, problem, changed, kind=problem.operator.kind)
    return put_together(problem, builder, products, changed)


def in_types(problem: Problem, builder: Builder, found: Sequence[Factor], types: Sequence[str]) -> tuple[Factor, ...]:
    """The factors as bytes of these types."""
    return tuple(of_type(problem, builder, factor, dtype) for factor, dtype in zip(found, types, strict=True))


def put_together(problem: Problem, builder: Builder, products: Tensor, changed: Sequence[Factor]) -> Tensor:
    """Sums of products as they are, less what zero points add to them."""
    left, right = changed
    pairs = [(factor, opposite) for factor, opposite in ((left, right), (right, left)) if factor.is_centred]
    if not pairs:
        return products
    terms = [(factor, total(problem, builder, opposite)) for factor, opposite in pairs]
    return builder.record(corrected, problem, products, terms, kind="zero_points")


def wanted(problem: Problem, found: Sequence[Factor]) -> list[str]:
    """The element type that each factor has in the micro kernel: its own where they are a signed and an unsigned one, for which
    there are kernels in both orders, else that of its role there."""
    types = types_of(problem, found)
    if {*types} == {LEFT, RIGHT}:
        return types
    roles = contraction_roles(plain_product(problem.operator, found))
    return [LEFT if place == roles.left else RIGHT for place in range(2)]


def plain_product(operator: Operator, found: Sequence[Factor]) -> Operator:
    return replace(operator, reads=tuple(factor.access for factor in found), body=PRODUCT)


def of_type(problem: Problem, builder: Builder, factor: Factor, dtype: str) -> Factor:
    """A factor as bytes of this type."""
    tensor = problem.tensors[factor.access.tensor]
    if tensor.dtype == dtype:
        return factor
    shift = SHIFTS[dtype]
    shifted = builder.body(apply("add", Load(0), Literal(float(shift))), tensor, dtype=dtype, kind="change_sign")
    guard = factor.access.guard and replace(factor.access.guard, otherwise=factor.access.guard.otherwise + shift)
    return Factor(replace(factor.access, tensor=shifted.name, guard=guard), factor.zero, shift)


def product_of(problem: Problem, changed: Sequence[Factor], *, name: str, result: str) -> tuple[Operator, Tensor]:
    """The sums of products of factors as they are."""
    operator = problem.operator
    write = replace(operator.write, tensor=result)
    return replace(plain_product(operator, changed), name=name, write=write), Tensor(result, problem.result.shape, "int32")


def corrected(
    problem: Problem, products: Tensor, terms: Sequence[tuple[Factor, Access]], *, name: str, result: str
) -> tuple[Operator, Tensor]:
    """The products less what zero points add to them: for each centred factor its zero point times the total of the other."""
    operator = problem.operator
    reads = [replace(operator.write, tensor=products.name)]
    zeros = [_zero(factor, reads) for factor, _ in terms]
    value: Scalar = Load(0)
    for zero, (_, total) in zip(zeros, terms, strict=True):
        value = apply("subtract", value, apply("multiply", zero, _load(total, reads)))
    if len(zeros) == 2:
        value = apply("add", value, apply("multiply", Literal(float(_steps(operator))), apply("multiply", *zeros)))
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


def _steps(operator: Operator) -> int:
    return prod(extent for axis in operator.reduction_axes() if isinstance(extent := axis.extent, int))


def total(problem: Problem, builder: Builder, factor: Factor) -> Access:
    """The sum of a factor over all steps, by its parallel axes."""
    tensor = builder.record(_summed, problem, factor, kind="total")
    return Access(tensor.name, tuple(axis_index(axis.name) for axis in _parallel(problem.operator, factor)))


def _summed(problem: Problem, factor: Factor, *, name: str, result: str) -> tuple[Operator, Tensor]:
    parallel = _parallel(problem.operator, factor)
    axes = (*parallel, *problem.operator.reduction_axes())
    write = Access(result, tuple(axis_index(axis.name) for axis in parallel))
    operator = Operator(name, "sum", axes, (factor.access,), write, Load(0), SUM, "int32")
    return operator, Tensor(result, tuple(axis.extent for axis in parallel), "int32")


def _parallel(operator: Operator, factor: Factor) -> tuple[Axis, ...]:
    used = factor.access.axes()
    return tuple(axis for axis in operator.axes if axis.kind is AxisKind.PARALLEL and axis.name in used)


ALGORITHM = Algorithm("zero points apart", Licence.EXACT, applies, expand)


SIGNED = "int8"
LARGEST = 127
"""Of |weight| in a type that has the opposite of each."""


def applies_to_signed(problem: Problem) -> bool:
    """Whether the right operand is a constant of such weights, and the left one becomes signed or has a zero point."""
    found = affine_factors(problem)
    if not found:
        return False
    weights = _weights(problem, found)
    magnitudes = problem.tensors[weights.access.tensor].magnitudes
    is_opposable = magnitudes is not None and magnitudes.largest <= LARGEST and weights.access.tensor in problem.constants
    has_kernel = bool(registry.for_machine(problem.machine, element_types=(SIGNED, SIGNED, "int32")))
    return is_opposable and has_kernel and needs_change(problem, found, (SIGNED, SIGNED))


def expand_signed(problem: Problem, builder: Builder) -> Tensor:
    """The product of signed bytes, their sums, and a map that puts them together."""
    return product_in_types(problem, builder, factors(problem.operator), (SIGNED, SIGNED))


def _weights(problem: Problem, found: tuple[Factor, ...]) -> Factor:
    return found[contraction_roles(plain_product(problem.operator, found)).right]


SIGNED_BYTES = Algorithm("signed bytes", Licence.EXACT, applies_to_signed, expand_signed)


def applies_to_windows(base: Algorithm, problem: Problem) -> bool:
    """Whether zero points or signs keep an algorithm from an operator that it could compute otherwise."""
    found = factors(problem.operator)
    if not are_bytes(problem, found):
        return False
    plain = _plain(problem, found)
    return needs_change(problem, found, _types(plain)) and base.applies(plain)


def expand_windows(base: Algorithm, problem: Problem, builder: Builder) -> Tensor:
    """Bytes of the types that micro kernels take, their sums by an algorithm, and a map that takes the zero points out."""
    found = factors(problem.operator)
    changed = in_types(problem, builder, found, _types(_plain(problem, found)))
    constants = {new.access.tensor for old, new in zip(found, changed, strict=True) if old.access.tensor in problem.constants}
    sums = builder.declare(Tensor(builder.unique("t"), problem.result.shape, "int32"))
    inner = _plain(problem, changed)
    operator = replace(inner.operator, write=replace(inner.operator.write, tensor=sums.name))
    inner = Problem(operator, builder.tensors, problem.constants | constants, problem.machine)
    return put_together(problem, builder, base.expand(inner, builder), changed)


def _plain(problem: Problem, found: Sequence[Factor]) -> Problem:
    """The operator without zero points."""
    return replace(problem, operator=plain_product(problem.operator, found))


def _types(plain: Problem) -> list[str]:
    """The element type of each factor: images are unsigned, filters signed."""
    roles = roles_of(plain, least_outputs=1)
    image = roles is None or roles.image == plain.operator.reads[0]
    return [LEFT, RIGHT] if image else [RIGHT, LEFT]


def _with_zero_points(base: Algorithm) -> Algorithm:
    offered, made = partial(applies_to_windows, base), partial(expand_windows, base)
    return Algorithm(f"zero points apart, {base.name}", Licence.EXACT, offered, made, base.reads_tiles)


PRODUCTS = (pointwise, im2col, windows_by_columns, shifted_rows, pixel_rows, pixels_of_bytes, filter_lanes)
BASES = (*(module.ALGORITHM for module in PRODUCTS), depthwise.MAP_OF_TAPS)
ALGORITHMS = (SIGNED_BYTES, *map(_with_zero_points, BASES))
