"""C text of `VectorLoops`: maps and row operators as vector loops, with whole vectors first and one partial vector at the end.

A row operator takes one pass over its row per state variable, then one to finish. Where the finishing value contains the last
state's contribution (softmax: the exponential), the pass that sums it also stores it, and the last pass only finishes; there is
none where readers divide. TW_WAYS rows at a time hide what a row waits for: steps that depend on each other, and its ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from tilewright.codegen import names
from tilewright.codegen.emit_c.c_text import indent
from tilewright.codegen.emit_c.gathers import gather_lines
from tilewright.codegen.emit_c.guarded_windows import guarded_lines, is_guarded_window, windows
from tilewright.codegen.emit_c.long_sums import BLOCK, emptied_at_end, in_blocks
from tilewright.codegen.emit_c.lookups import is_of_rows, lane_place, lane_stride, lookups, row_lines, row_place
from tilewright.codegen.emit_c.row_expressions import fall, hoist_division, inverses, long_functions, may_lose_nan, row_values
from tilewright.codegen.emit_c.scalar_expressions import CARELESS, COMBINE, literal_text, vector_text
from tilewright.codegen.expressions import Value, add, multiply, to_c
from tilewright.codegen.loop_nest import Gather, Range, RunningStates, VectorLoops, View
from tilewright.errors import InternalError
from tilewright.graph.scalar import (
    Apply,
    AxisValue,
    Literal,
    Load,
    Parameter,
    Point,
    Previous,
    Scalar,
    State,
    rewrite,
    subexpressions,
)
from tilewright.graph.types import Reduction, StateVariable
from tilewright.kernels.dialects.vocabulary import WAYS
from tilewright.kernels.element_access import reading, suffix, writing
from tilewright.kernels.functions.compensated_sums import compensated_sum
from tilewright.kernels.functions.lane_functions import lane_functions
from tilewright.kernels.helpers import Helper

Lines = list[str]
UNROLLED = 4
"""Vectors per step of a loop whose latency would show: the maximum of a row takes 8 cycles a vector with one accumulator."""
Span: TypeAlias = tuple[str, str]
"""Where a loop begins and ends."""
Known: TypeAlias = Mapping[Scalar, str]
"""Texts of expressions that have a name."""


def emit_vector_loops(loops: VectorLoops) -> Lines:
    """The lines of a map or a row operator."""
    emitter = _Emitter(loops)
    return [f"/* {loops.operator.name}: {loops.operator.kind} */", *emitter.text()]


def vector_loop_helpers(loops: VectorLoops, lanes: int) -> list[Helper]:
    """The helpers that these lines call, beside the vocabulary of vectors of so many lanes."""
    return [
        *reading(one.dtype for one in (*loops.reads, *loops.places())),
        *writing(place.dtype for place in loops.places()),
        *lane_functions(loops.functions()),
        *lookups(loops.reads),
        *([windows(lanes)] if _loads_windows(loops) else []),
        *([compensated_sum("")] if loops.block_steps else []),
    ]


def _loads_windows(loops: VectorLoops) -> bool:
    """Whether vectors are loaded in part, or of every other element."""
    vector = loops.vector_axis
    views = [one for one in (*loops.reads, *loops.places()) if isinstance(one, View)]
    gathers = [read for read in loops.reads if isinstance(read, Gather)]
    strides = {*(view.stride(vector) for view in views), *(lane_stride(one, vector) for one in gathers if one.lookups)}
    return 2 in strides or any(map(is_guarded_window, gathers))


@dataclass(frozen=True, slots=True)
class _Emitter:
    loops: VectorLoops
    ahead: int = 0
    """Vectors between the loop's position and what is emitted, in unrolled loops."""
    rows: str = ""
    """The axis of which `TW_WAYS` rows are emitted together, each statement for all of them."""

    @property
    def reduced(self) -> tuple[str, ...]:
        """The reduction axes."""
        return tuple(axis.name for axis in self.loops.operator.reduction_axes())

    @property
    def ranges(self) -> dict[str, Range]:
        """The range of every axis."""
        return dict(self.loops.box)

    def text(self) -> Lines:
        """The whole nest."""
        vector = self.loops.vector_axis
        around = [axis for axis, _ in self.loops.box if axis != vector and axis not in self.reduced]
        reduction = self.loops.operator.reduction
        if reduction is None:
            rows = row_lines(self.loops.reads, vector, self.address, self.first_position)
            around, body = self.by_ways(around, lambda one: [*rows, *one.over(vector, one.map_body)])
        elif vector in self.reduced:
            around, body = self.by_ways(around, lambda one: one.row_body(reduction, lanes_are_reduced=True, part=False))
        else:
            body = self.over(vector, lambda part: self.row_body(reduction, lanes_are_reduced=False, part=part))
        nested = self.nest(around, body)
        return ["{", *indent(nested), "}"] if nested is body and body[0] != "{" else nested

    def by_ways(self, around: list[str], body: Callable[[_Emitter], Lines]) -> tuple[list[str], Lines]:
        """The axes that are left, and the loop over the innermost: some rows at a time, then the rest one by one."""
        several = [axis for axis in around if self.ranges[axis].size != 1]
        if not several or not all(isinstance(read, View) for read in self.loops.reads):
            return around, body(self)
        *left, rows = several
        index, size, sizes = names.axis_offset(rows), to_c(self.ranges[rows].size), self.ranges[rows].sizes
        lines = [f"long {index} = 0;"]
        if sizes is None or max(sizes) >= WAYS:
            ways = body(replace(self, rows=rows))
            lines += [f"for (; {index} + TW_WAYS <= {size}; {index} += TW_WAYS) {{", *indent(ways), "}"]
        if sizes is None or any(known % WAYS for known in sizes):
            lines += [f"for (; {index} < {size}; {index}++) {{", *indent(body(self)), "}"]
        return left, ["{", *indent(lines), "}"]

    def nest(self, axes: list[str], body: Lines) -> Lines:
        """Loops point by point."""
        for axis in reversed(axes):
            if self.ranges[axis].size == 1:
                continue
            index = names.axis_offset(axis)
            size = to_c(self.ranges[axis].size)
            body = [f"for (long {index} = 0; {index} < {size}; {index}++) {{", *indent(body), "}"]
        return body

    def over(
        self, axis: str | None, body: Callable[[bool], Lines], several: Lines | None = None, span: Span | None = None
    ) -> Lines:
        """A loop by whole vectors, then the rest; `body(part)` gives its lines, `several` those for UNROLLED vectors.

        `span` says where the loop begins and ends, if not with the axis.
        """
        if axis is None:
            return ["{", "  const long lanes = 1;", *indent(body(True)), "}"]
        index, (start, end) = names.axis_offset(axis), span or ("0", to_c(self.ranges[axis].size))
        whole = ["{", f"  long {index} = {start};"]
        for step, lines in ((f"{UNROLLED} * TW_LANES", several or []), ("TW_LANES", body(False))):
            if lines:
                whole += [f"  for (; {index} + {step} <= {end}; {index} += {step}) {{", *indent(indent(lines)), "  }"]
        rest = [f"  if ({index} < {end}) {{", f"    const long lanes = {end} - {index};"]
        rest += [*indent(indent(body(True))), "  }"]
        return [*whole, *rest, "}"]

    def map_body(self, part: bool) -> Lines:
        """One vector of a map."""
        body = self.loops.operator.body
        return [*self.loads(body, part), *self.compute("result", body), self.store(self.var("result"), part)]

    def row_body(self, reduction: Reduction, *, lanes_are_reduced: bool, part: bool) -> Lines:
        """All passes of a row operator for one row, or for one vector of rows."""
        if self.loops.running is not None:
            return self.running_body(reduction, self.loops.running, lanes_are_reduced, part)
        stored, divided_later = self.stored_contribution(reduction), self.loops.inverse is not None
        lines: Lines = []
        for state in reduction.states:
            keep = state is reduction.states[-1] and (stored is not None or divided_later)
            lines += self.state_pass(state, lanes_are_reduced, part, keep)
        return [*lines, *self.finish(reduction, stored, lanes_are_reduced, part)]

    def running_body(self, reduction: Reduction, running: RunningStates, lanes_are_reduced: bool, part: bool) -> Lines:
        """All passes over one block of a row, or of one vector of rows; the last one stores undivided shares."""
        lines: Lines = []
        for state, (name, place, factor) in zip(reduction.states, running.states, strict=True):
            keep = state is reduction.states[-1]
            lines += self.state_pass(state, lanes_are_reduced, part, keep, into=f"gained_{name}")
            lines += self.define(f"previous_{name}", self.load(place, part))
            before = self.var(f"previous_{name}")
            if factor is not None:
                lines += self.compute(f"factor_{name}", factor)
                before = f"({before} * {self.var(f'factor_{name}')})"
            lines += self.define(f"state_{name}", self.combined(state).format(before, self.var(f"gained_{name}")))
            lines.append(self.store_state(place, f"state_{name}", lanes_are_reduced, part))
        lines.append(self.store_state(running.factor, f"factor_{reduction.states[-1].name}", lanes_are_reduced, part))
        return ["{", *indent(lines), "}"]

    def store_state(self, place: View, value: str, lanes_are_reduced: bool, part: bool) -> str:
        """The statement that stores one value per row: of one row, or of a vector of rows."""
        if lanes_are_reduced:
            return self.each(f"tw_store_part{suffix(place.dtype)}({self.address(place)}, {self.var(value)}, 1);")
        return self.store(value, part, place)

    def stored_contribution(self, reduction: Reduction) -> Scalar | None:
        """The contribution of the last state, if every point is written and its value is made from it: it waits in its place.

        Nothing else is then left of the point, nor of what the result is written over.
        """
        contribution = reduction.states[-1].contribution
        beside = rewrite(reduction.finish, lambda node: Literal(0.0) if node == contribution else None)
        pointwise = set(self.reduced) <= self.loops.operator.write.axes()
        inside = beside != reduction.finish and contribution != Point()
        return contribution if pointwise and inside and not any(map(self.is_lost, subexpressions(beside))) else None

    def is_lost(self, leaf: Scalar) -> bool:
        """Whether a value is no longer there once something else lies in the result's place."""
        if isinstance(leaf, Load):
            return self.loops.reads[leaf.read].buffer == self.loops.write.buffer
        return leaf == Point()

    def state_pass(self, state: StateVariable, lanes_are_reduced: bool, part: bool, keep: bool, into: str = "") -> Lines:
        """Accumulate one state over the reduction axes.

        Where a step is no more than combining, its latency would show: then several accumulators take turns.
        """
        total = f"state_{state.name}_lanes"
        in_turns = lanes_are_reduced and state.contribution == Point() and not self.rows
        others = [f"{total}_{i}" for i in range(1, UNROLLED)] if in_turns else []
        accumulators = (total, *others)
        lines = [line for name in accumulators for line in self.define(name, _identity(state), "")]

        def step(partial: bool) -> Lines:
            return self.state_step(state, total, keep, partial, masked=partial and lanes_are_reduced)

        lines += self.once_a_row(state.name, state.contribution)[0]
        several: Lines = []
        for ahead, name in enumerate(accumulators if others else ()):
            shifted = replace(self, ahead=ahead)
            several += ["{", *indent(shifted.state_step(state, name, keep, False, masked=False)), "}"]
        together = [f"{total} = {self.combined(state).format(total, other)};" for other in others]
        if self.loops.block_steps and state.combine == "add":
            lines += self.in_blocks(step, None if lanes_are_reduced else part, several, accumulators, together)
        else:
            lines += [*self.over_reduction(step, lanes_are_reduced, part, several), *together]
        reduce, result = f"tw_reduce_{self.combine(state)}", into or f"state_{state.name}"
        if self.rows:
            return [*lines, f"{reduce}_ways({total});", *self.define(result, self.var(total))]
        return [*lines, *self.define(result, f"tw_splat({reduce}({total}))" if lanes_are_reduced else total)]

    def in_blocks(
        self, step: Callable[[bool], Lines], part: bool | None, several: Lines, accumulators: tuple[str, ...], together: Lines
    ) -> Lines:
        """Accumulate over the reduction axes, along the innermost in blocks; `part` of None: lanes run along it.

        Full accumulators are emptied, `together`, into a compensated total, which the first of them has in the end.
        """
        first, steps = accumulators[0], self.loops.block_steps
        sums, rest = f"{first}_sum", f"{first}_rest"
        taken = f"tw_take_in(&{self.var(sums)}, &{self.var(rest)}, {self.var(first)});"
        zeros = [f"{self.var(name)} = tw_splat(0.0f);" for name in accumulators]
        emptying = [*together, *map(self.each, (taken, *zeros))]
        if part is None:
            axis, unit, body = self.loops.vector_axis, " * TW_LANES", self.over(self.loops.vector_axis, step, several, BLOCK)
        else:
            axis, unit = next(axis for axis in reversed(self.reduced) if self.ranges[axis].size != 1), ""
            index = names.axis_offset(axis)
            body = [f"for (long {index} = from; {index} < until; {index}++) {{", *indent(step(part)), "}"]
        assert axis is not None
        size, enough = to_c(self.ranges[axis].size), f"{steps}{unit}"
        blocks = in_blocks(size, f"{steps * len(accumulators)}{unit}", enough, body, emptying)
        loops = self.nest([other for other in self.reduced if other != axis], blocks)
        total = self.each(f"{self.var(first)} = {self.var(sums)};")
        defined = [line for name in (sums, rest) for line in self.define(name, "tw_splat(0.0f)", "")]
        return [*defined, *emptied_at_end(loops, emptying), total]

    def state_step(self, state: StateVariable, total: str, keep: bool, part: bool, *, masked: bool) -> Lines:
        """Take one vector of points into an accumulator; `keep` stores the contribution too."""
        known = self.once_a_row(state.name, state.contribution)[1]
        loads = [*self.point(part), *self.loads(state.contribution, part, (self.loops.operator.body,))]
        lines = [*self.rows_to_come(state), *loads, *self.compute("contribution", state.contribution, known)]
        contribution, total = self.var("contribution"), self.var(total)
        lines += [self.store(contribution, part)] if keep else []
        taken = f"tw_first({contribution}, {_identity(state)}, lanes)" if masked else contribution
        return [*lines, self.each(f"{total} = {self.combined(state).format(total, taken)};")]

    def rows_to_come(self, state: StateVariable) -> Lines:
        """Prefetches in the last of several passes: the first one over the next rows does too little to hide where they lie."""
        states = self.loops.operator.reduction.states if self.loops.operator.reduction is not None else ()
        if not self.rows or len(states) == 1 or state is not states[-1]:
            return []
        steps = {
            to_c(add(self.address(read), multiply("TW_WAYS", read.stride(self.rows))))
            for read in self.loops.reads
            if isinstance(read, View)
            and read.dtype == "float32"
            and read.stride(self.loops.vector_axis) == 1
            and read.stride(self.rows) != 0
        }
        return [self.each(f"tw_prefetch({step});") for step in sorted(steps)]

    def combined(self, state: StateVariable) -> str:
        """The text that combines two vectors of a state."""
        return COMBINE[self.combine(state)]

    def combine(self, state: StateVariable) -> str:
        """What a state is combined by; NaN may get lost where results are NaN in any case."""
        reduction = self.loops.operator.reduction
        careless = reduction is not None and may_lose_nan(reduction, state)
        return CARELESS.get(state.combine, state.combine) if careless else state.combine

    def over_reduction(
        self, step: Callable[[bool], Lines], lanes_are_reduced: bool, part: bool, several: Lines | None = None
    ) -> Lines:
        """Loops over the reduction axes; the vector axis innermost if it is one of them."""
        inner = self.over(self.loops.vector_axis, step, several) if lanes_are_reduced else step(part)
        nested = self.nest([axis for axis in self.reduced if axis != self.loops.vector_axis], inner)
        return ["{", *indent(nested), "}"] if nested is inner and not lanes_are_reduced else nested

    def finish(self, reduction: Reduction, stored: Scalar | None, lanes_are_reduced: bool, part: bool) -> Lines:
        """Write one value per point, or one per row."""
        if not set(self.reduced) <= self.loops.operator.write.axes():
            result = self.compute("result", reduction.finish)
            return [*result, self.store_state(self.loops.write, "result", lanes_are_reduced, part)]
        value, inverted = hoist_division(reduction.finish), inverses(reduction.finish)
        lines = [line for name, scalar in inverted for line in self.compute(f"state_{name}", scalar)]
        if self.loops.inverse is not None:
            ((name, _),) = inverted
            return [*lines, self.store_state(self.loops.inverse, f"state_{name}", lanes_are_reduced, part)]
        once, known = self.once_a_row("result", value)

        def step(partial: bool) -> Lines:
            again = self.point(partial) if stored is None else self.define("contribution", self.load(self.loops.write, partial))
            more = self.loads(value, partial, () if stored is not None else (self.loops.operator.body,))
            values = known if stored is None else {**known, stored: self.var("contribution")}
            return [*again, *more, *self.compute("result", value, values), self.store(self.var("result"), partial)]

        return [*lines, *once, *self.over_reduction(step, lanes_are_reduced, part)]

    def once_a_row(self, name: str, scalar: Scalar) -> tuple[Lines, Known]:
        """New variables for the parts of an expression that a row has once, and what they stand for."""
        parts = {part: f"row_{name}_{number}" for number, part in enumerate(row_values(scalar))}
        lines = [line for part, variable in parts.items() for line in self.define(variable, self.value(part))]
        return lines, {part: self.var(variable) for part, variable in parts.items()}

    def point(self, part: bool) -> Lines:
        """Load what the body reads, and compute it."""
        body = self.loops.operator.body
        return [*self.loads(body, part), *self.compute("point", body)]

    def loads(self, scalar: Scalar, part: bool, loaded: tuple[Scalar, ...] = ()) -> Lines:
        """Declare one vector per read of an expression, but for those of expressions that are loaded."""
        known = {node for one in loaded for node in subexpressions(one)}
        reads = sorted({node.read for node in subexpressions(scalar) if isinstance(node, Load) and node not in known})
        return [line for read in reads for line in self.load_lines(read, part)]

    def load_lines(self, read: int, part: bool) -> Lines:
        """Declare the vector of one read."""
        operand = self.loops.reads[read]
        if isinstance(operand, View):
            return self.define(f"load_{read}", self.load(operand, part))
        if operand.lookups:
            return self.looked_up(read, operand, part)
        if is_guarded_window(operand):
            return guarded_lines(read, operand, "lanes" if part else "TW_LANES", self.loops.vector_axis, self.first_position)
        return gather_lines(read, operand, "lanes" if part else "TW_LANES", self.position)

    def looked_up(self, read: int, operand: Gather, part: bool) -> Lines:
        """Declare the vector of a read of a map at positions that others give."""
        if is_of_rows(operand, reads := self.loops.reads, vector := self.loops.vector_axis):
            row = row_place(operand, read, vector, self.first_position)
            return self.define(f"load_{read}", self.load_at(*row, suffix(operand.dtype), part))
        place = lane_place(operand, reads, vector, self.address, self.position)
        return gather_lines(read, operand, "lanes" if part else "TW_LANES", self.position, place)

    def load(self, operand: View, part: bool) -> str:
        """The expression that loads a vector through a view."""
        return self.load_at(self.address(operand), operand.stride(self.loops.vector_axis), suffix(operand.dtype), part)

    def load_at(self, address: str, stride: Value, of: str, part: bool) -> str:
        """The expression that loads a vector of elements at a stride from an address on."""
        if stride == 0:
            return f"tw_splat(tw_read{of}({address}))"
        if stride == 1:
            return f"tw_load_part{of}({address}, lanes)" if part else f"tw_load{of}({address})"
        if stride == 2 and not part and not of:
            return f"tw_load_every_other({address})"
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
        return f"TW_EACH_WAY({statement})" if self.rows else statement

    def define(self, name: str, value: str, constant: str = "const ") -> Lines:
        """A new variable."""
        if self.rows:
            return [f"tw_vec {name}[TW_WAYS];", self.each(f"{name}[way] = {value};")]
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
        """A new variable with the value of a function of many steps; what falls is a power of 2, whose factor is rounded once."""
        function, operand = f"tw_{part.function}", self.value(part.operands[0], known)
        falls = fall(part, self.loops.operator.reduction)
        if falls is not None:
            factor, difference = falls
            function = "tw_exp2_down"
            operand = f"({self.value(difference, known)} * tw_splat({literal_text(factor * math.log2(math.e))}))"
        if self.rows:
            return [*self.define(name, operand), f"{function}_ways({name});"]
        return self.define(name, f"{function}({operand})")

    def address(self, view: View) -> str:
        """The pointer to the current point."""
        moved = (multiply(self.offset(axis), stride) for axis, stride in view.strides)
        offset = to_c(add(view.offset, *moved))
        return view.buffer if offset == "0" else f"{view.buffer} + {offset}"

    def offset(self, axis: str) -> Value:
        """The position inside the box, 0 along axes of one point (which have no loop)."""
        if axis == self.loops.vector_axis:
            return add(names.axis_offset(axis), multiply(self.ahead, "TW_LANES"))
        if axis == self.rows:
            return add(names.axis_offset(axis), "way")
        return 0 if self.ranges[axis].size == 1 else names.axis_offset(axis)

    def position(self, axis: str) -> str:
        """The absolute position along an axis, lane included."""
        lane = ["lane"] if axis == self.loops.vector_axis else []
        return to_c(add(self.ranges[axis].start, self.offset(axis), *lane))

    def first_position(self, axis: str) -> str:
        """The absolute position along an axis, of the first lane."""
        return to_c(add(self.ranges[axis].start, self.offset(axis)))

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
                raise InternalError("a rescaling law was asked for outside an online schedule")
            case _:
                raise InternalError(f"{scalar} is not a leaf")

    def axis_value(self, axis: str) -> str:
        """Positions along an axis, as floats (exact below 2^24)."""
        start = to_c(add(self.ranges[axis].start, self.offset(axis)))
        return f"(tw_splat((float)({start})){' + tw_iota()' if axis == self.loops.vector_axis else ''})"


def _identity(state: StateVariable) -> str:
    return f"tw_splat({literal_text(state.identity)})"
