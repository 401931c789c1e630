"""Plan reuse: chains of equal canonical form, such as equal layers of a model, share one plan in their own names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.graph.types import Chain, Operator
from tilewright.plan.model.pricing import renamed_price
from tilewright.plan.schedule import Compute, Loop, Node, Pack, Schedule
from tilewright.plan.types import Cut, Plan


@dataclass(frozen=True, slots=True)
class Names:
    """New names of operators and of tensors, by the old ones."""

    operators: Mapping[str, str]
    tensors: Mapping[str, str]

    def in_text(self, text: str) -> str:
        """A text for people that names operators and tensors."""
        every = {**self.tensors, **self.operators}
        return re.sub(r"[A-Za-z_]\w*", lambda word: every.get(word[0], word[0]), text)


def names_of(old: tuple[Operator, ...], new: tuple[Operator, ...]) -> Names:
    """The names of operators of equal structure, and of all tensors that they read and write.

    >>> from tilewright.graph.types import Access
    >>> from tilewright.graph.scalar import Load
    >>> old, new = (Operator(f"exp_{n}", "", (), (Access(f"x_{n}", ()),), Access(f"y_{n}", ()), Load(0)) for n in (1, 2))
    >>> names_of((old,), (new,)).in_text("exp_1 makes y_1 of x_1")
    'exp_2 makes y_2 of x_2'
    """
    pairs = list(zip(old, new, strict=True))
    accesses = [
        pair for left, right in pairs for pair in zip((*left.reads, left.write), (*right.reads, right.write), strict=True)
    ]
    return Names({left.name: right.name for left, right in pairs}, {left.tensor: right.tensor for left, right in accesses})


def renamed_plan(plan: Plan, chain: Chain) -> Plan | None:
    """The plan of a chain of the same structure; None where axes have other names."""
    if tuple(plan.chain.extents) != tuple(chain.extents):
        return None
    names = names_of(plan.chain.operators, chain.operators)
    tensors, operators = names.tensors, names.operators
    return replace(
        plan,
        chain=chain,
        schedule=_schedule(plan.schedule, names),
        operators=tuple(
            replace(part, operator=operators[part.operator], epilogue_of=operators.get(part.epilogue_of, ""))
            for part in plan.operators
        ),
        movements=tuple(replace(movement, tensor=tensors[movement.tensor]) for movement in plan.movements),
        price=renamed_price(plan.price, operators),
        unfused_price=renamed_price(plan.unfused_price, operators),
        rejected=tuple(
            replace(rejected, alternative=names.in_text(rejected.alternative), reason=names.in_text(rejected.reason))
            for rejected in plan.rejected
        ),
        prefetched_inputs=tuple(tensors[tensor] for tensor in plan.prefetched_inputs),
        prefetching_operators=tuple(operators[name] for name in plan.prefetching_operators),
        non_temporal=tuple(operators[name] for name in plan.non_temporal),
        key_blocks=plan.key_blocks
        and replace(plan.key_blocks, limits=tuple(names.in_text(limit) for limit in plan.key_blocks.limits)),
    )


def renamed_cut(cut: Cut, names: Names) -> Cut:
    """A cut between chains of the same structure as others."""
    return replace(cut, tensor=names.tensors[cut.tensor], reason=names.in_text(cut.reason))


def _schedule(schedule: Schedule, names: Names) -> Schedule:
    return replace(
        schedule,
        body=tuple(_node(node, names) for node in schedule.body),
        storage=tuple((names.tensors[tensor], storage) for tensor, storage in schedule.storage),
        ahead=tuple(replace(pack, operator=names.operators[pack.operator]) for pack in schedule.ahead),
    )


def _node(node: Node, names: Names) -> Node:
    match node:
        case Loop():
            return replace(node, body=tuple(_node(inner, names) for inner in node.body))
        case Compute() | Pack():
            return replace(node, operator=names.operators[node.operator])
