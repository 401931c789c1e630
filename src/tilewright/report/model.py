"""A plan of many chains, for a person: equal chains as one entry with a count, and so are equal reasons for cuts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator

from tilewright.graph.short_names import short_name
from tilewright.lower.workspace import arena_bytes
from tilewright.plan.binding import bound
from tilewright.plan.chains import Names, canonical_form
from tilewright.plan.reasons import OtherAlgorithm, OtherAlgorithms
from tilewright.plan.types import Cut, ModelPlan, Plan, Rejected
from tilewright.records import record
from tilewright.report import units
from tilewright.report.execution import execution_details
from tilewright.report.layout import beside, columns, section, wrapped
from tilewright.report.notation import formula
from tilewright.report.reasons import fusion_text, rejected_text, taken_over_text, tuned_text, unfused_text

MOST_NAMES = 8
"""Of images."""
MOST_NAME_LINES = 3
"""Of the operators of a chain: files may give long names."""
MOST_LINES = 120
"""From so many lines on formulas and schedules are left out."""


@record
class Kind:
    """Chains of one structure; `name` is that of the first."""

    plans: tuple[Plan, ...]

    @property
    def first(self) -> Plan:
        """The chain that stands for all."""
        return self.plans[0]

    @property
    def seconds(self) -> float:
        """Predicted for all of them on one thread."""
        return sum(plan.predicted_seconds for plan in self.plans)


def explain_model(model_plan: ModelPlan) -> str:
    """Every kind of chains with its time, bytes and decisions, then every place where two chains were not fused, and why."""
    kinds = kinds_of(model_plan)
    whole = _text(model_plan, kinds, detailed=True)
    return "\n".join(whole if len(whole) <= MOST_LINES else _text(model_plan, kinds, detailed=False))


def between_chains(model_plan: ModelPlan) -> list[str]:
    """The memory between chains, the rows of tensors there that are padded, and what constants alone decide."""
    size_bytes, alive_bytes = arena_bytes(model_plan)
    padded = sum(layout.row_padding > 0 for _, layout in model_plan.layouts)
    constant = len(model_plan.constant_part.operators) if model_plan.constant_part is not None else 0
    alive = f"{units.size(alive_bytes)} of them alive at once"
    spread = f"; {units.quantity(padded, 'tensors')} with padded rows" if padded else ""
    arena = [f"tensors between chains take {units.size(size_bytes)}, {alive}{spread}"] if size_bytes else []
    ahead = [f"{units.quantity(constant, 'operators')} of constants run once, when the kernel is loaded"] if constant else []
    return [*arena, *_layouts(model_plan), *ahead]


def _layouts(model_plan: ModelPlan) -> list[str]:
    """How images between operators lie, those named of which there are fewer."""
    if model_plan.images is None or not model_plan.images.channels_last:
        return []
    last, written = model_plan.images.channels_last, model_plan.images.as_written
    head = f"{units.quantity(len(last) + len(written), 'images')} between operators"
    if not written:
        return [f"{head}, all with channels last"]
    ways = [(written, "as written"), (last, "with channels last")]
    (few, how), (_, rest) = sorted(ways, key=lambda way: len(way[0]))
    named = ", ".join([*map(short_name, few[:MOST_NAMES]), *(["..."] if len(few) > MOST_NAMES else [])])
    return wrapped(f"{head}: {named} {how}; the others {rest}")


def kinds_of(model_plan: ModelPlan) -> tuple[Kind, ...]:
    """The chains of a model by structure, in the order in which they run first."""
    found: dict[Hashable, list[Plan]] = {}
    for plan in model_plan.plans:
        found.setdefault(canonical_form(plan.chain), []).append(plan)
    return tuple(Kind(tuple(plans)) for plans in found.values())


def _text(model_plan: ModelPlan, kinds: tuple[Kind, ...], *, detailed: bool) -> list[str]:
    predicted, machine = model_plan.predicted_seconds, model_plan.plans[0].machine
    floor = sum(plan.floor.seconds for plan in model_plan.plans)
    many = f"{len(model_plan.plans)} chains" + (f" of {len(kinds)} kinds" if len(kinds) < len(model_plan.plans) else "")
    lines = [
        f"{model_plan.graph.name}: {many}, {units.of_a_call(predicted)}",
        *section("machine", [f"{machine.name}; floor of all chains {units.seconds(floor)}"]),
        *section("arena", between_chains(model_plan)),
        *section("chains", _table(kinds)),
        "",
    ]
    for number, kind in enumerate(kinds, 1) if detailed else ():
        lines += [*section(f"[{number}]", _details(kind)), ""]
    return [
        *lines,
        *section("decisions", _decisions(kinds)),
        *section("algorithms", _of_kinds(kinds, lambda plan: map(rejected_text, filter(_is_algorithm, plan.rejected)))),
        *section("not searched", _of_kinds(kinds, lambda plan: map(taken_over_text, filter(None, [plan.taken_over])))),
        *section("tuned", _of_kinds(kinds, lambda plan: map(tuned_text, filter(None, [plan.tuned])))),
        *section("not fused", _cuts(model_plan.cuts, kinds)),
    ]


def _of_kinds(kinds: tuple[Kind, ...], texts: Callable[[Plan], Iterable[str]]) -> list[str]:
    """What is said of the first chain of each kind, behind its number."""
    return wrapped(*(f"[{number}] {text}" for number, kind in enumerate(kinds, 1) for text in texts(kind.first)))


def _is_algorithm(lost: Rejected) -> bool:
    return isinstance(lost.alternative, OtherAlgorithm | OtherAlgorithms)


def _decisions(kinds: tuple[Kind, ...]) -> list[str]:
    """Every execution detail once, with the chains, operators and tensors that it holds for."""
    owners: dict[str, list[str]] = {}
    for number, kind in enumerate(kinds, 1):
        for detail in execution_details(kind.first):
            owners.setdefault(detail.text, []).append(" ".join([f"[{number}]", ", ".join(detail.subjects)]).rstrip())
    return wrapped(*(f"{text}: {'; '.join(named)}" for text, named in owners.items()))


def _table(kinds: tuple[Kind, ...]) -> list[str]:
    """One row per kind: count, times, share of the whole, share of peak, bytes, and what it consists of."""
    total = sum(kind.seconds for kind in kinds)
    rows = [["", "count", "each", "all", "share", "peak", "bytes"]]
    for number, kind in enumerate(kinds, 1):
        plan = kind.first
        peak = plan.floor.compute_s / plan.predicted_seconds if plan.predicted_seconds else 0.0
        figures = [units.seconds(plan.predicted_seconds), units.seconds(kind.seconds)]
        shares = [units.percent(kind.seconds / total) if total else "", units.percent(peak)]
        rows.append([f"[{number}]", str(len(kind.plans)), *figures, *shares, units.size(plan.floor.compulsory_bytes)])
    heads = columns(rows, right=range(1, 7))
    names = ["operators", *(" ".join(operator.name for operator in kind.first.chain.operators) for kind in kinds)]
    return [line for head, text in zip(heads, names, strict=True) for line in beside(head, text, MOST_NAME_LINES)]


def _details(kind: Kind) -> Iterator[str]:
    """What the first chain of a kind computes and in which blocks, and what fusing it gains."""
    plan = kind.first
    yield from wrapped(*map(formula, plan.chain.operators))
    outer = ", ".join(f"{loop.axis} by {loop.tile}" for loop in plan.schedule.path(plan.chain.operators[-1].name))
    scratch = f"scratch per thread {units.size(plan.scratch_bytes)}"
    names = dict.fromkeys(operator.micro_kernel for operator in plan.operators if operator.micro_kernel)
    kernels = ", ".join(names) or "vector loops"
    yield from wrapped("; ".join(filter(None, (f"blocks {outer}" if outer else "", scratch, kernels))))
    if len(plan.chain.operators) > 1:
        yield fusion_text(plan)


def _cuts(cuts: tuple[Cut, ...], kinds: tuple[Kind, ...]) -> list[str]:
    """Equal cuts once, with their number, behind that of the chain that writes the tensor; names are those of its first chain."""
    names = _first_names(kinds)
    writers = {kind.first.chain.output: f"[{number}] " for number, kind in enumerate(kinds, 1)}
    counts = Counter((writers.get(cut.tensor, ""), unfused_text(cut)) for cut in (bound(cut, names) for cut in cuts))
    times = {cut: f"{count} x " if count > 1 else "" for cut, count in counts.items()}
    return wrapped(*(f"{writer}{many}{text}" for (writer, text), many in times.items()))


def _first_names(kinds: tuple[Kind, ...]) -> Names:
    """Of every operator, and of every tensor that one writes, the name in the first chain of the kind."""
    tensors: dict[str, str] = {}
    operators: dict[str, str] = {}
    for kind in kinds:
        for plan in kind.plans:
            for original, copy in zip(kind.first.chain.operators, plan.chain.operators, strict=True):
                operators[copy.name], tensors[copy.write.tensor] = original.name, original.write.tensor
    return Names({}, tensors, operators)
