"""Tilewright on convolutions: the kernel that the prices choose, with and without fast algorithms, and single algorithms."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import tilewright as tw
from tilewright.api.kernel import Kernel
from tilewright.plan.algorithms.definition import Algorithm, Problem, applicable, registered
from tilewright.plan.reasons import OtherAlgorithm
from tilewright.plan.types import ModelPlan
from tilewright.plan.whole_model import algorithm_choice
from tilewright.precision import Precision
from tilewright.runtime import artifacts
from tilewright_bench.cases.case import aligned
from tilewright_bench.cases.conv import ConvCase
from tilewright_bench.measurement.contender import TILEWRIGHT, Contender, Peer

POINTWISE = ("as written", "pointwise", "exchanged roles")
"""Products of matrices: what filters of one tap are as they are written."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to plan convolutions: a precision, and the algorithms that the prices choose from (None: all)."""

    name: str
    precision: str = "float32"
    algorithms: tuple[str, ...] | None = None


VARIANTS = (
    Variant(TILEWRIGHT),
    Variant(f"{TILEWRIGHT} fast", "fast"),
    Variant(f"{TILEWRIGHT} sconv", algorithms=("windows by columns", "filter lanes", *POINTWISE)),
    Variant(f"{TILEWRIGHT} im2col", algorithms=("im2col", *POINTWISE)),
)
"""The default, `precision="fast"`, SConv's direct and pointwise algorithms, and im2col with our micro kernels."""


def prepare(case: ConvCase, threads: int) -> Iterator[Contender]:
    """The kernels that `tw.jit` makes; a variant of the same text as another before it takes no turns of its own."""
    yield from contenders(case, VARIANTS, threads)


def prepare_each(case: ConvCase, threads: int) -> Iterator[Contender]:
    """The same, and a kernel by every algorithm that applies."""
    alone = (Variant(f"{TILEWRIGHT} {algorithm.name}", str(Precision.FAST), (algorithm.name,)) for algorithm in registered())
    yield from contenders(case, tuple({variant.name: variant for variant in (*alone, *VARIANTS)}.values()), threads)


def contenders(case: ConvCase, variants: Sequence[Variant], threads: int) -> Iterator[Contender]:
    """Variants with the algorithm of each as a note, those that every table has first."""
    texts = set[str]()
    for variant in sorted(variants, key=lambda variant: VARIANTS.index(variant) if variant in VARIANTS else len(VARIANTS)):
        kernel, algorithm = compiled(case, variant, threads)
        if kernel.source not in texts:
            texts.add(kernel.source)
            yield _contender(case, variant.name, kernel, algorithm)


def compiled(case: ConvCase, variant: Variant, threads: int) -> tuple[Kernel, str]:
    """The kernel of a variant, planned anew, and the algorithm that computes the convolution."""
    with offering(variant.algorithms) as names, artifacts.ignored():
        lowered = tw.jit(_function(case), threads=threads, precision=variant.precision).lower(case.image)
        algorithm = winner(lowered.model_plan) or names[0]
        return lowered.compile(), algorithm


def _function(case: ConvCase) -> Callable[[Any], Any]:
    """Arrays that a jitted function closes over are constants of its kernel."""
    shape = case.shape
    convolution = getattr(tw, f"conv{len(shape.image)}d")

    def convolve(image: Any) -> Any:
        return convolution(
            image, case.filters, stride=shape.stride, padding=shape.padding, dilation=shape.dilation, groups=shape.groups
        )

    return convolve


def _contender(case: ConvCase, name: str, kernel: Kernel, algorithm: str) -> Contender:
    out = aligned(case.result_shape)
    return Contender(name, lambda: kernel(case.image, out=out), lambda: out, note=algorithm)


@contextmanager
def offering(names: Collection[str] | None) -> Iterator[list[str]]:
    """Inside, planning knows these algorithms alone of an operator that they apply to; yields those of products, as they come."""
    met: list[str] = []

    def offered(problem: Problem, precision: Precision) -> tuple[Algorithm, ...]:
        found = applicable(problem, precision)
        kept = tuple(algorithm for algorithm in found if names is None or algorithm.name in names) or found
        met.extend(algorithm.name for algorithm in kept if problem.operator.is_product_sum())
        return kept

    with patch.object(algorithm_choice, "applicable", offered):
        yield met


def winner(model_plan: ModelPlan) -> str:
    """The algorithm that others lost to; empty where there was no other."""
    lost = (
        rejected for plan in model_plan.plans for rejected in plan.rejected if isinstance(rejected.alternative, OtherAlgorithm)
    )
    return next((rejected.reason.beside for rejected in lost), "")


PEER = Peer(
    TILEWRIGHT,
    (),
    prepare,
    'NCHW in and out; by default, by precision="fast", by SConv\'s direct and pointwise algorithms, and by im2col',
    prepacked_note="filters are a NumPy array that the jitted function closes over, packed or transformed when it is compiled",
    may_fail=False,
)
EACH = replace(PEER, prepare=prepare_each)
"""With a kernel by every algorithm."""
