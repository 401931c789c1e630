"""Forms of chains: what is left of a canonical chain when its numbers are ignored, how far numbers of one form are apart, and
what is known of the nearest chain of a form.

Chains of one form differ in extents, in the coefficients of their index maps, and in how often a map reads in the same way or
computes the same function: layers of a network that grow wider from block to block. Loops of one can be those of another; whether
they should be is a question of price.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from math import log
from typing import Generic, TypeVar

from tilewright.graph.expressions.index import Index
from tilewright.graph.types import Access, Chain, Operator, SymbolicExtent
from tilewright.plan.chains import derived_once
from tilewright.records import record

NEAR = 0.55
"""The largest distance (`Form.distance`) at which anything is taken over: one extent may be 1.7 times as large. At 0.7
one of eight random networks of convolutions lost 2.8%; ResNet-50, U-Net and MobileNetV2 take no more time to plan."""
Known = TypeVar("Known")
Numbered = tuple[Hashable, tuple[int, ...]]
"""A structure, and the numbers that it leaves out."""


@record
class Form:
    """The structure of a canonical chain, and the numbers in it."""

    structure: Hashable
    numbers: tuple[int, ...]
    """Positive, as many in all chains of a structure."""

    def distance(self, other: Form) -> float:
        """The sum of the logarithms of all ratios of numbers, of a form of the same structure.

        >>> Form("x", (64, 100)).distance(Form("x", (128, 100)))
        0.6931471805599453
        """
        return sum(abs(log(here / there)) for here, there in zip(self.numbers, other.numbers, strict=True) if here != there)


@derived_once
def form_of(chain: Chain) -> Form:
    """The form of a canonical chain. A symbolic extent is part of the structure."""
    extents = chain.extents.items()
    fixed = tuple(max(extent, 1) for _, extent in extents if isinstance(extent, int))
    symbolic = tuple((axis, extent) for axis, extent in extents if not isinstance(extent, int))
    operators = [_operator(chain, operator) for operator in chain.operators]
    numbers = (*fixed, *(number for _, of_operator in operators for number in of_operator))
    return Form((symbolic, tuple(structure for structure, _ in operators)), numbers)


def _operator(chain: Chain, operator: Operator) -> Numbered:
    """Reads that are alike are one: concatenations differ in how many tensors they join. So are equal functions of a map."""
    reads = dict(_access(chain, access) for access in reversed(operator.reads))
    write, of_write = _access(chain, operator.write)
    body = frozenset(operator.functions()) if operator.is_map() else (operator.body, operator.reduction)
    axes = tuple((axis.name, axis.kind) for axis in operator.axes)
    numbers = (*of_write, *(number for structure in sorted(reads, key=repr) for number in reads[structure]))
    return (axes, operator.accumulator, body, write, frozenset(reads)), numbers


def _access(chain: Chain, access: Access) -> Numbered:
    """Offsets are left out, and so are the bounds of guards."""
    name, tensor = access.tensor, chain.tensor(access.tensor)
    source = chain.intermediates.index(name) if name in chain.intermediates else name in chain.constants
    guarded = access.guard.axes() if access.guard else None
    indices = [_index(index) for index in access.indices]
    walked = guarded, access.lookups, tuple(index for index, _ in indices)
    structure = source, tensor.dtype, tensor.magnitudes, tensor.entries, *walked
    return structure, tuple(number for _, of_index in indices for number in of_index)


def _index(index: Index) -> Numbered:
    terms = tuple(_terms(index))
    return tuple(structure for structure, _ in terms), tuple(number for _, numbers in terms for number in numbers)


def _terms(index: Index) -> Iterator[Numbered]:
    for atom, coefficient in index.terms:
        if isinstance(atom, str):
            yield (atom, coefficient > 0), (abs(coefficient),)
        elif isinstance(atom, SymbolicExtent):
            yield (atom.name, coefficient > 0), (abs(coefficient), atom.hint)
        else:
            dividend, numbers = _index(atom.dividend)
            yield (type(atom).__name__, dividend, coefficient > 0), (abs(coefficient), atom.divisor, *numbers)


@record
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
