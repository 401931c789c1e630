"""Semantic verification: every rewrite and the compiled kernel against the NumPy interpreter (TILEWRIGHT_VERIFY=1).

A graph is shrunk, the rewrites run on it one by one, and after each of them the interpreter computes the outputs in float64.
Then the shrunken graph is planned, compiled and run. The first stage whose results differ is named.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tilewright import compiler
from tilewright.artifact import Artifact
from tilewright.backends import loading
from tilewright.backends.registry import for_machine
from tilewright.errors import InternalError, TilewrightError
from tilewright.graph.expressions.extents import dimensions_of, least_extent, value_of
from tilewright.graph.interpreter import SumError, accumulating_type, evaluate
from tilewright.graph.numpy_types import is_short_float
from tilewright.graph.printer import to_text
from tilewright.graph.shrinking import points, shrunken
from tilewright.graph.types import Graph, Operator, Tensor
from tilewright.lower.program import BlockProgram, verify_program
from tilewright.machine import Machine
from tilewright.plan.decisions.long_sums import additions
from tilewright.plan.types import ModelPlan
from tilewright.precision import Precision
from tilewright.records import record

MOST_POINTS = 1 << 20
"""Points of a shrunken graph, so that its interpretation takes seconds at most."""
MOST_POINTS_CHECKED = 1 << 25
"""Graphs that stay larger than this when shrunken are not verified."""
SMALL_EXTENT = 5
"""For extents that are known at run time, where their range allows it."""
ROUNDING = 1e-6
"""Relative to the largest element: a rewrite may round constants to float32 and reorder sums."""
AMPLIFICATION = 64.0
"""Times the error of the interpreter in float32: generated code sums and divides in another order."""
SUM_ROUNDING = 2.0
"""Times the standard deviation of a sum's error, of which `_sum_errors` gives an upper estimate."""
SHORT_ROUNDING = 0.02
"""In place of ROUNDING where graphs store numbers shorter than float32 on their way."""

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_log = logging.getLogger("tilewright.plan")


@record
class Expected:
    """An output of the graph as it was given: in float64, and in its types."""

    exact: Array
    rounded: Array
    tolerance: float

    def difference(self, actual: Array) -> float:
        """The largest deviation beyond the tolerance; 0 where there is none. NaN and infinities must be where they are expected.

        An element that equals the expected result of either precision passes: comparisons and roundings may fall on either side.
        """
        if actual.shape != self.exact.shape:
            return float("inf")
        largest = float(np.minimum(_deviation(actual, self.exact), _deviation(actual, self.rounded)).max(initial=0.0))
        return largest if largest > self.tolerance else 0.0


def _deviation(actual: Array, expected: Array) -> Array:
    """Of every element; infinite where just one is NaN."""
    left, right = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        deviation = np.where((left == right) | (np.isnan(left) & np.isnan(right)), 0.0, np.abs(left - right))
    return np.where(np.isnan(deviation), np.inf, deviation)


def verify_results(
    graph: Graph,
    machine: Machine,
    *,
    fuse: bool | None = None,
    precision: Precision = Precision.FLOAT32,
    threads: int | None = None,
    runner: str = "",
) -> None:
    """Raise `InternalError`, with the shrunken graph as dump, naming the first stage that changes results.

    Graphs that cannot be shrunk below MOST_POINTS_CHECKED points are passed over, and so are those that refuse every input that
    is tried here (positions computed by the graph may be out of range): both are logged under `plan`.
    """
    small = shrunken(graph, MOST_POINTS)
    if points(small) > MOST_POINTS_CHECKED:
        _log.info("%s: not verified, %d points", graph.name, points(small))
        return
    found = _instance(small)
    if found is None:
        _log.info("%s: not verified, no inputs that it takes", graph.name)
        return
    inputs, expected = found
    for stage, results in _stages(small, inputs, machine, fuse, precision, threads, runner):
        for name, wanted, actual in zip(small.outputs, expected, results, strict=True):
            if difference := wanted.difference(actual):
                raise InternalError(
                    f"{graph.name}: {stage} changes the result {name!r} by {difference:.3g}, allowed {wanted.tolerance:.3g}",
                    dump=to_text(small),
                )


def _stages(
    graph: Graph,
    inputs: Mapping[str, Array],
    machine: Machine,
    fuse: bool | None,
    precision: Precision,
    threads: int | None,
    runner: str,
) -> Iterator[tuple[str, Sequence[Array]]]:
    """The name of every stage and the outputs after it."""
    changed = graph
    for name, change in _changes(machine, fuse, precision):
        before, changed = changed, change(changed)
        if changed is not before and changed != before:
            yield name, _outputs(changed, inputs, "float64")
    model_plan = compiler.plan(graph, machine, fuse=fuse, precision=precision)
    yield "code generation", _run(graph, inputs, model_plan, threads, runner)


def _changes(machine: Machine, fuse: bool | None, precision: Precision) -> Iterator[tuple[str, Callable[[Graph], Graph]]]:
    """Everything that changes a graph before it is planned."""
    yield from ((f"the rewrite {rewrite.name}", rewrite.run) for rewrite in compiler.REWRITES)
    yield "the choice of algorithms", lambda graph: compiler.choose(graph, machine, fuse=fuse, precision=precision).graph
    yield from ((f"the rewrite {rewrite.name}", rewrite.run) for rewrite in compiler.PLANNING_FORMS)


def _outputs(graph: Graph, inputs: Mapping[str, Array], dtype: str | None, sum_error: SumError | None = None) -> list[Array]:
    values = evaluate(graph, inputs, dtype=dtype, sum_error=sum_error)
    return [np.asarray(values[name]) for name in graph.outputs]


def _run(graph: Graph, inputs: Mapping[str, Array], model_plan: ModelPlan, threads: int | None, runner: str) -> Sequence[Array]:
    program = for_machine(model_plan.machine).lower(model_plan)
    if isinstance(program, BlockProgram):
        verify_program(program)
    artifact, machine = compiler.generate(model_plan), model_plan.machine

    def strict() -> Artifact:
        told = loading.in_range(graph, lambda one: compiler.generate(compiler.plan(one, machine, precision=Precision.STRICT)))
        return told[1]

    executable, constants = loading.load(artifact, graph, machine, threads=threads, strict=strict, runner=runner)
    arguments = [*(inputs[name] for name in graph.inputs), *constants]
    outputs = executable.new_outputs(arguments)
    executable.run(arguments, outputs)
    return outputs


def _instance(graph: Graph) -> tuple[dict[str, Array], list[Expected]] | None:
    """Inputs and what they give: those of the first kind that gives no NaN, else of the kind that gives fewest."""
    best: tuple[dict[str, Array], list[Expected]] | None = None
    fewest = float("inf")
    for kind in ("normal", "positive", "zero"):
        inputs = _inputs(graph, kind)
        try:
            expected = expected_results(graph, inputs)
        except (TilewrightError, IndexError):
            continue
        undefined = sum(int((~np.isfinite(output.exact.astype(np.float64))).sum()) for output in expected)
        if undefined < fewest:
            best, fewest = (inputs, expected), undefined
        if not undefined:
            break
    return best


def expected_results(graph: Graph, inputs: Mapping[str, Array]) -> list[Expected]:
    """What every output may be, given these inputs."""
    relative = SHORT_ROUNDING if any(is_short_float(tensor.dtype) for tensor in graph.tensors) else ROUNDING
    exact, rounded = _outputs(graph, inputs, "float64"), _outputs(graph, inputs, None)
    disturbed = _outputs(graph, inputs, "float64", _sum_errors())
    each = zip(exact, rounded, disturbed, strict=True)
    return [Expected(a, b, relative * _largest(a) + AMPLIFICATION * _distance(a, b) + _distance(a, c)) for a, b, c in each]


def _sum_errors() -> SumError:
    """Errors of either sign as a blocked sum in the operator's type makes them.

    Every addition rounds the partial sum that it makes, by less than u times that sum, u being the unit roundoff; a sum is wrong
    by all of these roundings together, which are as good as independent (Higham and Mary 2019, A New Approach to Probabilistic
    Rounding Error Analysis). The squares of the partial sums of terms t in random order add up to less than
    additions * (sum(t^2) + sum(t)^2), where `additions` are those that a term goes through.
    """
    random = np.random.default_rng(0)

    def sum_error(operator: Operator, terms: int, total: Array, norm: Array) -> Array:
        unit_roundoff = float(np.finfo(accumulating_type(operator)).eps) / 2
        deviation = unit_roundoff * math.sqrt(additions(terms)) * np.hypot(norm, total)
        return np.asarray(random.choice([-SUM_ROUNDING, SUM_ROUNDING], total.shape) * deviation)

    return sum_error


def _largest(array: Array) -> float:
    values = np.abs(array.astype(np.float64))
    return float(values[np.isfinite(values)].max(initial=0.0))


def _distance(left: Array, right: Array) -> float:
    """The largest difference of elements; those that are no finite numbers do not count."""
    with np.errstate(all="ignore"):
        return _largest(left.astype(np.float64) - right.astype(np.float64))


def _inputs(graph: Graph, kind: str) -> dict[str, Array]:
    random = np.random.default_rng(0)
    symbols = _symbols(graph)
    tensors = [graph.tensor(name) for name in graph.inputs]
    return {tensor.name: _values(tensor, symbols, random, kind, _most(graph)) for tensor in tensors}


def _values(tensor: Tensor, symbols: Mapping[str, int], random: np.random.Generator, kind: str, most: int) -> Array:
    shape = [value_of(extent, symbols) for extent in tensor.shape]
    dtype = np.dtype(tensor.dtype)
    if kind == "zero":
        return np.zeros(shape, dtype)
    if dtype.kind in "biu":
        return random.integers(0, 2 if dtype.kind == "b" else most, shape).astype(dtype)
    values = random.standard_normal(shape) if kind == "normal" else random.uniform(0.25, 1.0, shape)
    return values.astype(dtype)


def _most(graph: Graph) -> int:
    """Integers below this are positions in every dimension that is looked up."""
    reads = [access for operator in graph.operators for access in operator.reads]
    extents = [graph.tensor(access.tensor).shape[dimension] for access in reads for dimension, _ in access.lookups]
    return max(1, min([8, *map(least_extent, extents)]))


def _symbols(graph: Graph) -> dict[str, int]:
    """A small value for every extent that is known at run time."""
    dimensions = dimensions_of(extent for tensor in graph.tensors for extent in tensor.shape)
    return {name: min(max(symbol.low, SMALL_EXTENT), symbol.high) for name, symbol in dimensions.items()}
