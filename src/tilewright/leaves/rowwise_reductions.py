"""Row-wise reductions of float32, as C: the passes over a row that accumulate its states, and the pass that finishes it.

A row-wise reduction takes one pass over its row per state variable, then one to finish. Where the finishing value contains the
last state's contribution (softmax: the exponential), the pass that sums it also stores it, and the last pass only finishes; there
is none where readers divide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from tilewright.block.leaf_binding import LeafBinding
from tilewright.block.memory import View
from tilewright.block.statements import RunningStates, VectorLoops
from tilewright.c_text.integer_expressions import local, to_c
from tilewright.c_text.scalar_expressions import COMBINE, NAN_IGNORING, literal_text, summed_product
from tilewright.c_text.statements import BLOCK, Lines, emptied_at_end, in_blocks, indent, loop
from tilewright.c_text.vector_statements import Known, VectorStatements
from tilewright.graph.expressions.scalar import Apply, Literal, Load, Point, Scalar, rewrite, subexpressions
from tilewright.graph.types import Reduction, StateVariable
from tilewright.kernels.element_access import suffix
from tilewright.leaves.declaration import GENERAL, Constraints, Leaf
from tilewright.leaves.rowwise_reductions_form import (
    NAME,
    RowwiseReduction,
    fall,
    form_of,
    hoist_division,
    inverses,
    match,
    row_values,
    seconds,
)
from tilewright.records import record

ROUNDED = ("add", "multiply")
"""Combinations whose results are rounded, so that their order shows."""


def lower(loops: VectorLoops, binding: LeafBinding) -> RowLoops:
    """The C of a box. It may be bound to another leaf of sums, whose bindings say nothing about states."""
    return RowLoops(loops, form=form_of(binding, loops.reduction))


@record(kw_only=True)
class RowLoops(VectorStatements):
    """The passes over one row, over TW_ROWS rows together, or over the rows of one vector."""

    form: RowwiseReduction

    def text(self) -> Lines:
        """The whole nest."""
        vector, reduction = self.loops.vector_axis, self.loops.reduction
        around = [axis for axis, _ in self.loops.box if axis != vector and axis not in self.reduced]
        if vector in self.reduced:
            around, body = self.by_rows(around, lambda row: row.row_body(reduction, lanes_are_reduced=True, part=False))
        else:
            body = self.over(vector, lambda part: self.row_body(reduction, lanes_are_reduced=False, part=part))
        return self.scope(around, body)

    def row_body(self, reduction: Reduction, *, lanes_are_reduced: bool, part: bool) -> Lines:
        """All passes of a row-wise reduction for one row, or for one vector of rows."""
        if self.loops.running is not None:
            return self.running_body(reduction, self.loops.running, lanes_are_reduced, part)
        stored, divided_later = self.stored_contribution(reduction), self.loops.inverse is not None
        lines: Lines = []
        for state in reduction.states:
            keep = state is reduction.states[-1] and (stored is not None or divided_later)
            lines += self.state_pass(state, lanes_are_reduced, part, keep)
        return [*lines, *self.finish(reduction, stored, lanes_are_reduced, part)]

    def running_body(self, reduction: Reduction, running: RunningStates, lanes_are_reduced: bool, part: bool) -> Lines:
        """All passes over one block of a row, or of one vector of rows; the last one stores undivided weights."""
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
        """Accumulate one state over the reduction axes, and fold its lanes."""
        total, result = f"state_{state.name}_lanes", into or f"state_{state.name}"
        reduce = f"tw_reduce_{self.combine(state)}"
        lines = self.accumulated(state, total, lanes_are_reduced, part, keep)
        if self.rows:
            return [*lines, f"{reduce}_rows({total});", *self.define(result, self.var(total))]
        return [*lines, *self.define(result, f"tw_splat({reduce}({total}))" if lanes_are_reduced else total)]

    def shows_order(self, state: StateVariable) -> bool:
        """Whether results tell in which order points are combined: maxima of zeros do by the sign, unless they are subtracted."""
        return state.combine in ROUNDED or len(self.loops.reduction.states) == 1

    def accumulated(self, state: StateVariable, total: str, lanes_are_reduced: bool, part: bool, keep: bool) -> Lines:
        """The accumulator `total` of one state over the reduction axes.

        As many take turns in a row that is alone as among others, so that its bits do not depend on its neighbours.
        """
        is_able = self.loops.vector_axis in self.reduced and state.contribution == Point()
        in_turns = is_able and (not self.rows or self.shows_order(state))
        more_totals = [f"{total}_{i}" for i in range(1, self.loops.vectors.accumulators)] if in_turns else []
        accumulators = (total, *more_totals)
        lines = [line for name in accumulators for line in self.define(name, _identity(state), "")]

        def step(partial: bool) -> Lines:
            return self.state_step(state, total, keep, partial, masked=partial and lanes_are_reduced)

        lines += self.once_a_row(state.name, state.contribution)[0]
        several: Lines = []
        for ahead, name in enumerate(accumulators if more_totals else ()):
            shifted = replace(self, ahead=ahead)
            several += ["{", *indent(shifted.state_step(state, name, keep, False, masked=False)), "}"]
        of_all, pairs = self.var(total), map(self.var, more_totals)
        together = [self.each(f"{of_all} = {self.combined(state).format(of_all, other)};") for other in pairs]
        if self.loops.block_steps and state.combine == "add":
            return [*lines, *self.in_blocks(step, None if lanes_are_reduced else part, several, accumulators, together)]
        return [*lines, *self.over_reduction(step, lanes_are_reduced, part, several), *self.if_taken(together)]

    def if_taken(self, together: Lines) -> Lines:
        """Accumulators that took turns are put together where the row is long enough for one turn; else they hold identities."""
        if not together:
            return []
        size = to_c(self.ranges[self.loops.vector_axis or ""].size)
        return [f"if ({size} >= {self.loops.vectors.accumulators} * TW_LANES) {{", *indent(together), "}"]

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
            body = loop(axis, *BLOCK, step(part))
        assert axis is not None
        size, enough = to_c(self.ranges[axis].size), f"{steps}{unit}"
        blocks = in_blocks(size, f"{steps * len(accumulators)}{unit}", enough, body, emptying)
        loops = self.nest([reduced for reduced in self.reduced if reduced != axis], blocks)
        total = self.each(f"{self.var(first)} = {self.var(sums)};")
        defined = [line for name in (sums, rest) for line in self.define(name, "tw_splat(0.0f)", "")]
        return [*defined, *emptied_at_end(loops, emptying), total]

    def state_step(self, state: StateVariable, total: str, keep: bool, part: bool, *, masked: bool) -> Lines:
        """Take one vector of points into an accumulator; `keep` stores the contribution too."""
        known = self.once_a_row(state.name, state.contribution)[1]
        product = summed_product(state, self.loops.operator.body, known)
        if product is not None and not keep:
            lines, grown = self.multiply_add(state, product, known, total, part)
            taken = f"tw_first({grown}, {self.var(total)}, lanes)" if masked else grown
            return [*self.rows_to_come(state), *lines, self.each(f"{self.var(total)} = {taken};")]
        lines = [*self.rows_to_come(state), *self.summand(state, part), *self.compute("contribution", state.contribution, known)]
        contribution, total = self.var("contribution"), self.var(total)
        lines += [self.store(contribution, part)] if keep else []
        taken = f"tw_first({contribution}, {_identity(state)}, lanes)" if masked else contribution
        return [*lines, self.each(f"{total} = {self.combined(state).format(total, taken)};")]

    def multiply_add(
        self, state: StateVariable, product: tuple[Scalar, Scalar], known: Known, total: str, part: bool
    ) -> tuple[Lines, str]:
        """The factors of one vector of points, and the text that takes their product into an accumulator."""
        lines = self.loads(self.loops.operator.body, part) if state.contribution == Point() else self.summand(state, part)
        names = {factor: f"factor_{number}" for number, factor in enumerate(dict.fromkeys(product))}
        lines += [line for factor, name in names.items() for line in self.compute(name, factor, known)]
        left, right = (self.var(names[factor]) for factor in product)
        return lines, f"tw_multiply_add({left}, {right}, {self.var(total)})"

    def summand(self, state: StateVariable, part: bool) -> Lines:
        """Load what a contribution is made of: the point, and other reads."""
        return [*self.point(part), *self.loads(state.contribution, part, (self.loops.operator.body,))]

    def rows_to_come(self, state: StateVariable) -> Lines:
        """Prefetches in the last of several passes: the first one over the next rows does too little to hide where they lie."""
        states = self.loops.reduction.states
        if not self.rows or len(states) == 1 or state is not states[-1]:
            return []
        steps = {
            f"{self.address(read)} + {to_c(local('TW_ROWS') * read.stride(self.rows))}"
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
        return NAN_IGNORING.get(state.combine, state.combine) if state.name in self.form.loses_nan else state.combine

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
            result = [*self.loads(reduction.finish, part), *self.compute("result", reduction.finish)]
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

    def function_and_operand(self, part: Apply, known: Known) -> tuple[str, str]:
        """The same; an exponential of what falls is a power of 2, whose factor is rounded once."""
        falls = fall(part, self.form.largest)
        if falls is None:
            return VectorStatements.function_and_operand(self, part, known)
        factor, difference = falls
        return "tw_exp2_down", f"({self.value(difference, known)} * tw_splat({literal_text(factor * math.log2(math.e))}))"

    def point(self, part: bool) -> Lines:
        """Load what the body reads, and compute it."""
        body = self.loops.operator.body
        return [*self.loads(body, part), *self.compute("point", body)]


def _identity(state: StateVariable) -> str:
    return f"tw_splat({literal_text(state.identity)})"


LEAF = Leaf(NAME, order=GENERAL, match=match, seconds=seconds, lower=lower, constraints=lambda _: Constraints(shares_loops=True))
