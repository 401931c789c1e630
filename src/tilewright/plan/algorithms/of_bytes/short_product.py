"""Products of bytes as products of 16-bit numbers: operands lose their zero points where they are copied, and sums need none.

A byte less its zero point is between -255 and 255, so that 16 bits hold it, whatever the values are: a kernel of such numbers
needs no proof, and takes no byte apart. It is faster than any other that is exact for all weights where a machine multiplies
pairs of 16-bit numbers but has no product of four bytes; operands take twice the memory.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Protocol

from tilewright.graph.builders.builder import Builder
from tilewright.graph.index import axis as axis_index
from tilewright.graph.licences import Licence
from tilewright.graph.scalar import Load, Scalar, apply
from tilewright.graph.types import Access, Axis, Operator, Tensor
from tilewright.kernels import registry
from tilewright.machine.machine import Machine
from tilewright.plan.algorithms import few_channels, pixels_of_bytes
from tilewright.plan.algorithms.definition import Algorithm, Problem
from tilewright.plan.algorithms.of_bytes.integer_product import LEFT, RIGHT, Factor, are_bytes, factors, plain_product, product_of
from tilewright.plan.algorithms.product_roles import Build, Change, roles_of

SHORT = "int16"


class Base(Protocol):
    """An algorithm for convolutions of bytes whose copies may change elements: a file of this folder."""

    ALGORITHM: Algorithm

    def applies(self, problem: Problem, /) -> bool: ...
    def expand_changed(self, problem: Problem, builder: Builder, of_image: Change, of_filters: Change, /) -> Tensor: ...


def short_factors(problem: Problem) -> tuple[Factor, ...]:
    """Both factors of a product of bytes whose zero points are one number each; none of another operator."""
    found = factors(problem.operator)
    is_usable = are_bytes(problem, found) and all(factor.zero is None or not factor.zero.axes() for factor in found)
    return found if is_usable and _gains(problem.machine) else ()


def _gains(machine: Machine) -> bool:
    """Whether a machine multiplies 16-bit numbers faster than bytes of which nothing is known."""
    return _share(machine, (SHORT, SHORT)) > _share(machine, (LEFT, RIGHT))


def _share(machine: Machine, types: tuple[str, str]) -> float:
    """Of the peak of 32-bit lanes that the best kernel for all operands of these types reaches; 0 without one."""
    kernels = registry.for_machine(machine, element_types=(*types, "int32"))
    exact = (kernel.machine_share(machine.vector_bits) for kernel in kernels if kernel.saturation is None)
    return max(exact, default=0.0)


def without_zeros(problem: Problem, found: tuple[Factor, ...]) -> Problem:
    return replace(problem, operator=plain_product(problem.operator, found))


def _widened(operator: Operator, tensor: Tensor, zero: Access | None, dtype: str) -> tuple[Operator, Tensor]:
    """A map that moves bytes as one that writes them less their zero point in a type; float32 holds all of these."""
    body: Scalar = Load(0) if zero is None else apply("subtract", Load(0), Load(1))
    reads = (*operator.reads, *([] if zero is None else [zero]))
    held = replace(tensor, dtype=dtype, magnitudes=None, entries=None)
    return replace(operator, reads=reads, body=body, accumulator="float32"), held


def widening(factor: Factor, dtype: str = SHORT) -> Change:
    """The change of maps that copy a factor, to elements of a type."""

    def change(build: Build) -> Build:
        return lambda *arguments, **options: _widened(*build(*arguments, **options), factor.zero, dtype)

    return change


def applies_to_windows(base: Base, problem: Problem) -> bool:
    """Whether a convolution of bytes could be computed by an algorithm, but for zero points.

    Where rows of few channels can be runs of steps, runs of the channels of a pixel are not offered beside them: prices know
    neither how long a call with 3 steps takes, nor its last group, which is gathered.
    """
    found = short_factors(problem)
    if not found or not base.applies(plain := without_zeros(problem, found)):
        return False
    are_runs = few_channels.applies(plain) and image_and_filters(plain, found)[1].zero is None
    return are_runs == (base is few_channels)


def image_and_filters(plain: Problem, found: tuple[Factor, ...]) -> tuple[Factor, ...]:
    """The factors in this order. Weights of 0 that fill runs stay 0 where filters have no zero point."""
    roles = roles_of(plain)
    return found if roles is None or roles.image == found[0].access else found[::-1]


def expand_windows(base: Base, problem: Problem, builder: Builder) -> Tensor:
    """The algorithm's operators, widened by the copies of the image and of the filters."""
    found = short_factors(problem)
    plain = without_zeros(problem, found)
    image, filters = image_and_filters(plain, found)
    return base.expand_changed(plain, builder, widening(image), widening(filters))


def applies_to_matrices(problem: Problem) -> bool:
    """Whether all bytes of both operands are read, none of them padded, by affine indices."""
    found = short_factors(problem)
    accesses = [*(factor.access for factor in found), problem.operator.write]
    return bool(found) and all(access.guard is None and access.is_affine() for access in accesses)


def expand_matrices(problem: Problem, builder: Builder) -> Tensor:
    """The product of widened operands."""
    found = short_factors(problem)
    wide = [builder.record(widening(factor)(copied), problem, factor, kind="widen") for factor in found]
    accesses = [replace(factor.access, tensor=tensor.name) for factor, tensor in zip(found, wide, strict=True)]
    return builder.record(product_of, problem, [Factor(access, None) for access in accesses], kind=problem.operator.kind)


def copied(problem: Problem, factor: Factor, *, name: str, result: str) -> tuple[Operator, Tensor]:
    """A factor's tensor, element by element."""
    tensor = problem.tensors[factor.access.tensor]
    axes = tuple(Axis(f"d{place}", extent) for place, extent in enumerate(tensor.shape))
    indices = tuple(axis_index(axis.name) for axis in axes)
    operator = Operator(name, "widen", axes, (Access(tensor.name, indices),), Access(result, indices), Load(0))
    return operator, Tensor(result, tensor.shape, tensor.dtype)


def _of_windows(base: Base) -> Algorithm:
    applies, expand = partial(applies_to_windows, base), partial(expand_windows, base)
    return Algorithm(f"short integers, {base.ALGORITHM.name}", Licence.EXACT, applies, expand)


ALGORITHMS = (
    *map(_of_windows, (pixels_of_bytes, few_channels)),
    Algorithm("short integers", Licence.EXACT, applies_to_matrices, expand_matrices),
)
