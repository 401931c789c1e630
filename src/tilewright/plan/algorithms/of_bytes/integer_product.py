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

from collections.abc import Callable, Sequence
from dataclasses import replace

from tilewright.graph.builders.builder import Builder
from tilewright.graph.builders.zero_points import centred_reads
from tilewright.graph.contraction_roles import contraction_roles
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Scalar, apply
from tilewright.graph.licences import Licence
from tilewright.graph.types import PRODUCT, SUM, Access, AxisKind, Operator, Tensor
from tilewright.kernels import registry
from tilewright.plan.algorithms.as_written import AS_WRITTEN
from tilewright.plan.algorithms.convolution_gemm import OF_INTEGERS
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.depthwise import MAP_OF_TAPS
from tilewright.plan.algorithms.product_roles import extents, parallel, plain, points, roles_of
from tilewright.records import record

LEFT, RIGHT = "uint8", "int8"
"""What the micro kernel multiplies."""
SHIFTS = {LEFT: 128, RIGHT: -128}
"""What makes each of the other type, added to an element and to its zero point."""
LARGEST = 127
"""Of |weight| in a type that has the opposite of each."""


@record
class Factor:
    """An operand of a product: its bytes, and what is subtracted from them: an element and a number, if it is not 0."""

    access: Access
    zero: Access | None
    shift: int = 0


@record
class Compensation:
    """An algorithm for products of bytes by one for products without zero points, of bytes of certain types."""

    base: Algorithm
    fits: Callable[[Problem], bool]
    """Whether the product without zero points can be computed so."""
    types: Callable[[Problem], list[str]]
    """The element types that the factors of such a product have in the micro kernel."""

    def applies(self, problem: Problem) -> bool:
        """Whether zero points or signs keep the other algorithm from an operator that it could compute otherwise."""
        if not (found := byte_factors(problem)):
            return False
        plain = without_zeros(problem, found)
        return self.fits(plain) and (problem.operator.body != PRODUCT or types_of(plain) != self.types(plain))

    def expand(self, problem: Problem, builder: Builder) -> Tensor:
        """Bytes of the types that micro kernels take, their sums, and a map that takes the zero points out."""
        found = byte_factors(problem)
        types = self.types(without_zeros(problem, found))
        changed = [of_type(problem, builder, factor, dtype) for factor, dtype in zip(found, types, strict=True)]
        constants = {new.access.tensor for old, new in zip(found, changed, strict=True) if old.access.tensor in problem.constants}
        sums = builder.declare(Tensor(builder.unique("t"), problem.result.shape, "int32"))
        operator = without_zeros(problem, changed).operator
        operator = replace(operator, write=replace(operator.write, tensor=sums.name))
        inner = Problem(operator, builder.tensors, problem.constants | constants, problem.machine)
        return put_together(problem, builder, self.base.expand(inner, builder), changed)


def without_zeros(problem: Problem, found: Sequence[Factor]) -> Problem:
    """The product of the factors as they are."""
    reads = tuple(factor.access for factor in found)
    return replace(problem, operator=replace(problem.operator, reads=reads, body=PRODUCT))


def types_of(plain: Problem) -> list[str]:
    """The element type of each factor."""
    return [plain.operand(read).dtype for read in (0, 1)]


def byte_factors(problem: Problem) -> tuple[Factor, ...]:
    """The two operands that an operator sums the products of in int32: bytes that every step reads, less zero points that are the
    same at all of them. None if it computes something else."""
    operator, parts = problem.operator, problem.operator.body.operands if isinstance(problem.operator.body, Apply) else ()
    found = [factor for part in parts if (factor := _factor(operator, part)) is not None]
    steps = frozenset(axis.name for axis in operator.reduction_axes())
    zeros = [factor.zero for factor in found if factor.zero is not None]
    are_bytes = (
        operator.sums_products()
        and len(found) == 2
        and {operator.accumulator, problem.result.dtype} == {"int32"}
        and all(problem.tensors[factor.access.tensor].dtype in SHIFTS and steps <= factor.access.axes() for factor in found)
        and all(zero.is_affine() and steps.isdisjoint(zero.axes()) for zero in zeros)
        and all(isinstance(axis.extent, int) for axis in operator.reduction_axes())
    )
    return tuple(found) if are_bytes else ()


def _factor(operator: Operator, part: Scalar) -> Factor | None:
    found = centred_reads(part)
    if found is None:
        return None
    read, zero = found
    return Factor(operator.reads[read], None if zero is None else operator.reads[zero])


def of_type(problem: Problem, builder: Builder, factor: Factor, dtype: str) -> Factor:
    """A factor as bytes of this type."""
    tensor = problem.tensors[factor.access.tensor]
    if tensor.dtype == dtype:
        return factor
    shift = SHIFTS[dtype]
    shifted = builder.body(apply("add", Load(0), Literal(float(shift))), tensor, dtype=dtype, kind="change_sign")
    guard = factor.access.guard and replace(factor.access.guard, otherwise=factor.access.guard.otherwise + shift)
    return Factor(replace(factor.access, tensor=shifted.name, guard=guard), factor.zero, shift)


def put_together(problem: Problem, builder: Builder, products: Tensor, changed: Sequence[Factor]) -> Tensor:
    """The products less what zero points add to them: for each centred factor its zero point times the total of the other."""
    operator, pairs = problem.operator, zip(changed, changed[::-1], strict=True)
    terms = [(factor, _total(problem, builder, other)) for factor, other in pairs if factor.zero is not None or factor.shift]
    if not terms:
        return products
    reads = [replace(operator.write, tensor=products.name)]
    zeros = [_zero(factor, reads) for factor, _ in terms]
    value: Scalar = Load(0)
    for zero, (_, total) in zip(zeros, terms, strict=True):
        value = apply("subtract", value, apply("multiply", zero, _load(total, reads)))
    if len(zeros) == 2:
        steps = Literal(float(points(operator.reduction_axes())))
        value = apply("add", value, apply("multiply", steps, apply("multiply", *zeros)))

    def build(*, name: str, result: str) -> tuple[Operator, Tensor]:
        axes = parallel(axis for axis in operator.axes if axis.kind is AxisKind.PARALLEL)
        write = replace(operator.write, tensor=result)
        made = Operator(name, "zero_points", axes, tuple(reads), write, value, accumulator="int32")
        return made, Tensor(result, problem.result.shape, "int32")

    return builder.record(build, kind="zero_points")


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
    operator, used = problem.operator, factor.access.axes()
    kept = tuple(axis for axis in operator.axes if axis.kind is AxisKind.PARALLEL and axis.name in used)

    def build(*, name: str, result: str) -> tuple[Operator, Tensor]:
        axes, write = (*kept, *operator.reduction_axes()), Access(result, plain(kept))
        summed = Operator(name, "sum", axes, (factor.access,), write, Load(0), SUM, "int32")
        return summed, Tensor(result, extents(kept), "int32")

    return Access(builder.record(build, kind="total").name, plain(kept))


def is_affine(plain: Problem) -> bool:
    """Whether operands are read by affine indices, none of them padded."""
    return all(access.is_affine() for access in (*plain.operator.reads, plain.operator.write))


def _by_role(plain: Problem) -> list[str]:
    """The types as they are where they are a signed and an unsigned one, for which there are kernels in both orders, else those
    of the roles in the micro kernel."""
    types, left = types_of(plain), contraction_roles(plain.operator).left
    return types if {*types} == {LEFT, RIGHT} else [LEFT if read == left else RIGHT for read in (0, 1)]


def _has_opposable_weights(plain: Problem) -> bool:
    """Whether the right operand is a constant of weights that have an opposite in 8 bits, for a micro kernel of signed bytes."""
    if not is_affine(plain):
        return False
    right = contraction_roles(plain.operator).right
    magnitudes = plain.operand(right).magnitudes
    has_kernel = bool(registry.for_machine(plain.machine, element_types=(RIGHT, RIGHT, "int32")))
    return has_kernel and plain.is_constant(right) and magnitudes is not None and magnitudes.largest <= LARGEST


def _of_image_and_filters(plain: Problem) -> list[str]:
    """Images are unsigned, filters signed."""
    roles = roles_of(plain, least_outputs=1)
    return [LEFT, RIGHT] if roles is None or roles.image == plain.operator.reads[0] else [RIGHT, LEFT]


def _algorithm(name: str, found: Compensation) -> Algorithm:
    return Algorithm(name, Licence.EXACT, found.applies, found.expand)


BASES = (*(variant.algorithm() for variant in OF_INTEGERS), MAP_OF_TAPS)
PRODUCT_OF_BYTES = _algorithm("zero points apart", Compensation(AS_WRITTEN, is_affine, _by_role))
ALGORITHMS = (
    PRODUCT_OF_BYTES,
    _algorithm("signed bytes", Compensation(AS_WRITTEN, _has_opposable_weights, lambda _: [RIGHT, RIGHT])),
    *(_algorithm(f"zero points apart, {base.name}", Compensation(base, base.applies, _of_image_and_filters)) for base in BASES),
)
