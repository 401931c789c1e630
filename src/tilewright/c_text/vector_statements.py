"""C text of single statements of vector loops: loads, values and stores of a vector, and the loops that they stand in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Self, TypeAlias

from tilewright.block.integers import IntegerExpression, Variable, VariableKind
from tilewright.block.memory import Gather, View
from tilewright.block.statements import VectorLoops
from tilewright.c_text import names
from tilewright.c_text.guarded_windows import guarded_lines, is_guarded_window, lines_inside, short_windows, windows
from tilewright.c_text.integer_expressions import local, to_c
from tilewright.c_text.lookups import gather_lines, lane_place, lane_stride, lookups
from tilewright.c_text.scalar_expressions import literal_text, vector_text
from tilewright.c_text.statements import Lines, PointStatements, indent
from tilewright.errors import InternalError
from tilewright.graph.expressions.scalar import (
    Apply,
    AxisValue,
    Literal,
    Load,
    Parameter,
    Point,
    Previous,
    Scalar,
    State,
    subexpressions,
)
from tilewright.kernels.dialects.vector_functions import VECTOR_FUNCTIONS
from tilewright.kernels.dialects.vocabulary import ROW_UNROLL
from tilewright.kernels.element_access import reading, suffix, writing
from tilewright.kernels.functions.scalar_functions import OF_VECTORS, lane_functions, reports
from tilewright.kernels.helpers import Helper
from tilewright.records import record

Span: TypeAlias = tuple[str, str]
"""Where a loop begins and ends."""
Known: TypeAlias = Mapping[Scalar, str]
"""Texts of expressions that have a name."""


@record
class VectorStatements(PointStatements):
    """The statements at the points of a vector."""

    ahead: int = 0
    """Vectors between the loop's position and what is emitted, in unrolled loops."""
    rows: str = ""
    """The axis of which `TW_ROWS` rows are emitted together, each statement for all of them."""
    spans: frozenset[int] = frozenset()
    """The reads of guarded windows of which is known before the loop over vectors where all lanes are real."""

    def helpers(self) -> list[Helper]:
        """The functions that the statements call, beside the vocabulary of vectors."""
        loops, lanes = self.loops, self.loops.lanes
        return [
            *reading(operand.dtype for operand in (*loops.reads, *loops.places())),
            *writing(place.dtype for place in loops.places()),
            *lane_functions(loops.functions()),
            *reports(loops.functions(), OF_VECTORS),
            *lookups(loops.reads),
            *([windows(lanes)] if _loads_windows(loops) else []),
            *short_windows((read.dtype for read in loops.reads if isinstance(read, Gather) and is_guarded_window(read)), lanes),
        ]

    def scope(self, axes: Iterable[str], body: Lines) -> Lines:
        """Loops point by point, or braces: what a pass declares is its own."""
        lines = self.nest(axes, body)
        return lines if lines is not body or body[0] == "{" else ["{", *indent(body), "}"]

    def by_rows(self, around: list[str], body: Callable[[Self], Lines]) -> tuple[list[str], Lines]:
        """The axes that are left, and the loop over the innermost: TW_ROWS rows at a time, then the rest one by one.

        Several rows hide what a row waits for: steps that depend on each other, and its ends.
        """
        several = [axis for axis in around if self.ranges[axis].size != 1]
        if not several or not all(isinstance(read, View) for read in self.loops.reads):
            return around, body(self)
        *left, rows = several
        index, size, sizes = names.axis_offset(rows), to_c(self.ranges[rows].size), self.ranges[rows].sizes
        lines = [f"long {index} = 0;"]
        if sizes is None or max(sizes) >= ROW_UNROLL:
            ways = body(replace(self, rows=rows))
            lines += [f"for (; {index} + TW_ROWS <= {size}; {index} += TW_ROWS) {{", *indent(ways), "}"]
        if sizes is None or any(known % ROW_UNROLL for known in sizes):
            lines += [f"for (; {index} < {size}; {index}++) {{", *indent(body(self)), "}"]
        return left, ["{", *indent(lines), "}"]

    def over(
        self,
        axis: str | None,
        body: Callable[[bool], Lines],
        several: Lines | None = None,
        span: Span | None = None,
        *,
        before: Lines | None = None,
        has_rest: bool = True,
        repeats: bool = False,
    ) -> Lines:
        """A loop by whole vectors, then the rest; `body(part)` gives its lines, `several` those for as many vectors as there are
        accumulators.

        `span` says where the loop begins and ends, if not with the axis; `before` are lines in front of it. Without `has_rest`
        only whole vectors are between. With `repeats`, of an axis of a vector and more, the rest is the last whole vector, of
        which some lanes were computed before.
        """
        if axis is None:
            return ["{", "  const long lanes = 1;", *indent(body(True)), "}"]
        index, (start, end) = names.axis_offset(axis), span or ("0", to_c(self.ranges[axis].size))
        whole = ["{", *indent(before or []), f"  long {index} = {start};"]
        for step, lines in ((f"{self.loops.vectors.accumulators} * TW_LANES", several or []), ("TW_LANES", body(False))):
            if lines:
                whole += [f"  for (; {index} + {step} <= {end}; {index} += {step}) {{", *indent(indent(lines)), "  }"]
        if not has_rest:
            return [*whole, "}"]
        if repeats:
            last = [f"  if ({index} < {end}) {{", f"    {index} = {end} - TW_LANES;", *indent(indent(body(False))), "  }"]
            return [*whole, *last, "}"]
        rest = [f"  if ({index} < {end}) {{", f"    const long lanes = {end} - {index};"]
        rest += [*indent(indent(body(True))), "  }"]
        return [*whole, *rest, "}"]

    def points(self, part: bool) -> Lines:
        """One vector of a map, or one for each of some rows."""
        body = self.loops.operator.body
        return [*self.loads(body, part), *self.compute("result", body), self.store(self.var("result"), part)]

    def loads(self, scalar: Scalar, part: bool, loaded: tuple[Scalar, ...] = ()) -> Lines:
        """Declare one vector per read of an expression, but for those of expressions that are loaded."""
        known = {node for scalar in loaded for node in subexpressions(scalar)}
        reads = sorted({node.read for node in subexpressions(scalar) if isinstance(node, Load) and node not in known})
        return [line for read in reads for line in self.load_lines(read, part)]

    def finished_sum(self, total: str, part: bool) -> Lines:
        """Stores a vector of sums, finished."""
        finish = self.loops.reduction.finish
        lines = [f"const tw_vec state_sum = {total};", *self.loads(finish, part)]
        return [*lines, *self.define("result", self.value(finish)), self.store("result", part)]

    def load_lines(self, read: int, part: bool) -> Lines:
        """Declare the vector of one read."""
        operand = self.loops.reads[read]
        if isinstance(operand, View):
            return self.define(f"load_{read}", self.load(operand, part))
        if operand.lookups:
            return self.looked_up(read, operand, part)
        if read in self.spans and not part and (vector := self.loops.vector_axis) is not None:
            return lines_inside(read, operand, vector, self.first_position)
        if is_guarded_window(operand):
            return guarded_lines(read, operand, "lanes" if part else "TW_LANES", self.loops.vector_axis, self.first_position)
        return gather_lines(read, operand, "lanes" if part else "TW_LANES", self.position)

    def looked_up(self, read: int, operand: Gather, part: bool) -> Lines:
        """Declare the vector of a read at positions that others give."""
        place = lane_place(operand, self.loops.reads, self.loops.vector_axis, self.address, self.position)
        return gather_lines(read, operand, "lanes" if part else "TW_LANES", self.position, place)

    def load(self, operand: View, part: bool) -> str:
        """The expression that loads a vector through a view."""
        return self.load_at(self.address(operand), operand.stride(self.loops.vector_axis), suffix(operand.dtype), part)

    def load_at(self, address: str, stride: IntegerExpression, of: str, part: bool) -> str:
        """The expression that loads a vector of elements at a stride from an address on."""
        if stride == 0:
            return f"tw_splat(tw_read{of}({address}))"
        if stride == 1:
            return f"tw_load_part{of}({address}, lanes)" if part else f"tw_load{of}({address})"
        if stride == 2 and not of:
            return f"tw_load_every_other_part({address}, lanes)" if part else f"tw_load_every_other({address})"
        return f"tw_load_strided{of}({address}, {to_c(stride)}, {'lanes' if part else 'TW_LANES'})"

    def store(self, value: str, part: bool, place: View | None = None) -> str:
        """The statement that stores a vector, where nothing else is said in the written tensor."""
        place = place or self.loops.write
        address, stride, to = self.address(place), place.stride(self.loops.vector_axis), suffix(place.dtype)
        if stride == 1 or self.loops.vector_axis is None:
            return self.each(f"tw_store_part{to}({address}, {value}, lanes);" if part else f"tw_store{to}({address}, {value});")
        return self.each(f"tw_store_strided{to}({address}, {to_c(stride)}, {value}, {'lanes' if part else 'TW_LANES'});")

    def var(self, name: str) -> str:
        """A variable of the current row, or of the current way."""
        return f"{name}[way]" if self.rows else name

    def each(self, statement: str) -> str:
        """A statement for the current row, or for every way."""
        return f"TW_EACH_ROW({statement})" if self.rows else statement

    def define(self, name: str, value: str, constant: str = "const ") -> Lines:
        """A new variable."""
        if self.rows:
            return [f"tw_vec {name}[TW_ROWS];", self.each(f"{name}[way] = {value};")]
        return [f"{constant}tw_vec {name} = {value};"]

    def compute(self, name: str, scalar: Scalar, known: Known = MappingProxyType({})) -> Lines:
        """A new variable with the value of an expression; functions of many steps are taken for all ways together."""
        lines: Lines = []
        for number, part in enumerate(long_functions(scalar, known)):
            variable = name if part == scalar else f"{name}_part_{number}"
            lines += self.long_function(variable, part, known)
            known = {**known, part: self.var(variable)}
        return lines if lines and scalar in known else [*lines, *self.define(name, self.value(scalar, known))]

    def long_function(self, name: str, part: Apply, known: Known) -> Lines:
        """A new variable with the value of a function of many steps."""
        function, operand = self.function_and_operand(part, known)
        if self.rows:
            return [*self.define(name, operand), f"{function}_rows({name});"]
        return self.define(name, f"{function}({operand})")

    def function_and_operand(self, part: Apply, known: Known) -> tuple[str, str]:
        """The C function that computes a function of many steps, and the vector expression of its operand."""
        return f"tw_{part.function}", self.value(part.operands[0], known)

    def offset(self, axis: str) -> IntegerExpression:
        """The position inside the box, 0 along axes of one point (which have no loop)."""
        if axis == self.loops.vector_axis:
            return Variable(VariableKind.POINT, axis) + self.ahead * local("TW_LANES")
        if axis == self.rows:
            return Variable(VariableKind.POINT, axis) + local("way")
        return PointStatements.offset(self, axis)

    def position(self, axis: str) -> str:
        """The absolute position along an axis, lane included."""
        lane = local("lane") if axis == self.loops.vector_axis else 0
        return to_c(self.ranges[axis].start + self.offset(axis) + lane)

    def value(self, scalar: Scalar, known: Known = MappingProxyType({})) -> str:
        """The vector expression of a scalar."""
        return vector_text(scalar, self.leaf, known)

    def leaf(self, scalar: Scalar) -> str:
        """The vector expression of a leaf."""
        match scalar:
            case Literal(value):
                return f"tw_splat({literal_text(value)})"
            case Load(read):
                return self.var(f"load_{read}")
            case Point():
                return self.var("point")
            case State(name):
                return self.var(f"state_{name}")
            case AxisValue(axis):
                return self.axis_value(axis)
            case Parameter(name):
                return f"tw_splat((float){names.extent(name)})"
            case Previous(name) if self.loops.running is not None:
                return self.var(f"previous_{name}")
            case Previous():
                raise InternalError("a rescaling rule was used outside an online schedule")
            case _:
                raise InternalError(f"{scalar} is not a leaf")

    def axis_value(self, axis: str) -> str:
        """Positions along an axis, as floats (exact below 2^24)."""
        return f"(tw_splat((float)({self.first_position(axis)})){' + tw_iota()' if axis == self.loops.vector_axis else ''})"


def long_functions(scalar: Scalar, known: Collection[Scalar] = ()) -> tuple[Apply, ...]:
    """The distinct functions of many steps in an expression, the innermost first, but for those inside of what is known.

    >>> from tilewright.graph.expressions.scalar import apply
    >>> long_functions(apply("exp", apply("square", Point()))) == (apply("exp", apply("square", Point())),)
    True
    """
    if scalar in known or not isinstance(scalar, Apply):
        return ()
    inside = [function for operand in scalar.operands for function in long_functions(operand, known)]
    return tuple(dict.fromkeys([*inside, *([scalar] if scalar.function in VECTOR_FUNCTIONS else [])]))


def _loads_windows(loops: VectorLoops) -> bool:
    """Whether vectors are loaded in part, or of every other element."""
    vector = loops.vector_axis
    views = [operand for operand in (*loops.reads, *loops.places()) if isinstance(operand, View)]
    gathers = [read for read in loops.reads if isinstance(read, Gather)]
    strides = {*(view.stride(vector) for view in views), *(lane_stride(gather, vector) for gather in gathers if gather.lookups)}
    return 2 in strides or any(map(is_guarded_window, gathers))
