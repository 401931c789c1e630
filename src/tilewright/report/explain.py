"""A plan, for a person: what will run, why, and what lost. Printing only; every figure is one that the plan holds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from tilewright.graph.contraction_roles import ContractionRoles
from tilewright.graph.types import Extent, planned_extent
from tilewright.kernels.registry import for_machine
from tilewright.leaves.declaration import Problem
from tilewright.leaves.registry import leaf_of, refusals
from tilewright.machine.machine import Machine
from tilewright.plan.decisions.micro_kernel import contraction_problem
from tilewright.plan.schedule import Pack, Storage
from tilewright.plan.types import KeyBlocks, LevelPlan, ModelPlan, OperatorPlan, Plan, Price, PriceTerm, Rejected
from tilewright.report import units
from tilewright.report.devices import device_lines, device_rows
from tilewright.report.execution import borders, execution_lines
from tilewright.report.layout import columns, section, wrapped
from tilewright.report.model import between_chains, explain_model, kinds_of
from tilewright.report.notation import formula, layout_text, packed_tensor, schedule_rows
from tilewright.report.reasons import fusion_text, limit_text, note_text, rejected_text, taken_over_text, tuned_text, unfused_text
from tilewright.report.summary import counted, summary

PAGE_LINES = 60
MOST_PAGES = 3
"""How many chains have a page each."""
LEAST_REJECTED = 3
"""How many rejected alternatives are shown even where the page is full."""
STORED = {Storage.KEEP: "kept", Storage.RECOMPUTE: "recomputed", Storage.LINE_BUFFER: "in a circular line buffer"}


def explain(model_plan: ModelPlan, *, full: bool = False, numpy_nodes: Sequence[str] = ()) -> str:
    """Three lines (`summary`), every chain of the model with its reasons, then every place where two chains were not fused.

    `numpy_nodes` are nodes of a model that run beside the plan.
    Behind the three, a chain of a few operators fits on a page of 60 lines of 120 columns: fewer rejected alternatives are shown.
    A few chains have a page each; of more, equal ones are one entry. `full` has a page of any length for every chain, equal ones
    once, behind their table.
    """
    with units.predicting(any(plan.machine.accelerator is not None for plan in model_plan.plans)):
        return "\n".join([*summary(model_plan, numpy_nodes), _details(model_plan, full)])


def _details(model_plan: ModelPlan, full: bool) -> str:
    name, plans, cuts = model_plan.graph.name, model_plan.plans, model_plan.cuts
    room = math.inf if full else PAGE_LINES
    if len(plans) == 1 and not cuts:
        return "\n".join(_page(plans[0], name, room))
    if len(plans) > MOST_PAGES:
        kinds = kinds_of(model_plan) if full else ()
        pages = [("", *_page(kind.first, f"[{n}] {kind.first.chain.name}", room)) for n, kind in enumerate(kinds, 1)]
        return "\n".join([explain_model(model_plan), *(line for page in pages for line in page)])
    count = units.quantity(len(plans), "chains")
    lines = [f"{name}: {count}, {units.of_a_call(model_plan.predicted_seconds)}", *between_chains(model_plan), ""]
    for plan in plans:
        lines += [*_page(plan, plan.chain.name, room), ""]
    return "\n".join([*lines, *section("not fused", wrapped(*map(unfused_text, cuts)))]).rstrip("\n")


def explain_plan(plan: Plan) -> str:
    """One chain on lines of 120 columns: the list of rejected alternatives is cut to what is left of a page of 60."""
    with units.predicting(plan.machine.accelerator is not None):
        return "\n".join(_page(plan, plan.chain.name, PAGE_LINES))


def _page(plan: Plan, name: str, room: float) -> list[str]:
    lines = [
        _title(plan, name),
        *section("machine", _machine(plan.machine)),
        *section("chain", _chain(plan)),
        *section("schedule", _schedule(plan)),
        *(_vectors(plan) if plan.machine.accelerator is None else section("kernels", device_rows(plan))),
        *section("levels", _levels(plan)),
        *section("traffic", _traffic(plan)),
        *section("price", _price(plan.price, plan.machine.cores if plan.machine.accelerator is None else 1)),
        *section("floor", _floor(plan)),
        *section("fusion", [_fusion(plan)]),
    ]
    return [*lines, *section("rejected", _rejected(plan.rejected, room - len(lines)))]


def _vectors(plan: Plan) -> list[str]:
    """What vectors, micro kernels and leaves do."""
    return [
        *section("padding", wrapped(*(border.text() for border in borders(plan)))),
        *section("decisions", wrapped(*execution_lines(plan))),
        *section("kernels", _kernels(plan)),
        *section("leaves", wrapped(*_leaves(plan))),
    ]


def _title(plan: Plan, name: str) -> str:
    share = plan.floor.compute_s / plan.predicted_seconds if plan.predicted_seconds else 0.0
    predicted = f"{units.of_a_call(plan.predicted_seconds)}, {units.percent(share)} of peak"
    return f"{name} on {plan.machine.name}: {predicted}"


def _machine(machine: Machine) -> list[str]:
    if machine.accelerator is not None:
        return device_lines(machine, machine.accelerator)
    features = " ".join(machine.notable_features)
    peaks = ", ".join(f"{dtype} {units.flop_rate(rate)}" for dtype, rate in machine.peak_flops_per_s)
    registers = f"{machine.vector_registers} registers of {machine.vector_bits} bits"
    return [
        f"{machine.architecture} ({features}), {units.quantity(machine.cores, 'cores')}, {registers}",
        *wrapped(f"peak per core ({machine.peak_source.value}): {peaks}"),
    ]


def _chain(plan: Plan) -> list[str]:
    extents = ", ".join(_extent(name, extent) for name, extent in plan.chain.extents.items())
    return wrapped(*map(formula, plan.chain.operators), f"extents {extents}")


def _extent(name: str, extent: Extent) -> str:
    if isinstance(extent, int):
        return f"{name} {extent}"
    return f"{name} {extent} in {extent.low}..{extent.high} (planned as {planned_extent(extent)})"


def _schedule(plan: Plan) -> list[str]:
    rows = schedule_rows(plan.schedule, plan.chain, plan.parallel_axes)
    stored = ", ".join(f"{tensor} {_stored(plan, tensor)}" for tensor in plan.chain.intermediates)
    scratch = f"scratch per thread {units.size(plan.scratch_bytes)}" if plan.machine.accelerator is None else ""
    ahead = f"prepacked constants {units.size(plan.constant_bytes)}" if plan.schedule.ahead else ""
    parallel = f"parallel over {', '.join(plan.parallel_axes)}" if plan.parallel_axes else "not parallel"
    thinned = f"not every tile of {', '.join(plan.thinned_axes)} was tried: an operator has too many combinations"
    remarks = [
        _key_blocks(plan.key_blocks) if plan.key_blocks is not None else "",
        "; ".join(filter(None, (stored, scratch, ahead, parallel))),
        thinned if plan.thinned_axes else "",
        f"not searched: {taken_over_text(plan.taken_over)}" if plan.taken_over is not None else "",
        f"tuned: {tuned_text(plan.tuned)}" if plan.tuned is not None else "",
    ]
    return [*columns(rows), *wrapped(*remarks)]


def _key_blocks(blocks: KeyBlocks) -> str:
    rows = " x ".join(f"{axis} {tile}" for axis, tile in blocks.rows)
    named = ((blocks.empty, "left out"), (blocks.partial, "masked"), (blocks.full, "not masked"))
    shares = ", ".join(f"{units.percent(share)} {treatment}" for share, treatment in named)
    more = "" if blocks.is_known else "; data of the call leaves out more"
    return f"{blocks.axis} where {' and '.join(map(limit_text, blocks.limits))}: per block of {rows or 'rows'} {shares}{more}"


def _stored(plan: Plan, tensor: str) -> str:
    """What becomes of an intermediate: only the last result of a micro tile is stored."""
    readers = [plan.operator_plan(operator.name) for operator in plan.chain.consumers(tensor)]
    return "in registers" if any(reader.epilogue_of for reader in readers) else STORED[plan.schedule.storage_of(tensor)]


def _kernels(plan: Plan) -> list[str]:
    packs = [leaf for _, leaf in plan.schedule.leaves() if isinstance(leaf, Pack)]
    texts = [(pack, f"packed {layout_text(pack)}") for pack in packs]
    texts += [(pack, "prepacked") for pack in plan.schedule.ahead]
    unfused = [operator for operator in plan.operators if not operator.epilogue_of]
    return columns([row for operator in unfused for row in (_kernel_row(plan, operator, texts), *_epilogue_row(plan, operator))])


def _epilogue_row(plan: Plan, operator: OperatorPlan) -> list[list[str]]:
    """The maps that a contraction's micro tiles apply."""
    maps = [candidate.operator for candidate in plan.operators if candidate.epilogue_of == operator.operator]
    return [[", ".join(maps), f"epilogue of {operator.operator}", "", "", ""]] if maps else []


def _kernel_row(plan: Plan, operator: OperatorPlan, packs: list[tuple[Pack, str]]) -> list[str]:
    operand_packs = ((pack, text) for pack, text in packs if pack.operator == operator.operator)
    packing = ", ".join(f"{packed_tensor(pack, plan.chain)} {text}" for pack, text in operand_packs) or "reads in place"
    if operator.micro_kernel is None:
        return [operator.operator, leaf_of(operator.leaf).name if operator.leaf is not None else "", "", "", packing]
    roles = _roles(operator.roles) if operator.roles else ""
    return [operator.operator, operator.micro_kernel, roles, f"{units.percent(operator.efficiency)} useful", packing]


def _leaves(plan: Plan) -> Iterator[str]:
    """The leaf of every operator, and why leaves before it do not compute it; of matrix tiles, why micro kernels do not."""
    for part in plan.operators:
        if part.leaf is None or part.epilogue_of:
            continue
        by_reason: dict[str, list[str]] = {}
        for refusal in refusals(_problem(plan, part), part.leaf):
            by_reason.setdefault(refusal.reason, []).append(refusal.leaf)
        refused = [f"not {', '.join(names)}: {reason}" for reason, names in by_reason.items()]
        if refused or part.micro_kernel is None:
            yield "; ".join([f"{part.operator}: {leaf_of(part.leaf).name}", *refused])


def _problem(plan: Plan, part: OperatorPlan) -> Problem:
    """What leaves were asked."""
    operator, tensors = plan.chain.operator(part.operator), {tensor.name: tensor for tensor in plan.chain.tensors}
    if part.micro_kernel is None:
        return Problem.of(operator, tensors)
    return contraction_problem(plan.chain, operator, for_machine(plan.machine, element_types=None))


def _roles(roles: ContractionRoles) -> str:
    return f"{roles.row or '1'} x {roles.column or '1'} over {roles.depth or '1'}"


def _levels(plan: Plan) -> list[str]:
    head = ["level", "used", "capacity", "", "order", "tiles"]
    return columns([head, *map(_level_row, plan.levels)], right=(1, 2, 3)) if plan.levels else []


def _level_row(level: LevelPlan) -> list[str]:
    share = units.percent(level.used_bytes / level.capacity_bytes) if level.capacity_bytes else ""
    tiles = ", ".join(f"{axis} {tile}" for axis, tile in level.tiles)
    return [level.level, units.size(level.used_bytes), units.size(level.capacity_bytes), share, " ".join(level.order), tiles]


def _traffic(plan: Plan) -> list[str]:
    if not plan.movements:
        return []
    levels = list(dict.fromkeys(movement.level for movement in plan.movements))
    tensors = list(dict.fromkeys(movement.tensor for movement in plan.movements))
    moved = Counter[tuple[str, str]]()
    for movement in plan.movements:
        moved[movement.tensor, movement.level] += movement.size_bytes
        moved["", movement.level] += movement.size_bytes
    rows = [[tensor or "total", *(units.exact(moved[tensor, level]) for level in levels)] for tensor in (*tensors, "")]
    return columns([["bytes into", *levels], *rows], right=range(1, len(levels) + 1))


def _price(price: Price, cores: int) -> list[str]:
    rows = [[term.name, units.seconds(term.seconds), _remark(term, price)] for term in price.terms]
    rows.append(["total", units.seconds(price.seconds), ""])
    if cores > 1:
        rows.append([f"on {cores} cores", units.seconds(price.on(cores)), units.quantity(price.blocks, "blocks")])
    return columns(rows, right=(1,))


def _remark(term: PriceTerm, price: Price) -> str:
    longest = next((one for one in counted(price) if one.kind.overlaps and one.operator == term.operator), term)
    hidden = f"hidden behind {longest.name}" if term.kind.overlaps and term is not longest else ""
    return "; ".join(part for part in (hidden, note_text(term.note)) if part)


def _floor(plan: Plan) -> list[str]:
    floor = plan.floor
    flops, moved = f"{units.exact(floor.flops)} flops", f"{units.exact(floor.compulsory_bytes)} compulsory bytes"
    flop_rate = f" at {units.flop_rate(floor.flops / floor.compute_s)}" if floor.compute_s else ""
    byte_rate = f" at {units.byte_rate(floor.compulsory_bytes / floor.memory_s)}" if floor.memory_s else ""
    rows = [["arithmetic", units.seconds(floor.compute_s), flops + flop_rate]]
    rows.append(["memory", units.seconds(floor.memory_s), moved + byte_rate])
    return columns(rows, right=(1,))


def _fusion(plan: Plan) -> str:
    if len(plan.chain.operators) == 1:
        return "one operator: nothing to fuse"
    fused = plan.price.seconds
    unfused = plan.unfused_price.seconds if plan.unfused_price is not None else math.inf
    ratio = f", {unfused / fused:.2f} times as long" if fused and unfused < math.inf else ""
    return f"{fusion_text(plan)}{ratio}"


def _rejected(rejected: tuple[Rejected, ...], room: float) -> list[str]:
    lines: list[str] = []
    for number, entry in enumerate(rejected):
        more = wrapped(rejected_text(entry))
        reserved = 0 if number == len(rejected) - 1 else 1
        if number >= LEAST_REJECTED and len(lines) + len(more) + reserved > room:
            return [*lines, f"and {len(rejected) - number} more"]
        lines += more
    return lines
