"""Structure of a chain's code: equal for chains whose functions are the same but for names."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from tilewright.codegen import names
from tilewright.codegen.expressions import Value
from tilewright.codegen.lower.storage import Stored
from tilewright.plan.binding import numbered_plan
from tilewright.plan.chains import names_of
from tilewright.plan.types import Plan


def code_structure(plan: Plan, stored: Mapping[str, Stored], order: Sequence[str]) -> Hashable:
    """All that the functions of a chain depend on: its plan in numbers, where its tensors lie, and how their sizes are passed.

    `stored` says where inputs and output lie; `order` has the arguments of the program, whose run-time strides are passed in
    this order. Nothing else may reach the text of a routine, but for comments.
    """
    numbers = names_of(plan.chain).inverse().tensors
    places = tuple((numbers[tensor], *_place(tensor, place)) for tensor, place in stored.items())
    sizes = tuple(numbers[tensor] for tensor in order if tensor in stored)
    return numbered_plan(replace(plan, rejected=())), places, sizes


def _place(tensor: str, place: Stored) -> Iterator[Hashable]:
    """Where a tensor lies: run-time strides are passed under its name."""
    yield tuple(_stride(tensor, dimension, stride) for dimension, stride in enumerate(place.strides))
    yield place.origins, place.offset, place.dtype


def _stride(tensor: str, dimension: int, stride: Value) -> Value | None:
    return None if stride == names.stride(tensor, dimension) else stride
