"""Products of bytes as products of 16-bit numbers: operands lose their zero points where they are copied, and sums need none.

A byte less its zero point is between -255 and 255, so that 16 bits hold it, whatever the values are: a kernel of such numbers
needs no proof, and takes no byte apart. It is faster than any other that is exact for all weights where a machine multiplies
pairs of 16-bit numbers but has no product of four bytes; operands take twice the memory.

Winograd F(2x2, 3x3) of bytes, exactly: 16 products of 16-bit numbers for four results, in place of 36.
With G taken twice, all matrices are of whole numbers, and results come out four times as large:

    data     V = B^T d B, of bytes less their zero point: within 4 * 255
    filters  U = (2G) w (2G)^T, of weights less theirs: within 9 * 255
    product  M = sum(c) U V, pairs by pairs, modulo 2^32
    result   y = (A^T M A) / 4

16 bits hold data and filters, and float32 all sums that they are made of. Sums of products may wrap on the way, as additions of
32 bits do not mind: all that counts is that four times a result, which is at most 9 * 255 * 255 for every channel, is within
2^31. Division by 4 is a shift then, and results are those of the operator, bit for bit. Zero points are one number each.
Source: A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks", CVPR 2016, section 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain

import numpy as np

from tilewright.graph.builders.builder import Builder
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.expressions.scalar import Literal, Load, Scalar, apply
from tilewright.graph.licences import Licence
from tilewright.graph.types import Access, Axis, Operator, Tensor
from tilewright.kernels import registry
from tilewright.machine.machine import Machine
from tilewright.plan.algorithms.convolution_gemm import FEW_CHANNELS, PIXELS_OF_BYTES, ConvolutionGemm
from tilewright.plan.algorithms.definition import Algorithm, Problem, expected
from tilewright.plan.algorithms.of_bytes.integer_product import LEFT, RIGHT, Factor, byte_factors, is_affine, without_zeros
from tilewright.plan.algorithms.padded_image import SlidingProduct, padded
from tilewright.plan.algorithms.product_roles import MOVED, Axes, Build, Change, each, number, plain, points, roles_of, shape_of
from tilewright.plan.algorithms.winograd.tiles import TAPS, Expansion, has_short_rows, square_windows
from tilewright.plan.algorithms.winograd.toom_cook import ToomCook, toom_cook
from tilewright.records import record

SHORT = "int16"


def short_factors(problem: Problem) -> tuple[Factor, ...]:
    """Both factors of a product of bytes whose zero points are one number each; none of another operator."""
    found = byte_factors(problem)
    have_one_zero = all(factor.zero is None or not factor.zero.axes() for factor in found)
    return found if found and have_one_zero and _gains(problem.machine) else ()


def _gains(machine: Machine) -> bool:
    """Whether a machine multiplies 16-bit numbers faster than bytes of which nothing is known."""
    return _share(machine, (SHORT, SHORT)) > _share(machine, (LEFT, RIGHT))


def _share(machine: Machine, types: tuple[str, str]) -> float:
    """Of the peak of 32-bit lanes that the best kernel for all operands of these types reaches; 0 without one."""
    kernels = registry.for_machine(machine, element_types=(*types, "int32"))
    exact = (kernel.machine_share(machine.vector_bits) for kernel in kernels if kernel.saturation is None)
    return max(exact, default=0.0)


def widening(factor: Factor, dtype: str = SHORT) -> Change:
    """The change of maps that copy a factor: they write its bytes less their zero point in a type. Float32 holds all of these."""
    zeros = () if factor.zero is None else (factor.zero,)
    body: Scalar = apply("subtract", Load(0), Load(1)) if zeros else Load(0)

    def change(build: Build) -> Build:
        def widened(*arguments: object, **options: object) -> tuple[Operator, Tensor]:
            operator, tensor = build(*arguments, **options)
            held = replace(tensor, dtype=dtype, magnitudes=None, entries=None)
            return replace(operator, reads=(*operator.reads, *zeros), body=body, accumulator="float32"), held

        return widened

    return change


def applies_to_windows(base: ConvolutionGemm, problem: Problem) -> bool:
    """Whether a convolution of bytes could be computed by an algorithm, but for zero points.

    Where rows of few channels can be runs of steps, runs of the channels of a pixel are not offered beside them: prices know
    neither how long a call with 3 steps takes, nor its last group, which is gathered.
    """
    found = short_factors(problem)
    if not found or not base.applies(plain := without_zeros(problem, found)):
        return False
    are_runs = FEW_CHANNELS.applies(plain) and image_and_filters(plain, found)[1].zero is None
    return are_runs == (base is FEW_CHANNELS)


def image_and_filters(plain: Problem, found: tuple[Factor, ...]) -> tuple[Factor, ...]:
    """The factors in this order. Weights of 0 that fill runs stay 0 where filters have no zero point."""
    roles = roles_of(plain)
    return found if roles is None or roles.image == found[0].access else found[::-1]


def expand_windows(base: ConvolutionGemm, problem: Problem, builder: Builder) -> Tensor:
    """The algorithm's operators, widened by the copies of the image and of the filters."""
    found = short_factors(problem)
    plain = without_zeros(problem, found)
    image, filters = image_and_filters(plain, found)
    return base.expand(plain, builder, widening(image), widening(filters))


def applies_to_matrices(problem: Problem) -> bool:
    """Whether all bytes of both operands are read, none of them padded, by affine indices."""
    found = short_factors(problem)
    return bool(found) and is_affine(without_zeros(problem, found))


def expand_matrices(problem: Problem, builder: Builder) -> Tensor:
    """The product of widened operands."""
    found = short_factors(problem)
    changed = [Factor(_widen(problem, builder, factor, SHORT), None) for factor in found]
    builder.operators.append(without_zeros(problem, changed).operator)
    return problem.result


def _widen(problem: Problem, builder: Builder, factor: Factor, dtype: str) -> Access:
    """The read of a factor's tensor, changed element by element."""
    tensor = problem.tensors[factor.access.tensor]
    axes = tuple(Axis(f"d{place}", extent) for place, extent in enumerate(tensor.shape))

    def build(*, name: str, result: str) -> tuple[Operator, Tensor]:
        operator = Operator(name, "widen", axes, (Access(tensor.name, plain(axes)),), Access(result, plain(axes)), Load(0))
        return operator, Tensor(result, tensor.shape, tensor.dtype)

    return replace(factor.access, tensor=builder.record(widening(factor, dtype)(build), kind="widen").name)


def _of_windows(by: ConvolutionGemm) -> Algorithm:
    return Algorithm(f"short integers, {by.name}", Licence.EXACT, partial(applies_to_windows, by), partial(expand_windows, by))


PRODUCTS = (
    *map(_of_windows, (PIXELS_OF_BYTES, FEW_CHANNELS)),
    Algorithm("short integers", Licence.EXACT, applies_to_matrices, expand_matrices),
)


OUTPUTS = 2
SUMS = "int32"
SHARE = 2
"""The binary logarithm of how much larger results come out."""
LARGEST_BYTE = 255
"""Of a byte less its zero point."""
MOST_CHANNELS = (2**31 - 1) // (4 * TAPS**2 * LARGEST_BYTE**2)
TYPES = {"uint8": (0, 255), "int8": (-128, 127)}


def applies(problem: Problem, *, tiles_in_rows: bool) -> bool:
    """Whether constant filters of 3 x 3 bytes move by one over channels of bytes, few enough for 32 bits, all of one group."""
    sliding = _windows(problem)
    if sliding is None or (tiles_in_rows and not has_short_rows(sliding)):
        return False
    roles, is_small = sliding.roles, points(sliding.summed_channels) <= MOST_CHANNELS
    guard, (least, most) = roles.image.guard, TYPES[problem.tensors[roles.image.tensor].dtype]
    meets_all = not roles.group and len(roles.filters) == 1 and roles.has_constant_filters
    return meets_all and is_small and (guard is None or least <= guard.otherwise <= most)


def _windows(problem: Problem) -> SlidingProduct | None:
    """The windows of a product of bytes, without its zero points."""
    found = short_factors(problem)
    return square_windows(without_zeros(problem, found)) if found else None


def expand(problem: Problem, builder: Builder, *, tiles_in_rows: bool) -> Tensor:
    """The transforms, the products, and every result in its place."""
    found = short_factors(problem)
    plain_problem = without_zeros(problem, found)
    sliding = expected(square_windows(plain_problem))
    image, filters = image_and_filters(plain_problem, found)
    expansion = _OfBytes(builder, sliding, _whole_matrices(), tiles_in_rows, MOVED, image, filters)
    data, weights = (_short(builder, tensor) for tensor in (expansion.data(), expansion.filters()))
    return expansion.in_place(expansion.results(expansion.products(data, weights, SUMS)))


def _whole_matrices() -> ToomCook:
    """Those of F(2, 3), with twice G."""
    found = toom_cook(OUTPUTS, TAPS)
    return replace(found, filter=tuple(tuple(2 * entry for entry in row) for row in found.filter))


def _short(builder: Builder, tensor: Tensor) -> Tensor:
    """Whole numbers in float32 as numbers of 16 bits."""
    return builder.body(Load(0), tensor, dtype=SHORT, accumulator="float32", kind="narrow")


@record
class _OfBytes(Expansion):
    """The parts of an expansion whose transforms are in float32."""

    image: Factor
    weights: Factor

    def _image(self, lengths: Sequence[int]) -> Tensor:
        return padded(self.builder, self.sliding, self.sliding.channels_last(lengths), widening(self.image, "float32"))

    def _weights(self) -> Access:
        return _widen(self.sliding.roles.problem, self.builder, self.weights, "float32")

    def results(self, products: Tensor) -> Tensor:
        """y[batch, row, column, filter], of three products along each dimension: rows of A^T are (1, s, 1) from entry a on."""
        roles, (ty, tx) = self.sliding.roles, self._tiles()
        a, b = (self._axis(name, OUTPUTS) for name in "ab")
        channels = (*roles.group, *roles.filters)
        around = (*each(roles.batch), (ty, a), (tx, b), *each(channels))
        place = plain((*roles.batch, ty, tx, *channels))
        taps = [(axis_index(a.name) + i, axis_index(b.name) + j) for i in range(TAPS) for j in range(TAPS)]
        reads = [Access(products.name, (*tap, *place)) for tap in taps]
        signs = self.builder.constant(np.array(_signs(self.matrices), np.int32), "signs")
        reads += [Access(signs.name, plain((axis,))) for axis in (a, b)]
        return self.builder.record(partial(_map, around, reads), kind="untransform")


def _signs(matrices: ToomCook) -> list[int]:
    """s of every row of A^T; all other entries are 1 or 0."""
    for row, entries in enumerate(matrices.output):
        others = [entry for place, entry in enumerate(entries) if place != row + 1]
        assert others == [Fraction(row <= place < row + TAPS) for place in range(len(entries)) if place != row + 1]
    return [int(entries[row + 1]) for row, entries in enumerate(matrices.output)]


def _map(dimensions: Sequence[Axes], reads: Sequence[Access], *, name: str, result: str) -> tuple[Operator, Tensor]:
    """A^T M A of the nine products that come first among the reads, by the signs of both dimensions that come last, over 4."""
    down, across = Load(TAPS**2), Load(TAPS**2 + 1)
    columns = [_row([Load(TAPS * i + j) for i in range(TAPS)], down) for j in range(TAPS)]
    body = apply("right_shift", _row(columns, across), Literal(float(SHARE)))
    axes, written = tuple(chain.from_iterable(dimensions)), Access(result, tuple(map(number, dimensions)))
    operator = Operator(name, "untransform", axes, tuple(reads), written, body, accumulator=SUMS)
    return operator, Tensor(result, shape_of(dimensions), SUMS)


def _row(entries: Sequence[Scalar], sign: Scalar) -> Scalar:
    """A row of A^T, (1, sign, 1), times three entries."""
    first, middle, last = entries
    return apply("add", apply("add", first, apply("multiply", sign, middle)), last)


def _algorithm(*, tiles_in_rows: bool) -> Algorithm:
    name = "Winograd F(2x2, 3x3) of short integers" + ", tiles in rows" * tiles_in_rows
    offered, made = partial(applies, tiles_in_rows=tiles_in_rows), partial(expand, tiles_in_rows=tiles_in_rows)
    return Algorithm(name, Licence.EXACT, offered, made, reads_tiles=True)


WINOGRAD = _algorithm(tiles_in_rows=False), _algorithm(tiles_in_rows=True)
ALGORITHMS = (*PRODUCTS, *WINOGRAD)
