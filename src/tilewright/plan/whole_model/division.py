"""Division of a group of operators into chains: edges are fused where the fused plan is cheaper, else cut, with both prices.

A group is priced as a whole, one chain, however many operators it has, and built from its operators up: a small one edge by edge,
a large one in rounds that fuse neighbours, so that the number of searches grows with the logarithm of its length where layers are
alike. The best division may lie between whole and apart. A large one is priced as a whole only where some contraction in it, as
one chain with what leads to it from the contractions before, is better than its operators alone. A whole that no such pair
suggests is not looked for, though it might pay over all edges.

Groups are divided in their canonical form: a process divides those that differ in names only once.

A device with a planner of its own (`ChainPlanner`) has no bounds and no micro tiles to ask before: every part is planned. And a
product with the rows behind it may have no plan, where the two with the next product have one: these are tried before edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial
from math import inf, isinf, prod

from tilewright.graph.types import Chain, Operator, planned_extent
from tilewright.plan.binding import bound
from tilewright.plan.chains import canonical_form, names_of, sub_chain
from tilewright.plan.counts import Counted, count
from tilewright.plan.element_types import held_bytes
from tilewright.plan.memory import remembered
from tilewright.plan.model.pricing import separate_price
from tilewright.plan.planner import PricedChain
from tilewright.plan.reasons import FewerBlocks, SeparateFaster, TakenOver, Unplannable, WholeGroup
from tilewright.plan.search.exact_search import Times, can_cost, least_times_above
from tilewright.plan.types import Cut, Plan, Price, PriceTerm, TermKind
from tilewright.plan.whole_model import kept_divisions
from tilewright.plan.whole_model.groups import Operators, are_alike, loses_nothing
from tilewright.plan.whole_model.kept_divisions import KeptDivision, KeptPart
from tilewright.plan.whole_model.planning_options import PlanningOptions
from tilewright.records import record

SMALL_GROUP = 6
"""Operators up to which a group whose whole pays is built up too, for comparison: each edge costs a search."""
MOST_DIVISIONS = 256
"""Groups whose divisions a process remembers."""


@record
class Part:
    """Operators of a group as one chain, with its price: what divisions are compared by."""

    operators: Operators
    chain: Chain
    price: Price
    loops: PricedChain | Callable[[], PricedChain]
    """Its schedule with the price; of loops that were kept it is made when it is asked for."""
    taken_over: TakenOver | None = None
    """Where its loops come from, if they were not searched."""

    @property
    def priced(self) -> PricedChain:
        """Its schedule with the price."""
        return self.loops if isinstance(self.loops, PricedChain) else self.loops()


@record(eq=False)
class Division:
    """The cheapest parts found for a group, in the names of its chain, in the order of their last operators."""

    chain: Chain
    parts: tuple[Part, ...]
    cuts: tuple[Cut, ...]
    alone_now: dict[str, Price] = field(default_factory=dict)
    """Of every operator alone, by name, as far as they are known."""
    options: PlanningOptions | None = None
    """None where the division was taken over: then operators alone have no price."""
    completed: Callable[[Division], None] = lambda division: None
    """Is told when operators were priced alone that were not before."""
    found: list[Plan] = field(default_factory=list)
    """Of every part, once they were asked for."""

    def alone(self) -> Mapping[str, Price]:
        """The price of every operator alone, by name; empty where the division was taken over.

        Only reports need what comparisons of divisions did not.
        """
        missing = [operator for operator in self.chain.operators if operator.name not in self.alone_now]
        if self.options is not None and missing:
            for operator in missing:
                alone = sub_chain(self.chain, (operator,))
                self.alone_now[operator.name] = bound(self.options.price(alone).price, names_of(alone))
            self.completed(self)
        return self.alone_now

    def plans(self) -> Sequence[Plan]:
        """The plans of all parts, in canonical names."""
        if not self.found:
            self.found.extend(part.priced.plan(self._unfused_price(part), part.taken_over) for part in self.parts)
        return self.found

    def _unfused_price(self, part: Part) -> Price | None:
        """The price of a part's operators alone, where it has several and these are known."""
        if len(part.operators) == 1 or not self.alone():
            return None
        price = separate_price(self.alone()[operator.name] for operator in part.operators)
        if isinf(price.seconds):
            return None
        return bound(price, names_of(part.chain).inverse())


@remembered(MOST_DIVISIONS)
def division_of(chain: Chain, options: PlanningOptions) -> Division:
    """The division of a group of operators, as a canonical chain. Raises `Unplannable` where an operator has no plan."""
    answers = options.answers
    if answers is None:
        return _searched_division(chain, options)
    question = f"{chain!r} {_described(options)}"

    def keep(division: Division) -> None:
        kept_divisions.write(answers, question, lambda: _kept(division))

    kept = kept_divisions.read(answers, question, chain)
    if kept is not None:
        parts = tuple(_kept_part(chain, options, part) for part in kept.parts)
        return Division(chain, parts, kept.cuts, dict(kept.alone), options, keep)
    division = replace(_searched_division(chain, options), completed=keep)
    keep(division)
    return division


@lru_cache(maxsize=4)
def _described(options: PlanningOptions) -> str:
    """What a division depends on, but for the machine and its kernels."""
    planner = "" if options.planner is None else f" {options.planner!r}"
    return f"{options.fuse} {options.coefficients}{planner}"


def _kept_part(chain: Chain, options: PlanningOptions, kept: KeptPart) -> Part:
    operators = tuple(chain.operator(name) for name in kept.operators)
    part = sub_chain(chain, operators) if len(operators) < len(chain.operators) else chain
    return Part(operators, part, kept.price, cache(lambda: options.with_loops(part, kept.found)))


def _kept(division: Division) -> KeptDivision:
    """What is kept of a division."""
    parts = tuple(KeptPart(_names(part.operators), part.price, part.priced.found()) for part in division.parts)
    return KeptDivision(parts, division.cuts, tuple(division.alone_now.items()))


def _searched_division(chain: Chain, options: PlanningOptions) -> Division:
    work = _Dividing(chain, options)
    parts = work.divide()
    cuts = (work.cuts[tensor] for part in parts if (tensor := part.chain.output) in work.cuts)
    alone = {name: part.price for name, part in work.alone.items()}
    return Division(chain, tuple(parts), tuple(cuts), alone, options)


@dataclass(slots=True)
class _Dividing:
    """The search for the division of a group."""

    chain: Chain
    options: PlanningOptions
    alone: dict[str, Part] = field(default_factory=dict)
    cuts: dict[str, Cut] = field(default_factory=dict)
    """By the tensor that goes through memory."""
    parts: dict[tuple[str, ...], Part] = field(default_factory=dict)
    """By the names of their operators."""
    chains: dict[tuple[str, ...], Chain] = field(default_factory=dict)
    """By the names of their operators."""
    without_plan: dict[str, Unplannable] = field(default_factory=dict)
    """By operator, why it is no chain alone."""
    least: dict[tuple[Chain, float], Times | None] = field(default_factory=dict)
    """By the canonical chain of operators, and the time that they take apart: see `_least_if_slower`."""

    def divide(self) -> list[Part]:
        """The cheapest parts found."""
        group = self.chain.operators
        if (in_tiles := self._in_tiles(group)) is not None:
            return [in_tiles]
        self.alone = {operator.name: self._alone(operator) for operator in group}
        parts = self._fused(group)
        for part in parts:
            if part.operators[-1].name in self.without_plan and len(part.operators) == 1:
                raise self.without_plan[part.operators[-1].name]
        return parts

    def _alone(self, operator: Operator) -> Part:
        """An operator as a chain. One that a device cannot compute alone, as rows that fit no core, is endlessly slow."""
        try:
            return self._part((operator,))
        except Unplannable as problem:
            if self.options.planner is None or len(self.chain.operators) == 1:
                raise
            self.without_plan[operator.name] = problem
        chain = self._chain((operator,))
        price = Price((PriceTerm(TermKind.ARITHMETIC, inf, operator.name),))
        return Part((operator,), chain, price, partial(self.options.price, chain))

    def _fused(self, group: Operators) -> list[Part]:
        """The cheapest parts found, of operators whose prices alone are known."""
        if len(group) == 1:
            return [self.alone[group[0].name]]
        whole = self._whole(group)
        if whole is not None and self.options.fuse:
            return [whole]
        is_small = len(group) <= SMALL_GROUP
        parts = self._built_up(group, contractions=is_small)
        parts = parts if is_small else self._paired(parts)
        if whole is not None and not self._is_slower(whole, parts):
            return [whole]
        self._report_whole(group, parts)
        made = {part.chain.output: part for part in parts}
        return [made[operator.write.tensor] for operator in group if operator.write.tensor in made]

    def _in_tiles(self, group: Operators) -> Part | None:
        """A contraction with maps that all are applied in its micro tiles, as one chain; None where it is not sure to be best."""
        if self.options.planner is not None or self.options.fuse is False or len(group) == 1:
            return None
        if not are_alike(*self._chain(group).operators):
            return None
        try:
            if len(self.options.problem(self._chain(group)).context.in_tiles) < len(group) - 1:
                return None
            part = self._part(group)
        except Unplannable:
            return None
        return part if loses_nothing(part.price, self.options.machine.cores) else None

    def _report_whole(self, group: Operators, parts: list[Part]) -> None:
        """Add to the cuts between parts of a group what all of it costs as one chain, where that was found out."""
        if len(group) == 2 or _names(group) not in self.parts:
            return
        cores = self.options.machine.cores
        whole = WholeGroup(len(group), cores, self._part(group).price.on(cores), self._separate_s(parts))
        for part in parts:
            if cut := self.cuts.get(part.chain.output):
                self.cuts[cut.tensor] = replace(cut, whole=whole)

    def _whole(self, group: Operators) -> Part | None:
        """All operators as one chain, if that can be executed and is wanted."""
        is_large = self.options.fuse is None and len(group) > SMALL_GROUP
        parts = [self.alone[operator.name] for operator in group]
        try:
            if is_large and not (self._is_suggested(group) and self._can_pay(group)):
                return None
            if self._least_if_slower(group, parts) is not None:
                return None
            fused = self._part(group)
        except Unplannable:
            return None
        return fused if not self._is_slower(fused, parts) else None

    def _is_suggested(self, group: Operators) -> bool:
        """Whether some contraction of a group is better fused with those before it; True where none follows another."""
        pairs = [pair for pair in self._pairs(group) if len(pair) < len(group)]
        return not pairs or any(self._whole(pair) is not None for pair in pairs)

    def _pairs(self, group: Operators) -> Iterator[Operators]:
        """Every contraction of a group with what leads to it from the contractions before it, these included."""
        producers = {operator.write.tensor: operator for operator in group}
        for operator in filter(Operator.is_contraction, group):
            before = tuple(_leading_to(operator, producers))
            if any(producer.is_contraction() for producer in before):
                yield self._sorted((*before, operator))

    def _can_pay(self, group: Operators) -> bool:
        """Whether operators as one chain may cost no more than apart: found out without a search."""
        if self.options.planner is not None:
            return True
        problem = self.options.problem(self._chain(group))
        return can_cost(problem, self._separate(group).seconds * self.options.coefficients.least_gain)

    def _paired(self, parts: list[Part]) -> list[Part]:
        """Neighbours are fused in rounds, each part with one other at most, until no pair gains.

        So the length of chains doubles from round to round, and those of equal layers are searched once a round.
        """
        while True:
            fused = self._round(parts)
            if len(fused) == len(parts):
                return parts
            parts = fused

    def _round(self, parts: list[Part]) -> list[Part]:
        """Every part fused with the part that makes its operand, where that is wanted and that part is free."""
        free = {part.chain.output: part for part in parts}
        done: list[Part] = []
        for part in parts:
            for tensor in part.chain.inputs:
                producer = free.get(tensor) if part.chain.output in free else None
                if producer is not None and (fused := self._fuse(producer, part, tensor)) is not None:
                    done.remove(producer)
                    del free[tensor], free[part.chain.output]
                    part = fused
            done.append(part)
        return done

    def _built_up(self, group: Operators, *, contractions: bool) -> list[Part]:
        """Each operator is fused with the chains that produce its operands, as long as the fused chain is wanted; with
        `contractions`, these too are, else each begins a part of its own."""
        parts: list[Part] = []
        seeds = self._seeds(group) if self.options.planner is not None else {}
        for operator in group:
            if (seed := seeds.get(operator.name)) is not None:
                parts += [seed] if operator is seed.operators[-1] else []
                continue
            current = self._with_copies(parts, self.alone[operator.name])
            for tensor in current.chain.inputs if contractions or not operator.is_contraction() else ():
                producer = next((part for part in parts if part.chain.output == tensor), None)
                if producer is not None and (fused := self._fuse(producer, current, tensor)) is not None:
                    parts.remove(producer)
                    current = fused
            parts.append(current)
        return parts

    def _seeds(self, group: Operators) -> Mapping[str, Part]:
        """Products with the rows behind them and the next product that are wanted as one chain, by every operator in them."""
        seeds: dict[str, Part] = {}
        for run in self._runs(group):
            names = _names(run)
            try:
                part = self._part(run)
            except Unplannable:
                continue
            if seeds.keys().isdisjoint(names) and not self._is_slower(part, [self.alone[name] for name in names]):
                seeds |= dict.fromkeys(names, part)
        return seeds

    def _runs(self, group: Operators) -> Iterator[Operators]:
        """Every contraction with what makes one of its operands, back to the contractions before, where rows are reduced in
        between."""
        producers = {operator.write.tensor: operator for operator in group}
        for last in filter(Operator.is_contraction, group):
            for tensor in dict.fromkeys(read.tensor for read in last.reads):
                producer = producers.get(tensor)
                if producer is None or producer.is_contraction():
                    continue
                before = (producer, *_leading_to(producer, producers))
                if any(map(Operator.is_row_reduction, before)) and any(map(Operator.is_contraction, before)):
                    yield self._sorted((*before, last))

    def _with_copies(self, parts: list[Part], current: Part) -> Part:
        """A contraction with the copies that it reads, where these are cheaper at its beginning than at the ends of other parts.

        A padded image, for example, is then made for a block at a time, and the image itself lies between the chains.
        """
        for tensor in current.chain.inputs if self.options.fuse is None else ():
            producer = next((part for part in parts if part.chain.output == tensor), None)
            if producer is not None and (found := self._handed_on(producer, current)) is not None:
                parts[parts.index(producer)], current = found
        return current

    def _handed_on(self, producer: Part, consumer: Part) -> tuple[Part, Part] | None:
        """A part without the copy at its end, and its reader with it; None where that does not pay.

        The copy has no other reader: within a group every tensor is read by one operator (`fusible_groups`).
        """
        *before, last = producer.operators
        if not before or not last.is_index_change() or before[-1].write.tensor != last.reads[0].tensor:
            return None
        if not consumer.operators[0].is_contraction():
            return None
        rest, now_s = (last, *consumer.operators), self._separate_s([producer, consumer])
        try:
            first = self._part(tuple(before))
            left_s = now_s - first.price.on(self.options.machine.cores) + self.options.coefficients.call_s
            if self.options.planner is None and least_times_above(self.options.problem(self._chain(rest)), left_s) is not None:
                return None
            parts = first, self._part(rest)
        except Unplannable:
            return None
        return parts if self._separate_s([*parts]) < now_s else None

    def _fuse(self, producer: Part, consumer: Part, tensor: str) -> Part | None:
        """The fused chain if it is wanted; else None, and a cut that says why."""
        operators, separate = self._sorted((*producer.operators, *consumer.operators)), [producer, consumer]
        try:
            least = self._least_if_slower(operators, separate)
            fused = self._part(operators) if least is None else None
        except Unplannable as problem:
            ends = (self.chain.producer(tensor), *self.chain.consumers(tensor))
            apart_s = self._separate(operator for operator in ends if operator is not None).seconds
            reason = bound(problem.reason, names_of(self._chain(operators)))
            self.cuts[tensor] = Cut(tensor, float("inf"), apart_s, reason)
            return None
        if least is not None:
            self.cuts[tensor] = self._lost(tensor, least, separate, is_bound=True)
        elif fused is not None and self._is_slower(fused, separate):
            times = Times(fused.price.seconds, fused.price.on(self.options.machine.cores))
            self.cuts[tensor] = self._lost(tensor, times, separate)
            return None
        return fused

    def _lost(self, tensor: str, fused: Times, separate: list[Part], *, is_bound: bool = False) -> Cut:
        """A cut between two chains that are faster apart; `is_bound` says that `fused` is the least that they cost together."""
        apart_s = separate_price(part.price for part in separate).seconds
        if fused.seconds > apart_s:
            return Cut(tensor, fused.seconds, apart_s, SeparateFaster(is_bound))
        reason = FewerBlocks(self.options.machine.cores, fused.cores_s, self._separate_s(separate), is_bound)
        return Cut(tensor, fused.seconds, apart_s, reason)

    def _least_if_slower(self, operators: Operators, separate: list[Part]) -> Times | None:
        """The least that operators cost as one chain if that is slower than apart already: found out without a search."""
        if self.options.fuse or self.options.planner is not None:
            return None
        limit_s = self._limit_s(separate)
        chain = self._chain(operators)
        key = canonical_form(chain), limit_s
        if key not in self.least:
            self.least[key] = least_times_above(self.options.problem(chain), limit_s)
        return self.least[key]

    def _is_slower(self, fused: Part, separate: list[Part]) -> bool:
        """Whether a fused chain is not wanted."""
        return not self.options.fuse and fused.price.on(self.options.machine.cores) > self._limit_s(separate)

    def _limit_s(self, separate: list[Part]) -> float:
        """What chains may cost together on all cores: more than apart by what the price cannot tell, as they need no memory in
        between.

        Several products must gain by it: what the price does not see (operands that are packed in every block, blocks that are
        small in every direction) is on the side of fusion. Products with a few numbers that are in the text, as transforms of
        tiles are, pack nothing: prices hide what moves between them behind arithmetic.
        """
        apart_s = self._separate_s(separate)
        about_s = apart_s * self.options.coefficients.least_gain
        if _count(separate, Operator.is_contraction) < 2:
            return about_s
        if self.options.planner is not None or _count(separate, self._has_operands) > 1:
            return apart_s
        return min(about_s, apart_s + self._between_s(separate))

    def _has_operands(self, operator: Operator) -> bool:
        """Whether it is a contraction of which no operand is a matrix of known entries."""
        return operator.is_contraction() and all(self.chain.tensor(read.tensor).entries is None for read in operator.reads)

    def _between_s(self, parts: list[Part]) -> float:
        """The time on all cores in which what lies between parts is written and read, if their blocks' level cannot hold it."""
        machine, made = self.options.machine, {part.chain.output for part in parts}
        level, beyond = machine.levels[machine.fusion_position : machine.fusion_position + 2]
        sizes = (_size_bytes(self.chain, tensor) for part in parts for tensor in part.chain.inputs if tensor in made)
        moved_bytes = sum(2 * size for size in sizes if size > level.usable_bytes / level.shared_by_cores)
        return moved_bytes / beyond.bandwidth_bytes_per_s / machine.cores

    def _separate_s(self, parts: list[Part]) -> float:
        """The time of several chains one after the other on all cores, in one call."""
        cores, call_s = self.options.machine.cores, self.options.coefficients.call_s
        return sum(part.price.on(cores) for part in parts) - (len(parts) - 1) * call_s

    def _separate(self, operators: Iterable[Operator]) -> Price:
        return separate_price(self.alone[operator.name].price for operator in operators)

    def _part(self, operators: Operators) -> Part:
        """Operators as one chain, with its price. Raises `Unplannable` where it has no plan."""
        count(Counted.PLANS_ASKED)
        names = _names(operators)
        if names not in self.parts:
            chain = self._chain(operators)
            priced = self.options.price(chain)
            self.parts[names] = Part(operators, chain, bound(priced.price, names_of(chain)), priced)
        return self.parts[names]

    def _chain(self, operators: Operators) -> Chain:
        """The chain of operators, made once."""
        if len(operators) == len(self.chain.operators):
            return self.chain
        names = _names(operators)
        if names not in self.chains:
            self.chains[names] = sub_chain(self.chain, operators)
        return self.chains[names]

    def _sorted(self, operators: Iterable[Operator]) -> Operators:
        names = {operator.name for operator in operators}
        return tuple(operator for operator in self.chain.operators if operator.name in names)


def _size_bytes(chain: Chain, tensor: str) -> int:
    """Of a tensor in memory while a chain runs."""
    return prod(map(planned_extent, chain.tensor(tensor).shape)) * held_bytes(chain, tensor)


def _count(parts: Iterable[Part], is_counted: Callable[[Operator], bool]) -> int:
    """The parts that have such an operator."""
    return sum(any(map(is_counted, part.operators)) for part in parts)


def _names(operators: Operators) -> tuple[str, ...]:
    return tuple(operator.name for operator in operators)


def _leading_to(operator: Operator, producers: Mapping[str, Operator]) -> Iterator[Operator]:
    """The operators that an operator depends on, back to the first contractions: each once, as only one operator reads it."""
    left = [operator]
    while left:
        for tensor in dict.fromkeys(access.tensor for access in left.pop().reads):
            if producer := producers.get(tensor):
                yield producer
                left += [producer] if not producer.is_contraction() else []
