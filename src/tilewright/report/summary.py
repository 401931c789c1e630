"""The first three lines of `explain`: the bottleneck, the largest loss against the floor, and what the user could change.

Every figure is one of the plan, or a difference of two. A gain is an upper bound: the time that a change removes at most.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tilewright.graph.expressions.scalar_functions import AS_STORED
from tilewright.graph.types import Operator, SymbolicExtent, planned_extent
from tilewright.plan.reasons import Barrier, CannotFuse, FewerBlocks
from tilewright.plan.schedule import Pack
from tilewright.plan.types import Cut, ModelPlan, Plan, Price, PriceTerm, TermKind
from tilewright.records import record
from tilewright.report import units
from tilewright.report.layout import clip
from tilewright.report.notation import packed_tensor

COMPUTE = (TermKind.ARITHMETIC, TermKind.ARITHMETIC_AND_FUNCTIONS)
NEAR_FLOOR = 1.1
"""A price of so many times the floor needs no change."""
LEAST_SHARE = 0.01
"""Of the time, from which on a change is worth a word."""
NAMES_WIDTH = 28


@record
class Change:
    """What the user could change, and the seconds that it saves at most; None where the plan has no figure."""

    text: str
    gain_s: float | None = None


def summary(model_plan: ModelPlan, numpy_nodes: Sequence[str] = ()) -> list[str]:
    """The three lines, none without chains; `numpy_nodes` are nodes of the model that run as NumPy beside the plan."""
    if not model_plan.plans:
        return []
    texts = {
        "bottleneck": _bottleneck(model_plan),
        "largest loss": _largest_loss(model_plan),
        "to change": _best_change(model_plan, numpy_nodes),
    }
    return [clip(f"{label:<12}  {text}") for label, text in texts.items()]


def counted(price: Price) -> tuple[PriceTerm, ...]:
    """The terms that add up to a price: of each operator's overlapping ones the largest."""
    longest: dict[str, PriceTerm] = {}
    for term in price.terms:
        if term.kind.overlaps and (term.operator not in longest or term.seconds > longest[term.operator].seconds):
            longest[term.operator] = term
    return tuple(term for term in price.terms if not term.kind.overlaps or term is longest[term.operator])


def _bottleneck(model_plan: ModelPlan) -> str:
    costs = [(plan, term, term.seconds) for plan in model_plan.plans for term in counted(plan.price)]
    subject, seconds = _largest(_once(costs), len(model_plan.plans))
    total = model_plan.predicted_seconds
    share = units.percent(seconds / total if total else 0)
    return f"{subject}: {units.seconds(seconds)} of {units.of_a_call(total)} ({share})"


def _largest_loss(model_plan: ModelPlan) -> str:
    floors = [plan.floor for plan in model_plan.plans]
    is_computing = sum(floor.compute_s for floor in floors) >= sum(floor.memory_s for floor in floors)
    kind = "arithmetic" if is_computing else "memory"
    floor = f"the floor ({units.seconds(sum(floor.seconds for floor in floors))}, {kind})"
    losses = list(_once((plan, term, lost) for plan in model_plan.plans for term, lost in _losses(plan)))
    total = sum(lost for _, _, lost in losses)
    if total <= 0:
        return f"none: the price is not above {floor}"
    subject, seconds = _largest(losses, len(model_plan.plans))
    return f"{subject}: {units.seconds(seconds)} of {units.seconds(total)} above {floor}"


def _losses(plan: Plan) -> Iterator[tuple[PriceTerm, float]]:
    """What is left of the terms of a price when the floor is taken off: first off those that pay for what the floor counts."""
    is_computing = plan.floor.compute_s >= plan.floor.memory_s
    left = plan.floor.seconds

    def rank(term: PriceTerm) -> tuple[bool, bool, float]:
        pays = term.kind in COMPUTE if is_computing else term.kind is TermKind.TRAFFIC
        return not pays, not term.kind.overlaps, -term.seconds

    for term in sorted(counted(plan.price), key=rank):
        taken = max(0.0, min(left, term.seconds))
        left -= taken
        yield term, term.seconds - taken


def _once(costs: Iterable[tuple[Plan, PriceTerm, float]]) -> Iterator[tuple[Plan, PriceTerm, float]]:
    """Costs of chains that run one after the other: that of the call itself once."""
    is_called = False
    for plan, term, seconds in costs:
        if term.kind is not TermKind.CALL or not is_called:
            yield plan, term, seconds
        is_called |= term.kind is TermKind.CALL


def _largest(costs: Iterable[tuple[Plan, PriceTerm, float]], chains: int) -> tuple[str, float]:
    """The kind of cost that takes most, with the operators or chains that most of it is of, and its seconds."""
    by_kind: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for plan, term, seconds in costs:
        kind = f"{term.kind} into {term.level}" if term.level else str(term.kind)
        by_kind[kind][term.operator or (plan.chain.name if chains > 1 else "")] += seconds
    kind, owners = max(by_kind.items(), key=lambda item: sum(item[1].values()), default=("nothing", {}))
    total = sum(owners.values())
    named = [name for name in sorted(owners, key=lambda name: -owners[name]) if name and owners[name] > LEAST_SHARE * total]
    return f"{kind} of {_listed(named)}" if named else kind, total


def _listed(names: Sequence[str]) -> str:
    """As many names as there is room for, and how many more there are.

    >>> _listed(["conv", "conv_2"]), _listed(["a_long_name", "another_long_name", "c"])
    ('conv, conv_2', 'a_long_name and 2 more')
    """
    for count in range(len(names), 1, -1):
        text = ", ".join(names[:count]) + _more(len(names) - count)
        if len(text) <= NAMES_WIDTH:
            return text
    first = names[0] if len(names[0]) <= NAMES_WIDTH else f"{names[0][: NAMES_WIDTH - 3]}..."
    return first + _more(len(names) - 1)


def _more(count: int) -> str:
    return f" and {count} more" if count else ""


def _best_change(model_plan: ModelPlan, numpy_nodes: Sequence[str]) -> str:
    """The change that saves most; one without a figure where none saves anything worth a word."""
    if numpy_nodes:
        return f"the nodes that run as NumPy, whose time is not predicted: {_listed(numpy_nodes)}"
    total, floor = model_plan.predicted_seconds, sum(plan.floor.seconds for plan in model_plan.plans)
    changes = [*_of_calls(model_plan), *_of_cuts(model_plan.cuts)]
    for plan in model_plan.plans:
        changes += [*_of_constants(plan, model_plan), *_of_layouts(plan, model_plan)]
        changes += [*_of_types(plan), *_of_sizes(plan), *_of_search(plan)]
    best = max(changes, key=lambda change: change.gain_s or 0.0, default=Change(""))
    if best.gain_s is not None and best.gain_s > LEAST_SHARE * total:
        return f"{best.text}; saves at most {units.seconds(best.gain_s)}"
    if 0 < total <= NEAR_FLOOR * floor:
        return f"nothing: the price is {total / floor:.2f} times the floor"
    without_figure = (change.text for change in changes if change.gain_s is None)
    tuning = "" if model_plan.machine.accelerator is not None else "; `tilewright tune` measures other plans"
    return next(without_figure, f"nothing by options{tuning}")


def _of_calls(model_plan: ModelPlan) -> Iterator[Change]:
    total, cores = model_plan.predicted_seconds, model_plan.machine.cores
    calls_s = [_seconds(plan, TermKind.CALL) for plan in model_plan.plans]
    on_cores = sum(plan.price.on(cores) for plan in model_plan.plans) - sum(calls_s[1:])
    if on_cores > total:
        yield Change(f"threads=1: on {cores} cores a call takes {units.seconds(on_cores)}", on_cores - total)
    if calls_s[0] > total / 2:
        yield Change("several calls into one (a batch): most of the time is the call itself", calls_s[0])


def _of_cuts(cuts: Sequence[Cut]) -> Iterator[Change]:
    """What keeps chains from being fused, as far as a user decides on it."""
    for cut in cuts:
        match cut.reason:
            case CannotFuse(Barrier.SWITCHED_OFF):
                yield Change(f"fuse=False or --fuse never (leave it out): {cut.tensor} may then be fused", _gain_s(cut))
            case CannotFuse(Barrier.GRAPH_OUTPUT):
                yield Change(f"the outputs: {cut.tensor} is one, and so cannot be fused", _gain_s(cut))
            case CannotFuse(Barrier.ELEMENT_TYPE | Barrier.EXACT_ARITHMETIC, _, dtype):
                yield Change(f"the element type, where float32 suffices: {cut.tensor} is {dtype}, and not fused", _gain_s(cut))
            case FewerBlocks(cores):
                text = f"threads=1, fuse=True (--fuse always): fused, {cut.tensor} has too few blocks for {cores} cores"
                yield Change(text, _gain_s(cut))


def _gain_s(cut: Cut) -> float | None:
    """What fusing at a cut would save on one thread, where both prices are known."""
    if cut.unfused_seconds is None or cut.fused_seconds == float("inf"):
        return None
    return max(0.0, cut.unfused_seconds - cut.fused_seconds)


def _of_constants(plan: Plan, model_plan: ModelPlan) -> Iterator[Change]:
    packed = [packed_tensor(leaf, plan.chain) for _, leaf in plan.schedule.leaves() if isinstance(leaf, Pack)]
    given = [name for name in dict.fromkeys(packed) if name in model_plan.graph.inputs]
    if given:
        text = f"{_listed(given)} to a constant, where calls do not vary it: it is packed once then"
        yield Change(text, _seconds(plan, TermKind.PACKING))


def _of_layouts(plan: Plan, model_plan: ModelPlan) -> Iterator[Change]:
    """Transpositions at the ends of a graph: of inputs, and of results."""
    ends = {*model_plan.graph.inputs, *model_plan.graph.outputs}
    for operator in plan.chain.operators:
        moved = [access.tensor for access in (*operator.reads, operator.write) if access.tensor in ends]
        if moved and _is_transposition(operator):
            yield Change(f"the layout of {moved[0]}: {operator.name} only transposes", _operator_s(plan, operator.name))


def _is_transposition(operator: Operator) -> bool:
    """Whether an operator only writes what it reads with its dimensions in another order."""
    if not operator.is_index_change() or operator.reads[0].guard is not None:
        return False
    before, after = operator.reads[0].indices, operator.write.indices
    return before != after and set(before) == set(after)


def _of_types(plan: Plan) -> Iterator[Change]:
    chain, machine = plan.chain, plan.machine
    gain = 1 - machine.highest_peak("float32") / machine.highest_peak("bfloat16")
    is_rounded = any(AS_STORED["bfloat16"] in operator.functions() for operator in chain.operators)
    for operator in () if is_rounded or gain <= 0 else chain.operators:
        factors = [chain.tensor(read.tensor) for read in operator.reads[:2]]
        has_weights = operator.is_contraction() and any(tensor.name in chain.constants for tensor in factors)
        if has_weights and all(tensor.dtype == "float32" for tensor in factors):
            text = f'precision to "bf16", which rounds operands of {operator.name}'
            yield Change(text, gain * _operator_s(plan, operator.name, COMPUTE))
    for term in plan.price.terms:
        if term.kind is TermKind.EXACT_ARITHMETIC:
            dtype = chain.tensor(chain.operator(term.operator).write.tensor).dtype
            yield Change(f"the element type, where float32 suffices: {term.operator} is computed in {dtype}", term.seconds)


def _of_sizes(plan: Plan) -> Iterator[Change]:
    lanes = plan.machine.lanes(4)
    for part in plan.operators:
        column = part.roles.column if part.roles is not None else None
        extent = planned_extent(plan.chain.extents[column]) if column is not None else 0
        if extent % lanes:
            text = f"{column}, which is {extent}, to a multiple of {lanes}: vectors of {part.operator} lie along it"
            yield Change(text, (1 - part.efficiency) * _operator_s(plan, part.operator, COMPUTE))
    for name, size in plan.chain.extents.items():
        if isinstance(size, SymbolicExtent):
            yield Change(f"the hint of {name} (tw.Dim), where calls have another size: it is planned as {planned_extent(size)}")


def _of_search(plan: Plan) -> Iterator[Change]:
    """What lost to a choice of the user, or was not searched."""
    alone, cores, known = plan.unfused_price, plan.machine.cores, plan.taken_over
    if alone is not None and alone.seconds < plan.price.seconds and alone.on(cores) < plan.price.on(cores):
        yield Change(
            f"fuse=True or --fuse always (leave it out) for {_listed([plan.chain.name])}", plan.price.seconds - alone.seconds
        )
    if known is not None and known.efficiency < known.source_efficiency:
        gain_s = plan.predicted_seconds * (1 - known.efficiency / known.source_efficiency)
        yield Change(f"the plan, by `tilewright tune`: loops of {plan.chain.name} were not searched", gain_s)


def _seconds(plan: Plan, kind: TermKind) -> float:
    return sum(term.seconds for term in plan.price.terms if term.kind is kind)


def _operator_s(plan: Plan, operator: str, kinds: Sequence[TermKind] = tuple(TermKind)) -> float:
    """What an operator adds to the price of its chain."""
    return sum(term.seconds for term in counted(plan.price) if term.operator == operator and term.kind in kinds)
