"""Nodes of `torch.fx`: operands by the names of schemas, and what torch says of results, which are examples in `meta["val"]`."""

from __future__ import annotations

import operator as python_operator
from collections.abc import Iterator
from typing import Any

import torch
from torch.fx import GraphModule, Node

from tilewright.errors import UnsupportedOperation
from tilewright.frontend.torch.call import Result
from tilewright.frontend.torch.element_types import NAMES
from tilewright.frontend.torch.extents import shape_of

NO_OPERANDS = frozenset(("layout", "device", "pin_memory", "memory_format", "non_blocking"))
"""Operands that say where and in which order elements lie. Graphs are computed in their own; outputs get torch's strides."""


def attribute_of(module: GraphModule, path: str) -> torch.Tensor:
    """A tensor that a module holds, by names with dots between. Raises `UnsupportedOperation` for what else it holds."""
    found: Any = module
    for part in path.split("."):
        found = getattr(found, part)
    if not isinstance(found, torch.Tensor):
        raise UnsupportedOperation(f"an attribute of type {type(found).__name__}")
    return found


def operands_of(node: Node) -> Iterator[tuple[str, Any]]:
    """The operands of a call by the names of its schema, with defaults."""
    assert isinstance(node.target, torch._ops.OpOverload)
    for place, argument in enumerate(node.target._schema.arguments):
        if argument.name in NO_OPERANDS:
            continue
        if place < len(node.args) and not argument.kwarg_only:
            yield argument.name, node.args[place]
        else:
            yield argument.name, node.kwargs.get(argument.name, argument.default_value)


def example_of(node: Node) -> Any:
    """What torch knows of its value: a fake tensor, a number, or a list of such."""
    return node.meta.get("val")


def results_of(node: Node) -> tuple[Result, ...]:
    """What torch says of the results of a call. Raises `UnsupportedOperation` for types and extents that graphs do not have."""
    examples = node.meta.get("val")
    if isinstance(examples, torch.Tensor):
        return (_result(examples, True),)
    if not isinstance(examples, list | tuple):
        raise UnsupportedOperation(f"a result of type {type(examples).__name__}")
    used = {user.args[1] for user in node.users if user.target is python_operator.getitem}
    return tuple(_result(example, number in used) for number, example in enumerate(examples))


def _result(example: Any, is_used: bool) -> Result:
    if not isinstance(example, torch.Tensor):
        return Result((), "", is_used)
    if example.dtype not in NAMES:
        if is_used:
            raise UnsupportedOperation(f"a result of {example.dtype}")
        return Result((), "", False)
    return Result(shape_of(example), NAMES[example.dtype], is_used)
