"""What is known of chains of a form: the nearest by its numbers, if it is near enough to be taken over."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tilewright.plan.whole_model.forms import Form

NEAR = 0.55
"""The largest distance (`Form.distance`) at which anything is taken over: one extent may be 1.7 times as large. At 0.7
one of eight random networks of convolutions lost 2.8%; ResNet-50, U-Net and MobileNetV2 take no more time to plan."""

Known = TypeVar("Known")


@dataclass(frozen=True, slots=True)
class Neighbour(Generic[Known]):
    """What is known of a near chain."""

    known: Known
    distance: float


@dataclass(slots=True)
class Near(Generic[Known]):
    """What was found out of chains, by their forms.

    >>> near = Near()
    >>> near.add(Form("x", (64,)), "a")
    >>> near.add(Form("x", (128,)), "b")
    >>> near.nearest(Form("x", (128,))), near.nearest(Form("x", (512,))), near.nearest(Form("y", (64,)))
    (Neighbour(known='b', distance=0), None, None)
    """

    known: dict[Hashable, list[tuple[Form, Known]]] = field(default_factory=dict)
    """By the structure of the forms."""

    def add(self, form: Form, known: Known) -> None:
        """Remember what is known of a chain."""
        self.known.setdefault(form.structure, []).append((form, known))

    def nearest(self, form: Form) -> Neighbour[Known] | None:
        """The nearest chain of the same structure, of equal ones the first; None where none is near."""
        found = (Neighbour(known, form.distance(other)) for other, known in self.known.get(form.structure, ()))
        return min((one for one in found if one.distance <= NEAR), key=lambda one: one.distance, default=None)
