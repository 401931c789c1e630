"""Forms of chains: what is left of a canonical chain when its numbers are ignored, and how far numbers of one form are apart.

Chains of one form differ in extents, in the coefficients of their index maps, and in how often a map reads in the same way or
computes the same function: layers of a network that grow wider from block to block. Loops of one can be those of another; whether
they should be is a question of price.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from math import log

from tilewright.graph.index import Index
from tilewright.graph.types import Access, Chain, Operator, SymbolicExtent
from tilewright.plan.chain_analysis import derived_once

Numbered = tuple[Hashable, tuple[int, ...]]
"""A structure, and the numbers that it leaves out."""


@dataclass(frozen=True, slots=True)
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
    tensor = access.tensor
    source = chain.intermediates.index(tensor) if tensor in chain.intermediates else tensor in chain.constants
    guarded = access.guard.axes() if access.guard else None
    indices = [_index(index) for index in access.indices]
    structure = (
        source,
        chain.tensor(tensor).dtype,
        chain.tensor(tensor).magnitudes,
        chain.tensor(tensor).entries,
        guarded,
        access.lookups,
        tuple(index for index, _ in indices),
    )
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
