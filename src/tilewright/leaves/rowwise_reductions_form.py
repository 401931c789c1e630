"""Row-wise reductions: which operators they are, NaN that survives without care, and their cost."""

from __future__ import annotations

from tilewright.arrays import Quantity, product
from tilewright.block.execution import Sums
from tilewright.block.leaf_binding import LeafBinding
from tilewright.coefficients import Coefficients
from tilewright.graph.expressions.scalar import Apply, Point, Scalar, State
from tilewright.graph.expressions.scalar_functions import FUNCTIONS
from tilewright.graph.moments import takes_moments
from tilewright.graph.types import Access, AxisKind, Operator, Reduction, StateVariable, planned_extent
from tilewright.leaves.declaration import CostProblem, Mismatch, Problem, Refusal
from tilewright.leaves.tile_programs.prices import cycles_of
from tilewright.leaves.tile_programs.rows.expressions import RowwiseReduction

NAME = "row-wise reductions"
LARGEST, LOSES_NAN = "largest", "loses NaN"
"""What a number of a binding says of the state that it counts."""


def match(problem: Problem) -> tuple[LeafBinding, ...] | Refusal:
    """Any reduction, whose states are told by their numbers."""
    reduction = problem.operator.reduction
    if reduction is None:
        return Refusal(NAME, Mismatch.OPERATION)
    states = tuple(enumerate(reduction.states))
    largest = ((LARGEST, n) for n, state in states if state.combine == "maximum" and state.contribution == Point())
    loses_nan = ((LOSES_NAN, n) for n, state in states if may_lose_nan(reduction, state))
    return (LeafBinding(NAME, numbers=(*largest, *loses_nan), element_type=problem.exact_type),)


def form_of(binding: LeafBinding, reduction: Reduction) -> RowwiseReduction:
    """The states of a binding."""

    def named(kind: str) -> frozenset[str]:
        return frozenset(reduction.states[int(number)].name for name, number in binding.numbers if name == kind)

    return RowwiseReduction(named(LARGEST), named(LOSES_NAN))


def seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """The functions of all points, in a pass for every state, or one for moments of long rows, and one to finish."""
    operator, reduction = problem.operator, problem.operator.reduction
    assert reduction is not None
    roots = [operator.body, *(state.contribution for state in reduction.states), reduction.finish]
    points = product(problem.sizes[axis.name] for axis in operator.axes)
    passes = 2 if takes_moments(operator, Sums().long_steps * problem.lanes) else 1 + len(reduction.states)
    computed = points * _lanes_per_point(operator, problem.lanes)
    scattered_s = computed * _scattered_cycles(operator, problem.coefficients) / problem.machine.frequency_hz
    if binding.element_type:
        cycles = sum(cycles_of(root, binding.element_type, problem.lanes) for root in roots)
        cycles += passes * problem.coefficients.pass_cycles_per_vector
        return computed / problem.lanes * cycles / problem.machine.frequency_hz + scattered_s
    return computed * (problem.seconds_per_element(roots, passes) + _collecting_seconds(problem)) + scattered_s


def _collecting_seconds(problem: CostProblem) -> float:
    """The time in which points are loaded by themselves, where neighbours of the result lie apart in an operand."""
    operator = problem.operator
    columns = operator.write.innermost()
    if columns is None:
        return 0.0
    apart = sum(columns in read.axes() and _lies_apart(operator, read, columns) for read in operator.reads)
    return apart * problem.coefficients.scalar_step_cycles / problem.machine.frequency_hz


def _lies_apart(operator: Operator, read: Access, columns: str) -> bool:
    """Whether neighbours along an axis are no neighbours in what is read.

    For other sums than products, only where neighbours along another axis of the result are.
    """
    if operator.is_product_sum():
        return read.innermost() != columns
    side_by_side = read.indices[-1].axes()
    return columns not in side_by_side and bool(side_by_side - {axis.name for axis in operator.reduction_axes()})


def _lanes_per_point(operator: Operator, lanes: int) -> float:
    """Lanes that walk the channels of a group take no more than these together, but all lanes of a vector."""
    lane = operator.write.innermost()
    beside = {name for index in operator.write.indices if lane in index.axes() for name in index.axes() - {lane}}
    kinds = {axis.name: axis.kind for axis in operator.axes}
    if lane is None or kinds[lane] is AxisKind.PARALLEL or all(kinds[name] is AxisKind.REDUCTION for name in beside):
        return 1.0
    together = planned_extent(operator.axis(lane).extent)
    return lanes * -(-together // lanes) / together


def _scattered_cycles(operator: Operator, coefficients: Coefficients) -> float:
    """Of a point that is written apart from its neighbours: lanes run along another axis of what is read, or collect it."""
    lane = operator.write.innermost()
    writes_points = {axis.name for axis in operator.reduction_axes()} <= operator.write.axes()
    is_apart = writes_points and any(read.innermost() not in (None, lane) for read in operator.reads[:1])
    return coefficients.scattered_point_cycles if is_apart else 0.0


def may_lose_nan(reduction: Reduction, state: StateVariable) -> bool:
    """Whether results are NaN where a contribution to this state is, whatever the state makes of it.

    So it is if a later state sums or multiplies something that is NaN where the contribution is, and the result is NaN where
    that state is: the exponentials of a softmax tell what its maximum has lost. A sum of points does not tell that a root of
    one of them is NaN.

    >>> from tilewright.graph.builders.norms import ROW_SOFTMAX
    >>> [may_lose_nan(ROW_SOFTMAX, state) for state in ROW_SOFTMAX.states]
    [True, False]
    """
    later = reduction.states[reduction.states.index(state) + 1 :]
    return any(
        part.combine in ("add", "multiply")
        and _strict_in(part.contribution, state.contribution)
        and _strict_in(reduction.finish, State(part.name))
        for part in later
    )


def _strict_in(scalar: Scalar, part: Scalar) -> bool:
    """Whether an expression is NaN wherever this part of it is."""
    if scalar == part:
        return True
    if not isinstance(scalar, Apply) or not FUNCTIONS[scalar.function].is_strict:
        return False
    return any(_strict_in(operand, part) for operand in scalar.operands)
