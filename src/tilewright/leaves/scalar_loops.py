"""Scalar loops: reductions of other types than float32, point by point in plain C loops of one element type.

Of a sum of integers, the middle of the innermost loop is computed in vectors, and the rest point by point. Lanes are
unsigned in C, where sums, differences and products wrap, as those of int32 do in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cache
from math import isinf, isnan
from typing import TypeAlias

from tilewright.arrays import Quantity, product
from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.memory import Gather, View
from tilewright.block.statements import VectorLoops
from tilewright.c_text import names
from tilewright.c_text.integer_expressions import to_c
from tilewright.c_text.lookups import index_text, lookups, place_of, position_texts
from tilewright.c_text.scalar_expressions import NATURALS, multiply_add, natural_text, summed_product
from tilewright.c_text.statements import BLOCK, Lines, PointStatements, braced, emptied_at_end, in_blocks, indent, loop
from tilewright.errors import InternalError
from tilewright.graph.exactness import sums_in_integer_lanes
from tilewright.graph.expressions.scalar import Apply, AxisValue, Literal, Load, Parameter, Point, Scalar, State, subexpressions
from tilewright.graph.expressions.scalar_functions import FUNCTIONS, REPORT_NOT_FINITE
from tilewright.graph.types import Reduction, StateVariable
from tilewright.kernels.element_access import C_TYPES, HALVES, whole_numbers
from tilewright.kernels.functions.compensated_sums import compensated_sum
from tilewright.kernels.functions.scalar_functions import WHOLE_FUNCTIONS, element_memory, scalar_functions
from tilewright.kernels.helpers import Helper, filled
from tilewright.leaves.declaration import GENERAL, Constraints, CostProblem, Leaf, Lowered, Mismatch, Problem, Refusal

ACCESS = """\
TW_INLINE tw_naturals tw_load_naturals_@NAME@(const @TYPE@ *p) { return (tw_naturals)tw_load_whole_@NAME@(p); }
"""
FOLD = Helper(
    "tw_fold_naturals",
    """\
TW_INLINE int tw_fold_naturals(tw_naturals v) {
  unsigned sum = 0;
  for (long i = 0; i < TW_LANES; i++)
    sum += v[i];
  return (int)sum;
}
""",
    (NATURALS,),
)
"""The sum of all lanes, which wraps."""


def sums_in_vectors(loops: VectorLoops, reduced: Collection[str]) -> bool:
    """Whether a sum of integers is taken in vectors along the innermost axis that is summed."""
    types = [operand.dtype for operand in loops.reads]
    if loops.vector_axis not in reduced or not sums_in_integer_lanes(loops.operator, types):
        return False
    strides = [operand.stride(loops.vector_axis) for operand in loops.reads if isinstance(operand, View)]
    return len(strides) == len(loops.reads) and set(strides) <= {0, 1}


def vector_loads(loops: VectorLoops, address: Callable[[View], str]) -> Lines:
    """The operands of TW_LANES points, at the addresses of the first of them."""
    return [f"const tw_naturals vector_{read} = {_load(loops, read, address)};" for read in range(len(loops.reads))]


def vector_value(loops: VectorLoops) -> str:
    """What is computed of these."""
    return natural_text(loops.operator.body, "vector_{}".format)


def in_vectors(index: str, size: str, vectors: Lines, point: Lines) -> Lines:
    """A loop over whole vectors, and one over the points that are left."""
    whole = braced(f"for (; {index} + TW_LANES <= {size}; {index} += TW_LANES)", vectors)
    rest = braced(f"for (; {index} < {size}; {index}++)", point)
    return ["{", *indent([f"long {index} = 0;", *whole, *rest]), "}"]


def integer_helpers(loops: VectorLoops) -> list[Helper]:
    """The helpers that these lines call."""
    reduced = {axis.name for axis in loops.operator.reduction_axes()}
    return [FOLD, *(_access(operand.dtype) for operand in loops.reads)] if sums_in_vectors(loops, reduced) else []


@cache
def _access(dtype: str) -> Helper:
    text = filled(ACCESS, {"NAME": dtype, "TYPE": C_TYPES[dtype]})
    return Helper(f"tw_naturals_{dtype}", text, (NATURALS, whole_numbers(dtype)))


def _load(loops: VectorLoops, read: int, address: Callable[[View], str]) -> str:
    operand = loops.view(read)
    is_splat = operand.stride(loops.vector_axis) == 0
    element = f"tw_get_{operand.dtype}({address(operand)})"
    return f"tw_splat_natural({element})" if is_splat else f"tw_load_naturals_{operand.dtype}({address(operand)})"


REAL, WHOLE, TRUTH = "float64", "whole", "truth"
Typed: TypeAlias = tuple[str, str]
"""C text, and what it is: a double, a number of the accumulator's type that is none, or 0 or 1."""
CONNECTIVES = {"logical_and": "({} && {})", "logical_or": "({} || {})", "logical_xor": "({} != {})", "logical_not": "(!{})"}
FLOATS = frozenset(("float32", "float64")) | HALVES


class _Emitter(PointStatements):
    def helpers(self) -> list[Helper]:
        """The helpers that these lines call."""
        loops = self.loops
        return [
            *scalar_functions(loops.scalar_element_type, loops.functions()),
            *element_memory(operand.dtype for operand in (*loops.reads, loops.write)),
            *lookups(loops.reads),
            *integer_helpers(loops),
            *([compensated_sum(loops.scalar_element_type)] if loops.block_steps else []),
        ]

    @property
    def c_type(self) -> str:
        """Of the accumulator."""
        return C_TYPES[self.loops.scalar_element_type]

    def text(self) -> Lines:
        """The whole nest; the axis along which neighbours lie side by side is the innermost one."""
        reduced = [axis.name for axis in self.loops.operator.reduction_axes()]
        around = sorted((axis for axis, _ in self.loops.box if axis not in reduced), key=lambda a: a == self.loops.vector_axis)
        return ["{", *indent(self.nest(around, self.row_body(self.loops.reduction, reduced))), "}"]

    def scope(self, axes: Iterable[str], body: Lines) -> Lines:
        """Loops point by point, or braces: what a pass declares is its own."""
        lines = self.nest(axes, body)
        return lines if lines is not body else ["{", *indent(body), "}"]

    def row_body(self, reduction: Reduction, reduced: list[str]) -> Lines:
        """One pass over the points for every state, and, if every point is written, one to finish."""
        lines: Lines = []
        for state in reduction.states:
            name, step = f"state_{state.name}", self.state_step(state)
            lines.append(f"{self.c_type} {name} = {self.literal(state.identity, clamps=True)[0]};")
            is_long = self.loops.block_steps and state.combine == "add"
            if sums_in_vectors(self.loops, reduced):
                lines += self.vector_sum(name, reduced, step)
                continue
            lines += self.long_sum(name, reduced, step) if is_long else self.scope(reduced, step)
        finished = self.store(self.value(reduction.finish))
        if set(reduced) <= self.loops.operator.write.axes():
            return [*lines, *self.scope(reduced, [*self.point(reduction.finish), finished])]
        return [*lines, *self.loads(reduction.finish), finished]

    def vector_sum(self, name: str, reduced: list[str], step: Lines) -> Lines:
        """A sum of integers in lanes along the axis whose neighbours lie side by side, and of points that fill no vector."""
        axis = self.loops.vector_axis
        assert axis is not None
        vectors = [*vector_loads(self.loops, self.address), f"{name}_lanes += {vector_value(self.loops)};"]
        inside = (
            step
            if self.ranges[axis].size == 1
            else in_vectors(names.axis_offset(axis), to_c(self.ranges[axis].size), vectors, step)
        )
        loops = self.scope((other for other in reduced if other != axis), inside)
        folded = f"{name} = tw_add_{self.loops.scalar_element_type}({name}, tw_fold_naturals({name}_lanes));"
        return [f"tw_naturals {name}_lanes = tw_splat_natural(0);", *loops, folded]

    def state_step(self, state: StateVariable) -> Lines:
        """Take one point into a state."""
        name, body = f"state_{state.name}", self.loops.operator.body
        product = summed_product(state, body) if self.accumulator_type == REAL else None
        if product is None:
            value = self.whole(self.value(state.contribution))
            combined = f"tw_{state.combine}_{self.loops.scalar_element_type}({name}, {value})"
            return [*self.point(state.contribution), f"{name} = {combined};"]
        loads = self.loads(body) if state.contribution == Point() else self.point(state.contribution)
        left, right = (self.value(factor)[0] for factor in product)
        return [*loads, f"{name} = tw_multiply_add_float64({left}, {right}, {name});"]

    def long_sum(self, name: str, reduced: list[str], step: Lines) -> Lines:
        """A sum in blocks, with a compensated total."""
        axis = next(axis for axis in reversed(reduced) if self.ranges[axis].size != 1)
        emptying = [f"tw_take_in_{self.loops.scalar_element_type}(&{name}_sum, &{name}_rest, {name});", f"{name} = 0;"]
        size, steps = to_c(self.ranges[axis].size), str(self.loops.block_steps)
        blocks = in_blocks(size, steps, steps, loop(axis, *BLOCK, step), emptying)
        loops = self.nest((remaining for remaining in reduced if remaining != axis), blocks)
        return [f"{self.c_type} {name}_sum = 0, {name}_rest = 0;", *emptied_at_end(loops, emptying), f"{name} = {name}_sum;"]

    def point(self, scalar: Scalar) -> Lines:
        """Load what the body and an expression of it read, and compute the body."""
        body = self.loops.operator.body
        return [*self.loads(body, scalar), f"const {self.c_type} point = {self.whole(self.value(body))};", "(void)point;"]

    def loads(self, *scalars: Scalar) -> Lines:
        """Declare every element that expressions read."""
        reads = sorted({node.read for scalar in scalars for node in subexpressions(scalar) if isinstance(node, Load)})
        return [f"const {self.c_type} load_{read} = {self.load(read)};" for read in reads]

    def load(self, read: int) -> str:
        """An element, in the accumulator's type."""
        operand = self.loops.reads[read]
        if isinstance(operand, View):
            return self.converted(f"tw_get_{operand.dtype}({self.address(operand)})", operand.dtype)
        place = place_of(
            operand, self.first_position, position_texts(operand, self.loops.reads, self.address, self.first_position)
        )
        element = self.converted(f"tw_get_{operand.dtype}({names.buffer_name(operand.buffer)} + {to_c(place)})", operand.dtype)
        return self.guarded(operand, element)

    def guarded(self, operand: Gather, element: str) -> str:
        """An element where its guard holds, and what is said elsewhere."""
        if operand.guard is None:
            return element
        inside = " && ".join(f"({index_text(constraint, self.first_position)}) >= 0" for constraint in operand.guard.constraints)
        return f"{inside} ? {element} : {self.whole(self.literal(operand.guard.otherwise))}"

    def converted(self, element: str, dtype: str) -> str:
        """An element of a type in that of the accumulator."""
        if self.loops.scalar_element_type != REAL and dtype in FLOATS:
            return f"tw_{self.loops.scalar_element_type}_of({element})"
        return f"({self.c_type}){element}" if dtype != "bool" else f"({element} != 0)"

    def store(self, value: Typed) -> str:
        """The statement that stores a value."""
        dtype, address = self.loops.write.dtype, self.address(self.loops.write)
        return f"tw_put_{dtype}({address}, {self.element(self.whole(value), dtype)});"

    def element(self, value: str, dtype: str) -> str:
        """A value of the accumulator's type as an element of a type."""
        if dtype == "bool":
            return f"{value} != 0"
        is_plain = self.loops.scalar_element_type != REAL or dtype in ("float32", "float64")
        return f"({C_TYPES[dtype]})({value})" if is_plain and dtype not in HALVES else f"tw_{dtype}_of({value})"

    def whole(self, value: Typed) -> str:
        """A value in the accumulator's type."""
        text, kind = value
        accumulator = self.loops.scalar_element_type
        return f"tw_{accumulator}_of({text})" if kind == REAL and accumulator != REAL else text

    def value(self, scalar: Scalar) -> Typed:
        """The text of an expression."""
        match scalar:
            case Literal(value):
                return self.literal(value)
            case Load(read):
                return f"load_{read}", self.accumulator_type
            case Point():
                return "point", self.accumulator_type
            case State(name):
                return f"state_{name}", self.accumulator_type
            case AxisValue(axis):
                return f"({self.c_type})({self.first_position(axis)})", self.accumulator_type
            case Parameter(name):
                return f"({self.c_type}){names.extent(name)}", self.accumulator_type
            case Apply():
                return self.applied(scalar)
            case _:
                raise InternalError(f"{scalar} has no place in a scalar loop")

    @property
    def accumulator_type(self) -> str:
        """The kind of numbers of the accumulator's type."""
        return REAL if self.loops.scalar_element_type == REAL else WHOLE

    def applied(self, scalar: Apply) -> Typed:
        """A function of values: of integers where all are and the function has such a form, else of doubles."""
        fused = multiply_add(scalar) if self.accumulator_type == REAL else None
        if fused is not None:
            return f"tw_multiply_add_float64({', '.join(self.value(part)[0] for part in fused)})", REAL
        function, operands = scalar.function, [self.value(operand) for operand in scalar.operands]
        if function in CONNECTIVES:
            return CONNECTIVES[function].format(*map(_truth, operands)), TRUTH
        if function == "where":
            return self.chosen(operands)
        is_real = self.accumulator_type == REAL or any(kind == REAL for _, kind in operands) or function not in WHOLE_FUNCTIONS
        name = REAL if is_real else self.loops.scalar_element_type
        caller = ["caller"] if function == REPORT_NOT_FINITE else []
        text = f"tw_{function}_{name}({', '.join([*caller, *(text for text, _ in operands)])})"
        if FUNCTIONS[function].is_condition:
            return text, TRUTH
        if self.accumulator_type == REAL or not is_real:
            return text, self.accumulator_type
        return f"tw_{self.loops.scalar_element_type}_of({text})", WHOLE

    def chosen(self, operands: list[Typed]) -> Typed:
        """One of two values, in the accumulator's type."""
        condition, yes, no = operands
        return f"({_truth(condition)} ? {self.whole(yes)} : {self.whole(no)})", self.accumulator_type

    def literal(self, value: float, clamps: bool = False) -> Typed:
        """A constant; `clamps` one that integers of the accumulator's type stand for by their extremes."""
        if self.loops.scalar_element_type == REAL:
            return _double(value), REAL
        is_whole = clamps or (not isnan(value) and not isinf(value) and value == int(value))
        return (_integer(self.loops.scalar_element_type, value), WHOLE) if is_whole else (_double(value), REAL)


def _truth(value: Typed) -> str:
    text, kind = value
    return text if kind == TRUTH else f"({text} != 0)"


def _integer(dtype: str, value: float) -> str:
    """An integer within the limits of a type."""
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    low, high = (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    number = low if value < low else high if value > high else int(value)
    suffix = ("u" if dtype.startswith("u") else "") + ("l" if bits == 64 else "")
    return f"({number + 1}{suffix} - 1)" if number == low < 0 else f"{number}{suffix}"


def _double(value: float) -> str:
    if isnan(value):
        return '__builtin_nan("")'
    if isinf(value):
        return "__builtin_inf()" if value > 0 else "(-__builtin_inf())"
    return f"({float(value)!r})"


NAME = "scalar loops"
INTEGER_LANES = "integer lanes"


def match(problem: Problem) -> tuple[LeafBinding, ...] | Refusal:
    """The element type of an operator that vectors of float32 do not compute, and whether vectors of integers do."""
    operator, element_type = problem.operator, problem.scalar_type
    if operator.is_map():
        return Refusal(NAME, Mismatch.OPERATION)
    in_lanes = sums_in_integer_lanes(operator, problem.reads)
    binding = LeafBinding(NAME, numbers=((INTEGER_LANES, int(in_lanes)),), element_type=element_type)
    return (binding,) if element_type else Refusal(NAME, Mismatch.VECTORS)


def lower(loops: VectorLoops, _: LeafBinding) -> Lowered:
    """The C of a box."""
    return _Emitter(loops)


def seconds(binding: LeafBinding, problem: CostProblem) -> Quantity:
    """Every function at every point, one after the other, or so many at a time as integers fill a vector."""
    operator = problem.operator
    steps = product(problem.sizes[axis.name] for axis in operator.axes) * (1 + len(operator.functions()))
    steps = steps // problem.lanes if dict(binding.numbers)[INTEGER_LANES] else steps
    return steps * problem.coefficients.scalar_step_cycles / problem.machine.frequency_hz


LEAF = Leaf(
    NAME,
    order=GENERAL,
    match=match,
    seconds=seconds,
    lower=lower,
    constraints=lambda _: Constraints(shares_loops=True),
)
