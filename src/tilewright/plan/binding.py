"""Binding: plans of canonical chains, and the reasons in them, in the names of a chain.

Annotations of fields say which texts are names: `AxisName`, `TensorName` and `OperatorName` of `chains.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import Annotated, Any, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from tilewright.block.execution import Execution
from tilewright.block.leaf_binding import LeafBinding
from tilewright.graph.expressions.conditions import Constraint
from tilewright.graph.expressions.index import axis as axis_index
from tilewright.graph.types import Chain
from tilewright.machine.machine import Machine
from tilewright.plan.chains import Names, canonical_form, names_of, renamed, renamed_graph
from tilewright.plan.types import ImageLayouts, ModelPlan, Plan

Value = TypeVar("Value")
Bind: TypeAlias = Callable[[Any, Names], Any]
"""Makes of a value the same in other names."""


def bound(value: Value, names: Names) -> Value:
    """A plan, or a part of one (a price, a cut, a reason), in other names; its chain stays."""
    kind: Any = type(value)
    return _bind_of(kind)(value, names)  # type: ignore[no-any-return]


def bound_plan(plan: Plan, chain: Chain, names: Names) -> Plan:
    """The plan of a chain of the same structure, in its names."""
    return replace(bound(plan, names), chain=chain)


def numbered_plan(plan: Plan) -> Plan:
    """The plan in the numbers of its canonical chain: equal for plans that differ in names only."""
    return bound_plan(plan, canonical_form(plan.chain), names_of(plan.chain).inverse())


def bound_model(model_plan: ModelPlan, names: Names) -> ModelPlan:
    """The plan of a graph in other names; its chains keep theirs."""
    chains = [renamed(plan.chain, replace(names, chain=plan.chain.name)) for plan in model_plan.plans]
    return replace(
        model_plan,
        graph=renamed_graph(model_plan.graph, names),
        plans=tuple(bound_plan(plan, chain, names) for plan, chain in zip(model_plan.plans, chains, strict=True)),
        cuts=tuple(bound(cut, names) for cut in model_plan.cuts),
        layouts=tuple((names.tensors[tensor], layout) for tensor, layout in model_plan.layouts),
        merged=tuple(
            replace(argument, declared=replace(argument.declared, name=names.tensors[argument.declared.name]))
            for argument in model_plan.merged
        ),
        images=model_plan.images and _bound_images(model_plan.images, names),
    )


def _bound_images(images: ImageLayouts, names: Names) -> ImageLayouts:
    last = tuple(names.tensors.get(name, name) for name in images.channels_last)
    return ImageLayouts(last, tuple(names.tensors.get(name, name) for name in images.as_written))


def _bound_constraint(constraint: Constraint, names: Names) -> Constraint:
    index = constraint.index.substitute({axis: axis_index(name) for axis, name in names.axes.items()})
    return replace(constraint, index=index)


def _unchanged(value: Value, names: Names) -> Value:
    return value


_GIVEN: dict[type, Bind] = {
    Chain: _unchanged,
    Constraint: _bound_constraint,
    Execution: _unchanged,
    LeafBinding: lambda binding, names: binding.with_axes(names.axes),
    Machine: _unchanged,
}
"""How values of types outside of plans are bound."""


@cache
def _bind_of(hint: Any) -> Bind:
    """What binds values of an annotated type: `_unchanged` where they hold no names."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return lambda name, names: name and getattr(names, arguments[1])[name]
    if origin is tuple:
        return _bind_of_tuple(arguments)
    if origin is UnionType:
        return bound
    return _bind_of_record(hint) if is_dataclass(hint) and hint not in _GIVEN else _GIVEN.get(hint, _unchanged)


def _bind_of_tuple(hints: tuple[Any, ...]) -> Bind:
    binds = [_bind_of(hint) for hint in hints]
    if all(bind is _unchanged for bind in binds):
        return _unchanged
    if hints[1:] == (...,):
        return lambda values, names: tuple([binds[0](value, names) for value in values])
    return lambda values, names: tuple([bind(value, names) for bind, value in zip(binds, values, strict=True)])


def _bind_of_record(kind: Any) -> Bind:
    hints = get_type_hints(kind, include_extras=True)
    parts = [part.name for part in fields(kind) if part.init]
    binds = [_bind_of(hints[name]) for name in parts]
    if all(bind is _unchanged for bind in binds):
        return _unchanged
    pairs = list(zip(parts, binds, strict=True))
    return lambda value, names: kind(*[bind(getattr(value, name), names) for name, bind in pairs])
